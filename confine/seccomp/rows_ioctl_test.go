package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// rowsOfIoctl has every number and direction of the file systems' types with two
// sizes, the terminals' commands, and ordinary ones.
func rowsOfIoctl() []row {
	var rows []row
	for _, kind := range []uint64{0x94, 'f', 'X', 'v', 'r', 0xbc, 0xf5} {
		for number := range uint64(256) {
			for direction := range uint64(4) {
				command := direction<<30 | (number*8&0x3fff)<<16 | kind<<8 | number
				if ioctlStays(kind, number, direction) {
					rows = append(rows, allowed("ioctl", a{3, command, 1})...)
				} else {
					rows = append(rows, refused(Base, unix.EOPNOTSUPP, "ioctl", a{3, command, 1})...)
				}
			}
		}
	}
	return slices.Concat(rows, terminalRows(), ordinaryIoctls())
}

// ioctlStays is the design's list.
func ioctlStays(kind, number, direction uint64) bool {
	const read = 2
	switch kind {
	case 0x94:
		return number == 9 || number == 13 || number == 54 || number == 49 && direction == read
	case 'f':
		return number == 1 && direction == read || number == 11 || number == 134 || number == 135
	case 'X':
		return number == 31
	case 'v':
		return number == 1
	case 'r':
		return number == 1 || number == 2 || number == 0x10
	}
	return false
}

func terminalRows() []row {
	return slices.Concat(
		refused(Base, unix.EPERM, "ioctl", a{0, 0x5412, 1}, a{0, 0x541c, 1}, a{0, 0x5423, 1}, a{0, 0x541d}),
		refused(Signals, unix.EPERM, "ioctl", a{3, 0x8901, 1}, a{3, 0x8902, 1}),
	)
}

// ordinaryIoctls, by the headers' numbers.
func ordinaryIoctls() []row {
	commands := map[string]uint64{
		"TCGETS": 0x5401, "TCSETS": 0x5402, "TCSETSF": 0x5404, "TIOCGWINSZ": 0x5413, "TIOCSWINSZ": 0x5414,
		"TIOCGPGRP": 0x540f, "TIOCSPGRP": 0x5410, "TIOCSCTTY": 0x540e, "TIOCNOTTY": 0x5422, "TIOCGETD": 0x5424,
		"TIOCEXCL": 0x540c, "TIOCOUTQ": 0x5411, "FIONREAD": 0x541b, "FIONBIO": 0x5421, "FIOCLEX": 0x5451, "FIOASYNC": 0x5452,
		"TIOCGPTN": 0x80045430, "TIOCSPTLCK": 0x40045431, "TIOCGPTPEER": 0x5441, "TCGETS2": 0x802c542a,
		"FICLONE": 0x40049409, "FICLONERANGE": 0x4020940d, "FIDEDUPERANGE": 0xc0189436, "FS_IOC_GETFSLABEL": 0x81009431,
		"FS_IOC_GETFLAGS": 0x80086601, "FS_IOC_FIEMAP": 0xc020660b, "FS_IOC_FSGETXATTR": 0x801c581f, "FS_IOC_GETVERSION": 0x80087601,
		"FIBMAP": 1, "FIGETBSZ": 2, "BLKGETSIZE64": 0x80081272, "FS_IOC_GETFSUUID": 0x80111500, "SIOCGIFCONF": 0x8912, "SIOCGIFADDR": 0x8915,
		"SIOCATMARK": 0x8905, "SIOCGPGRP": 0x8904, "FIOGETOWN": 0x8903, "KVM_RUN": 0xae80, "DRM_IOCTL_VERSION": 0xc0406400,
		"PERF_EVENT_IOC_ENABLE": 0x2400, "VIDIOC_QUERYCAP": 0x80685600, "NS_GET_USERNS": 0xb701, "SECCOMP_IOCTL_NOTIF_RECV": 0xc0502100,
		"UFFDIO_API": 0xc018aa3f, "PIDFD_GET_INFO": 0xc040ff0b, "nothing": 0,
		// others with the lower half of a refused command
		"TIOCSTI with a size": 0x80045412, "TIOCCONS with a size": 0x4001541d, "FIOSETOWN with a size": 0x40048901,
	}
	var rows []row
	for _, command := range commands {
		rows = append(rows, allowed("ioctl", a{3, command, 0x7fff00000000})...)
	}
	return rows
}
