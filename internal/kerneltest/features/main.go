// Command features prints the features this process has, as a value for
// SANDBOX_REQUIRE, and on stderr those it lacks. `make test` runs it once per
// user, so that a skip on a machine that has the feature is a failure.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

func main() {
	have, missing := kerneltest.Present(candidates()...)
	fmt.Println(join(have))
	if len(missing) > 0 {
		fmt.Fprintln(os.Stderr, "missing here:", join(missing))
	}
}

// candidates lists what is worth requiring, Landlock at the level found or its absence. Which
// user this is can not be missing, so only the one that holds is listed.
func candidates() []kerneltest.Feature {
	landlock := kerneltest.NoLandlock
	if abi, err := kerneltest.LandlockABI(); err == nil {
		landlock = kerneltest.Landlock(abi)
	}
	user := kerneltest.Root
	if os.Getuid() != 0 {
		user = kerneltest.OrdinaryUser
	}
	list := []kerneltest.Feature{landlock, user, kerneltest.Terminal, kerneltest.Broker, kerneltest.FUSE, kerneltest.UserXattr, kerneltest.Capped, kerneltest.CloseRange, kerneltest.Cgroup1, kerneltest.Cgroup2, kerneltest.Cgroups, kerneltest.Hybrid, kerneltest.UserScope}
	for _, name := range []string{"bash", "go", "setpriv", "gcc", "git", "python3"} {
		list = append(list, kerneltest.Program(name))
	}
	return list
}

func join(features []kerneltest.Feature) string {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = string(f)
	}
	return strings.Join(names, ",")
}
