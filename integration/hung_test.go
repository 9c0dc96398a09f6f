package integration

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/keeper/broker"
)

// hung mounts a file system in which every look-up of a name hangs until release
// is called.
func hung(t *testing.T, dir string) (release func()) {
	t.Helper()
	kerneltest.Require(t, kerneltest.Root, kerneltest.FUSE)
	// Read through the poller: closing it then ends the reading, and with that the
	// file system.
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	device := os.NewFile(uintptr(fd), "fuse")
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("hung", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hungServe(device)
	}()
	release = func() {
		device.Close()
		<-ended
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	}
	t.Cleanup(release)
	return release
}

// Numbers of include/uapi/linux/fuse.h.
const (
	fuseLookup  = 1
	fuseGetattr = 3
	fuseInit    = 26
)

// hungServe answers the least that a mount needs, and no look-up.
func hungServe(device *os.File) {
	request := make([]byte, 1<<17)
	for {
		n, err := device.Read(request)
		if err != nil || n < 40 {
			return
		}
		opcode, id := binary.LittleEndian.Uint32(request[4:]), binary.LittleEndian.Uint64(request[8:])
		switch opcode {
		case fuseLookup:
		case fuseInit:
			out := make([]byte, 64) // struct fuse_init_out: 7.31, and room
			binary.LittleEndian.PutUint32(out, 7)
			binary.LittleEndian.PutUint32(out[4:], 31)
			binary.LittleEndian.PutUint32(out[20:], 4096)
			hungAnswer(device, id, 0, out)
		case fuseGetattr:
			out := make([]byte, 104) // struct fuse_attr_out: 16 bytes, and struct fuse_attr
			binary.LittleEndian.PutUint64(out[16:], 1)
			binary.LittleEndian.PutUint32(out[16+60:], unix.S_IFDIR|0o755)
			binary.LittleEndian.PutUint32(out[16+64:], 2)
			hungAnswer(device, id, 0, out)
		default:
			hungAnswer(device, id, unix.ENOSYS, nil)
		}
	}
}

func hungAnswer(device *os.File, id uint64, errno syscall.Errno, body []byte) {
	head := binary.LittleEndian.AppendUint32(nil, uint32(16+len(body)))
	head = binary.LittleEndian.AppendUint32(head, uint32(-int32(errno)))
	_, _ = device.Write(append(binary.LittleEndian.AppendUint64(head, id), body...))
}

// callers is a program under the filter that makes calls when it is told to.
type callers struct {
	t       *testing.T
	broker  *broker.Broker
	input   io.WriteCloser
	answers chan string
	kill    func()
	ended   chan error
}

func newCallers(t *testing.T, dir string) *callers {
	t.Helper()
	cmd := self(t, "as-asking", "as-caller")
	cmd.Dir = dir
	var message bytes.Buffer
	cmd.Stderr = &message
	c := &callers{t: t, answers: make(chan string, 100), ended: make(chan error, 1)}
	var err error
	if c.input, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = writer
	listener := startAsking(t, cmd)
	writer.Close()
	c.kill = func() { _ = cmd.Process.Kill() }
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.answers <- lines.Text()
		}
		out.Close()
		c.ended <- cmd.Wait()
	}()
	c.broker, err = broker.Serve(broker.Config{Listener: listener, Roots: []*os.File{openPlace(t, dir)}, Threads: brokerThreads(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.kill(); c.broker.Close() })
	return c
}

func (c *callers) call(path string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.input, path); err != nil {
		c.t.Fatal(err)
	}
}

// answer waits that long for the errno of a call; it is negative where none came.
func (c *callers) answer(path string, wait time.Duration) int {
	select {
	case line := <-c.answers:
		words := strings.Fields(line)
		if words[0] != path {
			c.t.Errorf("%q came, wanted an answer for %s", line, path)
		}
		return number(words[1])
	case <-time.After(wait):
		return -1
	}
}

// closesSoon wants the broker to end although its threads hang.
func (c *callers) closesSoon() {
	c.t.Helper()
	begin := time.Now()
	c.broker.Close()
	if took := time.Since(begin); took > 2*time.Second {
		c.t.Errorf("closing took %v", took)
	}
}

func hungPlace(t *testing.T) (dir string, release func()) {
	t.Helper()
	dir = realTempDir(t)
	write(t, filepath.Join(dir, "f"), "")
	if err := os.Mkdir(filepath.Join(dir, "hung"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, hung(t, filepath.Join(dir, "hung"))
}

// TestHungFileSystem: a few calls that hang hold up no other, many have the next
// ones turned away, and the end waits for none.
func TestHungFileSystem(t *testing.T) {
	needs(t, kerneltest.Broker)
	dir, release := hungPlace(t)
	c := newCallers(t, dir)
	for i := range 3 {
		c.call(fmt.Sprintf("hung/%d", i))
	}
	c.call("f")
	if got := c.answer("f", patience); got != 0 {
		t.Errorf("behind three that hang: errno %d", got)
	}
	for i := range 5 {
		c.call(fmt.Sprintf("hung/more%d", i))
	}
	time.Sleep(time.Second) // eight hang now, each found out in 50 ms
	for range 3 {
		c.call("f")
		if got := c.answer("f", patience); got != int(unix.EAGAIN) {
			t.Errorf("behind eight that hang: errno %d, wanted EAGAIN", got)
		}
	}
	c.closesSoon()
	for range 8 {
		if line := <-c.answers; !strings.HasSuffix(line, fmt.Sprintf(" %d", unix.ENOSYS)) {
			t.Errorf("after the end: %q, wanted ENOSYS", line)
		}
	}
	if err := c.broker.Err(); err != nil {
		t.Error(err)
	}
	release()
}

// TestHungFileSystemRecovers: once look-ups are answered the broker goes on.
func TestHungFileSystemRecovers(t *testing.T) {
	needs(t, kerneltest.Broker)
	dir, release := hungPlace(t)
	c := newCallers(t, dir)
	for range 9 {
		c.call("hung/x")
	}
	if got := c.answer("hung/x", patience); got != int(unix.EAGAIN) {
		t.Errorf("the ninth: errno %d, wanted EAGAIN", got)
	}
	release()
	for range 8 {
		if got := c.answer("hung/x", patience); got != int(unix.ENOTCONN) && got != int(unix.ECONNABORTED) && got != int(unix.ECONNREFUSED) { // the last on Linux 7.3
			t.Errorf("errno %d, wanted ENOTCONN", got)
		}
	}
	got := int(unix.EAGAIN)
	for tries := 0; tries < 100 && got == int(unix.EAGAIN); tries++ { // the eight may not all have left yet
		c.call("f")
		got = c.answer("f", patience)
	}
	if got != 0 {
		t.Errorf("afterwards: errno %d", got)
	}
}

// TestCallerKilledMeanwhile: it dies at once, whatever its broker waits for.
func TestCallerKilledMeanwhile(t *testing.T) {
	needs(t, kerneltest.Broker)
	dir, release := hungPlace(t)
	c := newCallers(t, dir)
	c.call("hung/x")
	if got := c.answer("hung/x", 200*time.Millisecond); got >= 0 {
		t.Fatalf("errno %d, wanted it to hang", got)
	}
	c.kill()
	select {
	case <-c.ended:
	case <-time.After(2 * time.Second):
		t.Error("the caller lives")
	}
	c.closesSoon()
	release()
}
