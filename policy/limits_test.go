package policy

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"512MiB": 512 << 20, "48MiB": 48 << 20, "1GiB": 1 << 30, "64KiB": 64 << 10,
		"2G": 2 << 30, "48M": 48 << 20, "3K": 3 << 10, "4096": 4096, "7B": 7,
	} {
		got, err := ParseSize("memory", text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, wanted %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "0MiB", "-1", "-1MiB", "+1MiB", "1.5GiB", "MiB", "M", "B", "1 MiB", "1mib", "1MB", "1Mi", "1TiB",
		"0x10", "1_000", "99999999999999999999", "9223372036854775807GiB", "9223372036854775808", "unlimited", "max",
	} {
		var input *InputError
		if _, err := ParseSize("memory", text); !errors.As(err, &input) || input.What != "memory" || input.Value != text || !strings.Contains(input.Want, "512MiB") {
			t.Errorf("ParseSize(%q) gave %v, wanted an error with the value and what is accepted", text, err)
		}
	}
}

func TestSizeString(t *testing.T) {
	for size, want := range map[Size]string{
		0: "0B", 1: "1B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 4096: "4KiB", 1 << 20: "1MiB", 48 << 20: "48MiB",
		1536 << 10: "1536KiB", 1 << 30: "1GiB", 1 << 40: "1024GiB", 1<<30 + 1<<20: "1025MiB",
	} {
		if got := size.String(); got != want {
			t.Errorf("%d is %q, wanted %q", uint64(size), got, want)
		}
	}
}

func TestParseCounts(t *testing.T) {
	for _, text := range []string{"", "0", "-1", "15", "2.5", "many", "4194305", "1e3"} {
		if n, err := ParseProcesses("pids", text); err == nil || !strings.Contains(err.Error(), "from 16 to 4194304") {
			t.Errorf("ParseProcesses(%q) = %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "0.001", "NaN", "Inf", "1e1", "half", "1048577", "0x1p4", "."} {
		if n, err := ParseCPUs("cpus", text); err == nil || !strings.Contains(err.Error(), "from 0.01 to 1048576") {
			t.Errorf("ParseCPUs(%q) = %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "-3", "x", "1073741825"} {
		if n, err := ParseOpenFiles("open-files", text); err == nil {
			t.Errorf("ParseOpenFiles(%q) = %d", text, n)
		}
	}
	if _, err := ParseMemory("memory", "512K"); err == nil || !strings.Contains(err.Error(), "at least 1MiB") {
		t.Errorf("ParseMemory(512K) gave %v", err)
	}
	n, errN := ParseProcesses("pids", "20")
	c, errC := ParseCPUs("cpus", "0.5")
	f, errF := ParseOpenFiles("open-files", "64")
	if err := errors.Join(errN, errC, errF); err != nil || n != 20 || c != 0.5 || f != 64 {
		t.Errorf("got %d, %v, %d, %v", n, c, f, err)
	}
}

func TestLimitsValidate(t *testing.T) {
	for _, bad := range []Limits{
		{Memory: 1},
		{Memory: 1 << 63},
		{Processes: -1},
		{Processes: 1},
		{Processes: 1 << 23},
		{CPUs: -1},
		{CPUs: 0.001},
		{CPUs: math.NaN()},
		{CPUs: math.Inf(1)},
		{OpenFiles: -1},
		{OpenFiles: 1 << 31},
		{FileSize: 1 << 63},
	} {
		var input *InputError
		if err := (Policy{Limits: bad}).Validate(); !errors.As(err, &input) {
			t.Errorf("%+v gave %v", bad, err)
		}
	}
	good := Limits{Memory: 48 << 20, Processes: 20, CPUs: 1.5, OpenFiles: 64, FileSize: 1 << 20}
	for _, l := range []Limits{{}, good} {
		if err := (Policy{Limits: l}).Validate(); err != nil {
			t.Errorf("%+v gave %v", l, err)
		}
	}
	if got := good.String(); got != "memory 48MiB, 20 processes, 1.5 processors, 64 open files, files of 1MiB" {
		t.Errorf("the limits are %q", got)
	}
	if (Limits{}).ProcessLimit() != DefaultProcesses || good.ProcessLimit() != 20 {
		t.Error("the process limit")
	}
	c, err := Policy{Workspace: t.TempDir(), Limits: good}.Canonical()
	if err != nil || c.Limits != good {
		t.Errorf("canonical limits %+v, %v", c.Limits, err)
	}
}
