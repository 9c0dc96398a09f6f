package seccomp

import "golang.org/x/sys/unix"

// rowsOfSocket has every family and protocol with a number up to 300 and some
// above, alone and with the flags that share the type's argument.
func rowsOfSocket() []row {
	var rows []row
	numbers := []uint64{1 << 9, 1 << 16, 1 << 31, 1<<31 | 1, 1<<32 - 1}
	for n := range uint64(300) {
		numbers = append(numbers, n)
	}
	for _, n := range numbers {
		for _, kind := range []uint64{unix.SOCK_STREAM, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC} {
			rows = append(rows, socketRow(n, kind, 0), socketRow(unix.AF_INET, kind, n), socketRow(unix.AF_INET6, kind, n), pairRow(n, kind))
		}
		rows = append(rows, socketRow(unix.AF_NETLINK, unix.SOCK_RAW, n), socketRow(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, n))
	}
	for kind := range uint64(16) {
		for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET} {
			rows = append(rows, socketRow(family, kind, 0), socketRow(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0), pairRow(family, kind))
		}
	}
	return rows
}

// socketRow is the design's word on one socket: all the groups that refuse it.
func socketRow(family, kind, protocol uint64) row {
	r := row{call: "socket", args: a{family, kind, protocol}, want: unix.EPERM}
	switch family {
	case unix.AF_UNIX:
		r.by = unixOnly(kind)
	case unix.AF_NETLINK:
		r.want = unix.EPROTONOSUPPORT
		if protocol != 0 {
			r.by = []Group{NetDeny, NetAllow}
		}
	case unix.AF_INET, unix.AF_INET6:
		r.by = []Group{NetDeny}
		if !internetStays(kind&0xf, protocol) {
			r.by = []Group{NetDeny, NetAllow}
		}
	default:
		r.by = []Group{NetDeny, NetAllow}
	}
	return r
}

func pairRow(family, kind uint64) row {
	r := row{call: "socketpair", args: a{family, kind, 0, 1}, want: unix.EPERM, by: []Group{NetDeny, NetAllow}}
	if family == unix.AF_UNIX {
		r.by = unixOnly(kind)
	}
	return r
}

func unixOnly(kind uint64) []Group {
	if kind&0xf == unix.SOCK_DGRAM || kind&0xf == unix.SOCK_RAW {
		return []Group{Unix}
	}
	return nil
}

func internetStays(kind, protocol uint64) bool {
	switch kind {
	case unix.SOCK_STREAM:
		return protocol == 0 || protocol == 6
	case unix.SOCK_DGRAM:
		return protocol == 0 || protocol == 17 || protocol == 1 || protocol == 58 || protocol == 136
	}
	return false
}
