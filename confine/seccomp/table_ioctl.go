package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// An ioctl's command is an unsigned int: eight bits of number, eight of type,
// fourteen of size and two of direction (include/uapi/asm-generic/ioctl.h).
const (
	ioctlCommand = 1 // the argument

	ioctlTypeShift = 8
	ioctlTypeMask  = 0xff << ioctlTypeShift
	ioctlNumber    = 0xff
	ioctlDirection = 30
	ioctlRead      = 2
)

// ioctlClauses close terminals' ways to type for others, and within the types of
// the file systems everything but what is known to be harmless: on btrfs an
// ordinary user made a subvolume in read-only mode. EOPNOTSUPP is what a file
// system without the ioctl answers, so programs go on without it.
func ioctlClauses() []clause {
	const terminal = "it types into, takes over or redirects a terminal that others read"
	return []clause{
		{unix.EPERM, terminal, "ioctl", anyOf(command(unix.TIOCSTI), command(tioclinux), command(unix.TIOCSETD), command(tioccons))},
		{
			unix.EOPNOTSUPP, "0x94 is btrfs and, among its numbers, the file systems' FICLONE 9, FICLONERANGE 13, FIDEDUPERANGE 54 and FS_IOC_GETFSLABEL 49; no other subsystem has the type",
			"ioctl", slices.Concat(ioctlsExcept(0x94, 9, 13, 49, 54), notRead(0x94, 49)),
		},
		{
			unix.EOPNOTSUPP, "'f' is FS_IOC_SETFLAGS, ext4, fscrypt and fs-verity; FS_IOC_GETFLAGS 1, FIEMAP 11 and the readers of fs-verity 134 and 135 stay. Read-only and refused all the same: the readers of fscrypt 21 to 26",
			"ioctl", slices.Concat(ioctlsExcept('f', 1, 11, 134, 135), notRead('f', 1)),
		},
		{
			unix.EOPNOTSUPP, "'X' is XFS, FIFREEZE, FITHAW and FITRIM; FS_IOC_FSGETXATTR 31 stays. Read-only and refused all the same: XFS_IOC_DIOINFO 30 (a size for direct I/O; callers take a default) and XFS geometry 100 to 126 (xfs_info). pktcdvd's one command is here too",
			"ioctl", ioctlsExcept('X', 31),
		},
		{
			unix.EOPNOTSUPP, "'v' is FS_IOC_SETVERSION; FS_IOC_GETVERSION 1 stays. Sony laptops' sonypi has the type too; video devices do not (theirs is 'V')",
			"ioctl", ioctlsExcept('v', 1),
		},
		{
			unix.EOPNOTSUPP, "'r' is FAT's attributes; its two directory readers 1 and 2 and FAT_IOCTL_GET_ATTRIBUTES 16 stay. Read-only and refused all the same: FAT_IOCTL_GET_VOLUME_ID 19",
			"ioctl", ioctlsExcept('r', 1, 2, 0x10),
		},
		{unix.EOPNOTSUPP, "0xbc is bcachefs: its subvolume calls make and remove by path, past Landlock", "ioctl", ioctlsExcept(0xbc)},
		{unix.EOPNOTSUPP, "0xf5 is F2FS, none of whose ioctls ordinary programs need", "ioctl", ioctlsExcept(0xf5)},
	}
}

// command holds for one ioctl.
func command(number uint64) Cond { return is(ioctlCommand, number) }

// ioctlsExcept holds for the commands of a type but those numbers, whatever
// their size and direction.
func ioctlsExcept(kind uint64, numbers ...uint64) [][]Cond {
	var alternatives [][]Cond
	for _, b := range complement(8, numbers...) {
		alternatives = append(alternatives, []Cond{under(ioctlCommand, ioctlTypeMask|b.mask, kind<<ioctlTypeShift|b.value)})
	}
	return alternatives
}

// notRead holds for one number of a type with any direction but read.
func notRead(kind, number uint64) [][]Cond {
	var alternatives [][]Cond
	for _, b := range complement(2, ioctlRead) {
		alternatives = append(alternatives, []Cond{under(
			ioctlCommand,
			b.mask<<ioctlDirection|ioctlTypeMask|ioctlNumber,
			b.value<<ioctlDirection|kind<<ioctlTypeShift|number,
		)})
	}
	return alternatives
}
