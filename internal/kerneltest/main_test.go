package kerneltest

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// victimArg0 makes this binary print what one raw call returns.
const victimArg0 = "kerneltest-victim"

func TestMain(m *testing.M) {
	RunHook()
	if os.Args[0] == victimArg0 {
		os.Exit(victim(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// victim makes the call whose number and arguments it is given and prints its
// result and errno: "20 0".
func victim(args []string) int {
	var call [4]uint64
	for i, text := range args {
		value, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		call[i] = value
	}
	result, _, errno := unix.RawSyscall(uintptr(call[0]), uintptr(call[1]), uintptr(call[2]), uintptr(call[3]))
	fmt.Println(int(result), int(errno))
	return 0
}
