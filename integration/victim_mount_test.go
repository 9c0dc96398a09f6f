package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// TestVictimFileSystems: ioctls change flags and make subvolumes on the file
// systems that have them, in a workspace on a mounted image.
func TestVictimFileSystems(t *testing.T) {
	for name, more := range map[string][]victimEffect{
		"ext4":  nil,
		"xfs":   nil,
		"btrfs": {{"subvolume", nil, inBoth, "ENOTSUP", divides}},
	} {
		t.Run(name, func(t *testing.T) {
			needs(t, kerneltest.Root, kerneltest.Program("mkfs."+name), kerneltest.Program("mount"), kerneltest.Program("losetup"))
			mount := mountImage(t, name)
			fresh := func(t testing.TB) string {
				dir, err := os.MkdirTemp(mount, "work")
				if err != nil {
					t.Fatal(err)
				}
				return dir
			}
			modes := []policy.Policy{{Mode: policy.ReadOnly}, {Mode: policy.WorkspaceWrite}}
			for _, e := range append(more, victimEffect{"FS_IOC_SETFLAGS", nil, modes, "ENOTSUP", marks}) {
				t.Run(e.name, func(t *testing.T) { e.try(t, fresh) })
			}
		})
	}
}

// mountImage mounts a new file system, and takes it and its loop device away at
// the test's end.
func mountImage(t *testing.T, kind string) string {
	t.Helper()
	dir := realTempDir(t)
	mount := filepath.Join(dir, "mount")
	image := filepath.Join(dir, "image")
	mustBash(t, dir, "mkdir mount && truncate -s 320M image && mkfs."+kind+" image >/dev/null 2>&1")
	t.Cleanup(func() {
		mustBash(t, dir, "if mountpoint -q mount; then umount mount; fi; losetup -j "+image+" | cut -d: -f1 | xargs -r losetup -d")
	})
	mustBash(t, dir, "mount -o loop,nodev,nosuid image mount")
	return mount
}

// divides watches for a subvolume.
func divides(_ *testing.T, work string) ([]string, func() bool) {
	return []string{"subvolume", work, "sub"}, func() bool {
		_, err := os.Lstat(filepath.Join(work, "sub"))
		return err == nil
	}
}
