package broker

import (
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkCalls measures calls that a broker of this process answers.
func BenchmarkCalls(b *testing.B) {
	dir := workplace(b)
	write(b, dir+"/f")
	fd, err := unix.Open(dir+"/f", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(b, err)
	b.Cleanup(func() { unix.Close(fd) })
	s, _ := sandboxed(b, dir, dir)
	for name, call := range map[string]func() error{
		"chmod":     func() error { return unix.Fchmodat(unix.AT_FDCWD, "f", 0o640, 0) },
		"fchmod":    func() error { return unix.Fchmod(fd, 0o640) },
		"fchown":    func() error { return unix.Fchown(fd, -1, -1) },
		"utimensat": func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, "f", nil, 0) },
		"absent":    func() error { _ = unix.Fchmod(-1, 0); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			var err error
			s.work <- func() {
				for range b.N {
					if err == nil {
						err = call()
					}
				}
			}
			s.do(b, func() {})
			must(b, err)
		})
	}
}
