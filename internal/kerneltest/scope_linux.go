package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// scopePatience is for slow machines: systemd may have to be started first.
const scopePatience = 30 * time.Second

// makeScope has systemd's own program make a scope, and looks which controllers
// it has.
func makeScope() error {
	if err := undelegated(); err != nil {
		return err
	}
	program, err := exec.LookPath("systemd-run")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), scopePatience)
	defer cancel()
	const look = `cat /sys/fs/cgroup"$(sed -n s/^0:://p /proc/self/cgroup)"/cgroup.controllers`
	out, err := exec.CommandContext(ctx, program, "--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "sh", "-c", look).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemd-run --user --scope: %w: %s", err, out)
	}
	controllers := strings.Fields(string(out))
	for _, controller := range []string{"memory", "pids"} {
		if !slices.Contains(controllers, controller) {
			return fmt.Errorf("a scope has the controllers %q", controllers)
		}
	}
	return nil
}

// undelegated is nil where no unit around this process has systemd's mark, but
// for the user's systemd itself.
func undelegated() error {
	list, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	_, own, found := strings.Cut("\n"+string(list), "\n0::")
	if !found {
		return errors.New("this process is in no control group of version 2")
	}
	for dir := filepath.Join("/sys/fs/cgroup", strings.TrimSpace(own)); dir != "/" && !strings.HasPrefix(filepath.Base(dir), "user@"); dir = filepath.Dir(dir) {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, "user.delegate", value); err == nil && string(value[:n]) == "1" {
			return fmt.Errorf("%s is delegated", dir)
		}
	}
	return nil
}
