package confine

import (
	"golang.org/x/sys/unix"
)

// Kept are the capabilities that a confined command may have, as a bit mask: with
// them apt, tar and su work in a root run. All others reach around Landlock or
// out of the sandbox. With CAP_FSETID a file would keep its set-id bits when it
// gets new content.
const Kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID

// capabilities are the sets of the calling thread, as bit masks, and the
// number of the kernel's last capability.
type capabilities struct {
	permitted, effective, bounding uint64
	last                           int
}

// drop is the calls that leave at most the kept ones. The bounding set can
// only be changed with CAP_SETPCAP; without it no_new_privs already keeps exec
// from giving more than is permitted.
func (c capabilities) drop() []Call {
	var calls []Call
	if has(c.effective, unix.CAP_SETPCAP) {
		for n := 0; n <= c.last; n++ {
			if has(c.bounding, n) && !has(Kept, n) {
				calls = append(calls, call(unix.SYS_PRCTL, Int(unix.PR_CAPBSET_DROP), Int(n), Int(0), Int(0), Int(0)))
			}
		}
	}
	calls = append(calls, call(unix.SYS_PRCTL, Int(unix.PR_CAP_AMBIENT), Int(unix.PR_CAP_AMBIENT_CLEAR_ALL), Int(0), Int(0), Int(0)))
	return append(calls, call(unix.SYS_CAPSET, Bytes(capHeader()), Bytes(capSets(c.permitted&Kept))))
}

func has(set uint64, n int) bool { return set&(1<<n) != 0 }

// capHeader is struct __user_cap_header_struct for the calling thread.
func capHeader() []byte {
	header := le.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3)
	return le.AppendUint32(header, 0)
}

// capSets is two struct __user_cap_data_struct, low half first: effective and
// permitted are set, inheritable is empty.
func capSets(set uint64) []byte {
	var out []byte
	for _, half := range []uint32{uint32(set), uint32(set >> 32)} {
		out = le.AppendUint32(out, half) // effective
		out = le.AppendUint32(out, half) // permitted
		out = le.AppendUint32(out, 0)    // inheritable
	}
	return out
}
