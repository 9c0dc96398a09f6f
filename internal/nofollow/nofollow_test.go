package nofollow

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Both ways must answer alike: which one is taken depends on the kernel and on
// the filters around this process.
func TestBothWays(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		os.MkdirAll(dir+"/real/sub", 0o755), os.WriteFile(dir+"/real/file", nil, 0o644),
		os.Symlink("real", dir+"/link"), os.Symlink("file", dir+"/real/tolink"), os.Symlink("nowhere", dir+"/dangling"),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path  string
		flags int
		want  error
	}{
		{"/", unix.O_PATH, nil},
		{dir + "/real", unix.O_PATH | unix.O_DIRECTORY, nil},
		{dir + "//real/./sub", unix.O_PATH, nil},
		{dir + "/real/../real/file", unix.O_RDONLY, nil},
		{dir + "/real/new", unix.O_WRONLY | unix.O_CREAT, nil},
		{dir + "/link", unix.O_PATH, unix.ELOOP},
		{dir + "/link", unix.O_PATH | unix.O_DIRECTORY, unix.ELOOP},
		{dir + "/link/file", unix.O_RDONLY, unix.ELOOP},
		{dir + "/real/tolink", unix.O_RDONLY, unix.ELOOP},
		{dir + "/dangling", unix.O_WRONLY | unix.O_CREAT, unix.ELOOP},
		{dir + "/real/file", unix.O_PATH | unix.O_DIRECTORY, unix.ENOTDIR},
		{dir + "/real/file/x", unix.O_PATH, unix.ENOTDIR},
		{dir + "/nope/x", unix.O_PATH, unix.ENOENT},
	} {
		file, err := Open(tt.path, tt.flags, 0o644)
		if err == nil {
			file.Close()
		}
		fd, werr := walk(tt.path, tt.flags, 0o644)
		if werr == nil {
			unix.Close(fd)
		}
		if !errors.Is(err, tt.want) || !errors.Is(werr, tt.want) {
			t.Errorf("%s with %#x: openat2 says %v, the walk %v, wanted %v", tt.path, tt.flags, err, werr, tt.want)
		}
	}
	if _, err := os.Lstat(dir + "/nowhere"); err == nil {
		t.Error("a file was made through a symlink")
	}
}
