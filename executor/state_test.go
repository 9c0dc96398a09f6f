package executor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestStateRefusesWhatOthersPrepared(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	file := filepath.Join(dir, "file")
	if err := errorsOf(os.Symlink(dir, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		link: "expected a directory", file: "expected a directory",
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

// TestStatePutsRight: a command can change the mode of the default directory,
// and that must not keep the next run from starting. One that the caller named
// is never touched.
func TestStatePutsRight(t *testing.T) {
	named := filepath.Join(t.TempDir(), "state")
	if err := errorsOf(os.Mkdir(named, 0o700), os.Chmod(named, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := tryState(named, repair); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(named); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state directory is %v, %v", info, err)
	}
	if err := os.Chmod(named, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := openState(named, nil); err == nil || !strings.Contains(err.Error(), "others can use it") {
		t.Errorf("a named directory that others can use gave %v", err)
	}
	if info, err := os.Stat(named); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("the named directory was changed to %v, %v", info, err)
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

func TestRemoveRun(t *testing.T) {
	s, err := openState(filepath.Join(t.TempDir(), "state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	run, err := s.makeRun()
	if err != nil {
		t.Fatal(err)
	}
	scratch := run.scratch()
	deep := filepath.Join(scratch, "a", "b")
	err = errorsOf(
		os.MkdirAll(deep, 0o700), os.Mkdir(outside, 0o555), os.WriteFile(filepath.Join(deep, "f"), nil, 0o400),
		os.Symlink(outside, filepath.Join(scratch, "link")),
		os.Chmod(deep, 0o555), os.Chmod(filepath.Dir(deep), 0o000),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.removeRun(run); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(run.dir); !os.IsNotExist(err) {
		t.Errorf("the run's directory is still there: %v", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("a directory outside is %v, %v", info, err)
	}
}

// TestRemoveDeepRun: a path through all levels is longer than PATH_MAX.
func TestRemoveDeepRun(t *testing.T) {
	s, err := openState(filepath.Join(t.TempDir(), "state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.makeRun()
	if err != nil {
		t.Fatal(err)
	}
	scratch := run.scratch()
	const depth = 3000
	dig(t, scratch, depth)
	if err := s.removeRun(run); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(run.dir); !os.IsNotExist(err) {
		t.Errorf("the run's directory is still there: %v", err)
	}
}

// TestRemoveMany removes more than one batch, in one directory and below it.
func TestRemoveMany(t *testing.T) {
	s, err := openState(filepath.Join(t.TempDir(), "state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.makeRun()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * batch {
		if err := os.WriteFile(filepath.Join(run.scratch(), strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.removeRun(run); err != nil {
		t.Error(err)
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
