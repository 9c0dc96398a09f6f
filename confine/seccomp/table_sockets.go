package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Arguments of socket and socketpair, all of them int.
const (
	socketFamily = iota
	socketType
	socketProtocol
)

const (
	noRoute  = "generic netlink, netfilter, audit and the like: only the routing table's netlink, which getifaddrs reads, stays; the answer is that of a kernel without the protocol, from which PAM and su go on"
	noFamily = "a way out of the machine, or into the kernel by a family that hardly anybody tests"
	noPair   = "only unix sockets come in pairs; other families would be a way around the rule on socket"
)

func netDenyClauses() []clause {
	return []clause{
		// Not EACCES: that text stays the file denials' own.
		{unix.EPERM, noFamily, "socket", intExcept(socketFamily, unix.AF_UNIX, unix.AF_NETLINK)},
		{unix.EPROTONOSUPPORT, noRoute, "socket", routeOnly()},
		{unix.EPERM, noPair, "socketpair", intExcept(socketFamily, unix.AF_UNIX)},
	}
}

func netAllowClauses() []clause {
	return []clause{
		{unix.EPERM, noFamily, "socket", intExcept(socketFamily, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)},
		{unix.EPROTONOSUPPORT, noRoute, "socket", routeOnly()},
		{unix.EPERM, noPair, "socketpair", intExcept(socketFamily, unix.AF_UNIX)},
		{unix.EPERM, "raw and packet sockets read and forge other programs' traffic; only streams and datagrams stay", "socket", internet(fieldExcept(socketType, 4, unix.SOCK_STREAM, unix.SOCK_DGRAM))},
		{unix.EPERM, "streams are TCP: Landlock's ports do not see SCTP, and MPTCP only on newer kernels", "socket", internet(with(
			intExcept(socketProtocol, 0, unix.IPPROTO_TCP), under(socketType, sockTypeMask, unix.SOCK_STREAM),
		))},
		{unix.EPERM, "datagrams are UDP, UDP-Lite and ping", "socket", internet(with(
			intExcept(socketProtocol, 0, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6, unix.IPPROTO_UDPLITE), under(socketType, sockTypeMask, unix.SOCK_DGRAM),
		))},
	}
}

func routeOnly() [][]Cond {
	return allOf(is(socketFamily, unix.AF_NETLINK), differs(socketProtocol, unix.NETLINK_ROUTE))
}

// internet narrows alternatives to AF_INET and AF_INET6. The two numbers, 2 and
// 10, differ in one bit, so one mask holds both and halves the program.
func internet(alternatives [][]Cond) [][]Cond {
	return with(alternatives, under(socketFamily, lower&^uint64(unix.AF_INET^unix.AF_INET6), unix.AF_INET))
}

func socketsClosedClauses() []clause {
	return []clause{
		{unix.EACCES, "the address is behind a pointer: without a broker nobody can tell the command's own sockets from a service's", "connect", nil},
	}
}

// unixClauses leave streams and sequenced packets, which carry nothing before
// connect.
func unixClauses() []clause {
	const why = "sendto and sendmsg take an address on such a socket and carried bytes and a descriptor out; for unix sockets raw means datagram"
	family := is(socketFamily, unix.AF_UNIX)
	return []clause{
		{unix.EPERM, why, "socket socketpair", slices.Concat(
			allOf(family, under(socketType, sockTypeMask, unix.SOCK_DGRAM)),
			allOf(family, under(socketType, sockTypeMask, unix.SOCK_RAW)),
		)},
	}
}
