package integration

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victimMoment is how long the test looks for what must not come.
const victimMoment = 50 * time.Millisecond

// answers has nothing to see but the answer.
func answers(args ...string) func(*testing.T, string) ([]string, func() bool) {
	return func(*testing.T, string) ([]string, func() bool) { return args, nil }
}

// victimAddressOf is where a server of the test's listens, outside the workspace.
func victimAddressOf(t *testing.T, network string) string {
	if network == "tcp" || network == "udp" {
		return "127.0.0.1:0"
	}
	return filepath.Join(realTempDir(t), "socket")
}

func listens(network string) func(*testing.T, string) ([]string, func() bool) {
	return func(t *testing.T, _ string) ([]string, func() bool) {
		server, err := net.Listen(network, victimAddressOf(t, network))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		return []string{"send", network, server.Addr().String()}, func() bool {
			err := server.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(victimMoment))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := server.Accept()
			if err != nil {
				return false
			}
			conn.Close()
			return true
		}
	}
}

func receives(network string) func(*testing.T, string) ([]string, func() bool) {
	return func(t *testing.T, _ string) ([]string, func() bool) {
		server, err := net.ListenPacket(network, victimAddressOf(t, network))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		return []string{"send", network, server.LocalAddr().String()}, func() bool {
			if err := server.SetDeadline(time.Now().Add(victimMoment)); err != nil {
				t.Fatal(err)
			}
			n, _, err := server.ReadFrom(make([]byte, 8))
			return err == nil && n > 0
		}
	}
}

// changes watches the metadata of a file in the workspace.
func changes(effect string) func(*testing.T, string) ([]string, func() bool) {
	return func(t *testing.T, work string) ([]string, func() bool) {
		path := filepath.Join(work, "file")
		write(t, path, "")
		args := []string{effect, path}
		if effect == "int80" {
			args = append(args, "600")
		}
		before := victimMetadata(t, path)
		return args, func() bool { return victimMetadata(t, path) != before }
	}
}

func victimMetadata(t *testing.T, path string) string {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		t.Fatal(err)
	}
	size, err := unix.Lgetxattr(path, "user.victim", nil)
	return fmt.Sprint(stat.Mode, stat.Uid, stat.Gid, stat.Mtim, size, err)
}

// makes watches for a device node or a file with a set-id bit.
func makes(effect string) func(*testing.T, string) ([]string, func() bool) {
	return func(_ *testing.T, work string) ([]string, func() bool) {
		path := filepath.Join(work, "made")
		return []string{effect, path}, func() bool {
			info, err := os.Lstat(path)
			return err == nil && info.Mode()&(fs.ModeDevice|fs.ModeSetuid) != 0
		}
	}
}

// types watches the screen of a terminal: what is typed is echoed.
func types(command string) func(*testing.T, string) ([]string, func() bool) {
	return func(t *testing.T, _ string) ([]string, func() bool) {
		master, name := otherTerminal(t)
		var mu sync.Mutex
		var screen bytes.Buffer
		go func() {
			buffer := make([]byte, 64)
			for {
				n, err := master.Read(buffer)
				mu.Lock()
				screen.Write(buffer[:n])
				mu.Unlock()
				if err != nil {
					return
				}
			}
		}()
		return []string{"tiocsti", name, command}, func() bool {
			time.Sleep(victimMoment)
			mu.Lock()
			defer mu.Unlock()
			return screen.Len() > 0
		}
	}
}

func limits(resource int) func(*testing.T, string) ([]string, func() bool) {
	return func(t *testing.T, _ string) ([]string, func() bool) {
		pid, _ := victim(t)
		return []string{"prlimit", fmt.Sprint(pid), fmt.Sprint(resource)}, func() bool {
			var now unix.Rlimit
			if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
				t.Fatal(err)
			}
			return now.Cur == 77
		}
	}
}

func slows(t *testing.T, _ string) ([]string, func() bool) {
	pid, _ := victim(t)
	return []string{"nice", fmt.Sprint(pid)}, func() bool {
		priority, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		if err != nil {
			t.Fatal(err)
		}
		return priority == 20-19 // the raw call never returns a negative number
	}
}

func shares(t *testing.T, _ string) ([]string, func() bool) {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if _, removeErr := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err == nil {
		err = removeErr
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SysvShmDetach(memory); err != nil {
			t.Error(err)
		}
	})
	return []string{"shm", fmt.Sprint(id)}, func() bool { return memory[0] == 'x' }
}

func queues(t *testing.T, work string) ([]string, func() bool) {
	name := fmt.Sprintf("sandbox-exec-%d-%s", os.Getpid(), filepath.Base(filepath.Dir(work)))
	fd, err := victimOpenQueue(name, unix.O_CREAT|unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(fd)
		text, _ := unix.BytePtrFromString(name)
		if _, _, errno := unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(text)), 0, 0); errno != 0 && errno != unix.ENOENT {
			t.Error(errno)
		}
	})
	return []string{"mq", name}, func() bool {
		message := make([]byte, 8192) // the default of msgsize_max
		n, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, uintptr(fd), uintptr(unsafe.Pointer(&message[0])), uintptr(len(message)), 0, 0, 0)
		return errno == 0 && n == 1
	}
}

func marks(t *testing.T, work string) ([]string, func() bool) {
	path := filepath.Join(work, "file")
	write(t, path, "")
	return []string{"setflags", path}, func() bool {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		now, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			t.Fatal(err)
		}
		return now&victimNoDump != 0
	}
}
