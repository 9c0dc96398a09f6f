package executor

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestTail(t *testing.T) {
	numbers := strings.Repeat("0123456789", 20_000)
	for _, tt := range []struct {
		name   string
		chunks []string
		want   string
		cut    bool
	}{
		{"nothing", nil, "", false},
		{"less than the limit", []string{"a", "", "b"}, "ab", false},
		{"the limit", []string{numbers[:tailLimit]}, numbers[:tailLimit], false},
		{"one byte more", []string{numbers[:tailLimit], "x"}, numbers[1:tailLimit] + "x", true},
		{"one large chunk", []string{numbers}, numbers[len(numbers)-tailLimit:], true},
		{"many chunks", strings.SplitAfter(numbers, "9"), numbers[len(numbers)-tailLimit:], true},
		{"a character that is cut", []string{"日本", strings.Repeat("x", tailLimit-2)}, strings.Repeat("x", tailLimit-2), true},
		{"no character at all", []string{strings.Repeat("\x80", tailLimit+1)}, strings.Repeat("\x80", tailLimit), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var kept tail
			total := 0
			for _, chunk := range tt.chunks {
				total += len(chunk)
				_, _ = io.WriteString(&kept, chunk)
			}
			got := kept.output()
			if string(got.Tail) != tt.want || got.Bytes != int64(total) || got.Truncated != tt.cut {
				t.Errorf("got %d bytes kept of %d, truncated %v; wanted %d of %d, %v", len(got.Tail), got.Bytes, got.Truncated, len(tt.want), total, tt.cut)
			}
		})
	}
}

// TestPumpKeepsWhatWasWritten: a slow reader, and a process that holds the
// pipe open, must not cost what was written before.
func TestPumpKeepsWhatWasWritten(t *testing.T) {
	var sink bytes.Buffer
	p, w, err := newPump(&slow{&sink}, nil, &width{shared: &widths{}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	go p.run()
	text := strings.Repeat("x", 60_000)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	p.settle(time.Millisecond)
	<-p.done
	if sink.String() != text || p.output().Bytes != int64(len(text)) {
		t.Errorf("%d bytes arrived of %d", sink.Len(), len(text))
	}
}

type slow struct{ w io.Writer }

func (s *slow) Write(b []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	return s.w.Write(b)
}

// TestPumpStopsWithItsReader: the writer gets EPIPE.
func TestPumpStopsWithItsReader(t *testing.T) {
	p, w, err := newPump(broken{}, nil, &width{shared: &widths{}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	go p.run()
	_, _ = io.WriteString(w, "x")
	<-p.done
	if p.output().WriteError == nil {
		t.Error("the writer's error is lost")
	}
	if _, err := io.WriteString(w, "x"); err == nil {
		t.Error("writing succeeded, wanted EPIPE")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }
