package integration

import (
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// keptCapabilities are all that root keeps: in a confined command they serve
// work with files and users.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID

func TestRootKeepsFiveCapabilities(t *testing.T) {
	needs(t, kerneltest.Root)
	before := mustBash(t, "/", "cat /proc/self/status")
	if mask := capability(t, before, "CapEff"); mask&^keptCapabilities == 0 {
		t.Fatalf("without the sandbox root has only %#x", mask)
	}
	for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
		r := shell(t, in(mode, realTempDir(t)), "cat /proc/self/status")
		succeeded(t, r)
		for name, want := range map[string]uint64{
			"CapPrm": keptCapabilities, "CapEff": keptCapabilities, "CapBnd": keptCapabilities, "CapInh": 0, "CapAmb": 0,
		} {
			// A container may hold fewer than these.
			want &= capability(t, before, "CapBnd")
			if got := capability(t, stdout(r), name); got != want {
				t.Errorf("%s: %s is %#x, want %#x", mode, name, got, want)
			}
		}
	}
}

func TestOrdinaryUserHasNoCapabilities(t *testing.T) {
	needs(t, kerneltest.OrdinaryUser)
	r := shell(t, in(policy.WorkspaceWrite, realTempDir(t)), "cat /proc/self/status")
	succeeded(t, r)
	for _, name := range []string{"CapPrm", "CapEff", "CapInh", "CapAmb"} {
		if got := capability(t, stdout(r), name); got != 0 {
			t.Errorf("%s is %#x, want none", name, got)
		}
	}
}

func capability(t *testing.T, status, name string) uint64 {
	t.Helper()
	mask, err := capabilityMask(status, name)
	if err != nil {
		t.Fatal(err)
	}
	return mask
}

// Through a device node of its own making root would reach the raw disk.
func TestRootMakesNoDeviceNodes(t *testing.T) {
	needs(t, kerneltest.Root, kerneltest.Program("mknod"))
	work := realTempDir(t)
	for _, node := range []string{"c 1 3", "b 7 0"} {
		command := "mknod node " + node
		mustBash(t, work, command+" && rm node")
		r := shell(t, in(policy.WorkspaceWrite, work), command)
		failed(t, r)
		if exists(t, filepath.Join(work, "node")) {
			t.Fatalf("%s: it was made", command)
		}
	}
	succeeded(t, shell(t, in(policy.WorkspaceWrite, work), "mknod node p"))
}

// A disk is a way around every rule about paths.
func TestRootReadsNoDevice(t *testing.T) {
	needs(t, kerneltest.Root)
	devices := openableDevices(t)
	if len(devices) == 0 {
		t.Fatal("found no device below /dev that root can open, beside the harmless ones")
	}
	work := realTempDir(t)
	e := newExecutor(t, executor.Config{})
	for _, device := range devices {
		for _, command := range []string{"exec 3<" + device, "exec 3>>" + device} {
			mustBash(t, work, command)
			r := run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: command})
			failed(t, r)
		}
	}
	// To open the kernel's log takes a right that no command keeps.
	given := slices.DeleteFunc(devices, func(name string) bool { return name == "/dev/kmsg" })
	if len(given) == 0 {
		t.Fatal("found no device that a command may be given")
	}
	p := in(policy.WorkspaceWrite, work)
	p.Devices = given[:1]
	succeeded(t, shell(t, p, "exec 3<"+given[0]))
}

// openableDevices are a few devices that root can open both ways, with no
// effect: not terminals and not watchdogs.
func openableDevices(t *testing.T) (list []string) {
	t.Helper()
	disks, err := filepath.Glob("/dev/[lsvx]*[a-z0-9]")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(disks, "/dev/loop-control", "/dev/kvm", "/dev/fuse", "/dev/kmsg", "/dev/mem", "/dev/cpu_dma_latency") {
		var stat unix.Stat_t
		if unix.Stat(path, &stat) != nil || len(list) == 6 {
			continue
		}
		isDisk := stat.Mode&unix.S_IFMT == unix.S_IFBLK
		if slices.Contains(disks, path) != isDisk {
			continue
		}
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		unix.Close(fd)
		list = append(list, path)
	}
	return list
}
