package policy

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestResolveMissing(t *testing.T) {
	dir, err := Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.MkdirAll(dir+"/x/y", 0o755), os.Symlink("x/y", dir+"/l"), os.Symlink("x/gone", dir+"/dangling"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"x":                dir + "/x",
		"l":                dir + "/x/y",
		"l/../missing":     dir + "/x/missing",
		"l/missing/deeper": dir + "/x/y/missing/deeper",
		"dangling":         dir + "/x/gone",
		"x/../missing":     dir + "/missing",
	} {
		if got, err := ResolveMissing(filepath.Clean(dir) + "/" + path); got != want || err != nil {
			t.Errorf("%s resolves to %s, %v; wanted %s", path, got, err, want)
		}
	}
	if got, err := ResolveMissing(dir + "/missing/../x"); err == nil {
		t.Errorf("two dots behind what is missing resolve to %s", got)
	}
}

// TestRootThatFlips: while a root is looked at, a command exchanges it for a
// symlink and back. Whatever is found, nothing outside may be granted.
func TestRootThatFlips(t *testing.T) {
	outside, workspace := t.TempDir(), t.TempDir()
	cache, link := workspace+"/cache", workspace+"/link"
	if err := errors.Join(os.Mkdir(cache, 0o755), os.Symlink(outside, link)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var flipping sync.WaitGroup
	flipping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, cache, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	})
	defer flipping.Wait()
	defer close(stop)
	p := Policy{Mode: WorkspaceWrite, Workspace: workspace, Writable: []Root{{Path: cache}}}
	refused := 0
	for range 3000 {
		c, err := p.Canonical()
		if err != nil {
			refused++
			continue
		}
		for _, root := range c.Roots() {
			if !Within(workspace, root) {
				t.Fatalf("%s is granted", root)
			}
		}
	}
	if refused == 0 {
		t.Error("the exchange was never seen")
	}
}
