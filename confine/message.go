package confine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A helper answers with messages of this many bytes: kind, index of the step,
// and the errno, or zero where a call succeeded that had to fail; each a
// little-endian 32-bit number.
const messageSize = 12

const (
	kindReady    = 1
	kindFailed   = 2
	kindListener = 3 // with a descriptor: the filter's listener
)

// noStep is the index of a failure before the first step.
const noStep = 0xffffffff

func readyMessage() []byte { return appendMessage(kindReady, 0, 0) }

func listenerMessage() []byte { return appendMessage(kindListener, 0, 0) }

func appendMessage(fields ...uint32) []byte {
	var out []byte
	for _, field := range fields {
		out = le.AppendUint32(out, field)
	}
	return out
}

// Answer is what a helper said.
type Answer struct {
	// Ready says that everything before exec was done.
	Ready bool
	// Listener says that the filter's listener came with the message.
	Listener bool
	// Step is the index of the step that failed, or -1 where the helper failed
	// before the first one.
	Step int
	// Errno is what the call failed with; zero where it succeeded and had to
	// fail.
	Errno unix.Errno
}

// ParseAnswer reads one message.
func ParseAnswer(b []byte) (Answer, error) {
	if len(b) != messageSize {
		return Answer{}, fmt.Errorf("read the helper's answer: got %d bytes, wanted %d", len(b), messageSize)
	}
	field := func(i int) uint32 { return le.Uint32(b[4*i:]) }
	switch field(0) {
	case kindReady:
		return Answer{Ready: true}, nil
	case kindListener:
		return Answer{Listener: true}, nil
	case kindFailed:
		return Answer{Step: int(int32(field(1))), Errno: unix.Errno(field(2))}, nil
	}
	return Answer{}, fmt.Errorf("read the helper's answer: unknown kind %d", field(0))
}
