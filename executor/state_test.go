package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStateRefusesWhatOthersPrepared(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	link := filepath.Join(dir, "link")
	file := filepath.Join(dir, "file")
	if err := errorsOf(os.Mkdir(open, 0o700), os.Chmod(open, 0o755), os.Symlink(dir, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		open: "others can use it", link: "expected a directory", file: "expected a directory",
		filepath.Join(dir, "no", "parent"): "no such file",
	} {
		if _, err := openState(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("state directory %s: got %v, wanted %q", path, err, want)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	foreign := filepath.Join(dir, "foreign")
	if err := errorsOf(os.Mkdir(foreign, 0o700), os.Chown(foreign, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := openState(foreign, nil); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("another user's directory: got %v", err)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestRemoveScratch(t *testing.T) {
	s, err := openState(filepath.Join(t.TempDir(), "state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	scratch, err := s.makeScratch()
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(scratch, "a", "b")
	err = errorsOf(
		os.MkdirAll(deep, 0o700), os.Mkdir(outside, 0o555), os.WriteFile(filepath.Join(deep, "f"), nil, 0o400),
		os.Symlink(outside, filepath.Join(scratch, "link")),
		os.Chmod(deep, 0o555), os.Chmod(filepath.Dir(deep), 0o000),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.removeScratch(scratch); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(scratch); !os.IsNotExist(err) {
		t.Errorf("the scratch directory is still there: %v", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("a directory outside is %v, %v", info, err)
	}
}

// TestRemoveDeepScratch: a path through all levels is longer than PATH_MAX.
func TestRemoveDeepScratch(t *testing.T) {
	s, err := openState(filepath.Join(t.TempDir(), "state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := s.makeScratch()
	if err != nil {
		t.Fatal(err)
	}
	const depth = 3000
	dig(t, scratch, depth)
	if err := s.removeScratch(scratch); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(scratch); !os.IsNotExist(err) {
		t.Errorf("the scratch directory is still there: %v", err)
	}
}

// dig makes a directory with a file in each of many levels.
func dig(t *testing.T, dir string, levels int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range levels {
		if err := errorsOf(root.Mkdir("d", 0o700), root.WriteFile("f", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root = next
	}
	root.Close()
}
