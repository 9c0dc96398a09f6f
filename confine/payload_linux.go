package confine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Payload returns the plan's wire form in a sealed memory file. A message on
// the socket would be too small: environment and arguments may be megabytes,
// and a SEQPACKET message above 212 kB is refused. The seals keep it as it is
// from here to the helper. The error is E2BIG where the arguments and the
// environment are larger than any kernel takes.
func (p *Plan) Payload() (*os.File, error) {
	wire := p.Encode()
	if len(wire) > maxPayload {
		return nil, fmt.Errorf("lay out a plan of %d bytes: %w", len(wire), unix.E2BIG)
	}
	fd, err := unix.MemfdCreate("sandbox-exec-plan", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a memory file for the plan: %w", err)
	}
	file := os.NewFile(uintptr(fd), "plan")
	if _, err := file.Write(wire); err != nil {
		file.Close()
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		file.Close()
		return nil, fmt.Errorf("seal the plan: %w", err)
	}
	return file, nil
}
