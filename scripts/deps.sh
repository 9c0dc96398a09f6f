#!/bin/sh
# Checks for what make test needs beside the Go modules, and installs it as root
# or with a sudo that asks nothing; otherwise prints the command and fails.
# With "vm" also what make test-vm needs.
# Plain sh, because bash may be one of the missing things.
set -eu
cd "$(dirname "$0")/.."

vm=
[ "${1:-}" != vm ] || vm=yes

oldest_go=26 # of Go 1: go.mod

# The tests also run as an ordinary user, who has none of root's own directories
# in PATH, so root's copies do not count. go is looked up in both.
if [ "$(id -u)" = 0 ]; then
	plain=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
else
	plain=$PATH
fi

has() { (PATH=$plain && command -v "$1" >/dev/null); }

missing() {
	for tool in bash git make python3 setpriv readelf timeout tar rsync setfacl; do
		has "$tool" || echo "$tool"
	done
	# The race detector links with C: a compiler without its headers is no use.
	echo '#include <stdlib.h>' | (PATH=$plain && gcc -E - >/dev/null 2>&1) || echo gcc
	# The filters are compiled again and compared.
	echo '#include <seccomp.h>' | (PATH=$plain && gcc -E - >/dev/null 2>&1) || echo seccomp.h
	has pkg-config || echo pkg-config
	if [ -n "$vm" ]; then
		for tool in qemu-system-x86_64 busybox cpio mke2fs ps mawk hostname; do
			has "$tool" || echo "$tool"
		done
	fi
	# Root mounts an image of each file system whose ioctls the filter closes.
	if [ "$(id -u)" = 0 ]; then
		for fs in ext4 btrfs xfs; do
			if grep -qw $fs /proc/filesystems 2>/dev/null && ! has mkfs.$fs; then echo mkfs.$fs; fi
		done
	fi
	command -v go >/dev/null || echo go
}

manager() {
	for name in apt-get dnf apk; do
		if has $name; then echo $name && return; fi
	done
}

# packages prints the manager's names for the missing tools.
packages() { # MANAGER TOOL...
	manager=$1 && shift
	for tool; do
		case $manager:$tool in
		apt-get:gcc) echo gcc libc6-dev ;;
		dnf:gcc) echo gcc glibc-devel ;;
		apk:gcc) echo gcc musl-dev ;;
		*:qemu-system-x86_64) echo qemu-system-x86 ;;
		apt-get:busybox) echo busybox-static ;;
		*:mke2fs) echo e2fsprogs ;;
		*:ps) echo procps ;;
		*:mkfs.ext4) echo e2fsprogs ;;
		*:mkfs.btrfs) echo btrfs-progs ;;
		*:mkfs.xfs) echo xfsprogs ;;
		dnf:seccomp.h) echo libseccomp-devel ;;
		*:seccomp.h) echo libseccomp-dev ;;
		dnf:pkg-config) echo pkgconf-pkg-config ;;
		apk:pkg-config) echo pkgconf ;;
		apk:setpriv) echo setpriv ;;
		*:setpriv) echo util-linux ;;
		*:readelf) echo binutils ;;
		*:setfacl) echo acl ;;
		*:timeout) echo coreutils ;;
		apt-get:go) ;; # too old there: the check below says what to do
		dnf:go) echo golang ;;
		*) echo "$tool" ;;
		esac
	done | paste -sd ' ' -
}

install_command() { # MANAGER PACKAGES
	case $1 in
	apt-get)
		apt='apt-get -o DPkg::Lock::Timeout=300'
		echo "$apt update && DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends $2"
		;;
	dnf) echo "dnf install -y $2" ;;
	apk) echo "apk add $2" ;;
	esac
}

install_missing() { # TOOL...
	manager=$(manager)
	[ -n "$manager" ] || { echo "deps: missing: $* (install them; no apt-get, dnf or apk here)" >&2; exit 1; }
	packages=$(packages "$manager" "$@")
	[ -n "$packages" ] || return 0
	command=$(install_command "$manager" "$packages")
	if [ "$(id -u)" = 0 ]; then
		as_root=
	elif sudo -n true 2>/dev/null; then
		as_root='sudo -n'
	else
		printf 'deps: missing: %s. Run as root:\n  %s\n' "$*" "$command" >&2
		exit 1
	fi
	echo "deps: $command"
	$as_root sh -c "$command"
}

check_go() {
	version=$(go env GOVERSION 2>/dev/null || go version 2>/dev/null || echo none)
	minor=$(echo "$version" | sed -n 's/.*go1\.\([0-9][0-9]*\).*/\1/p')
	if [ "${minor:-0}" -lt $oldest_go ]; then
		echo "deps: go: got $version, want 1.$oldest_go or later: https://go.dev/doc/install" >&2
		exit 1
	fi
}

# shellcheck disable=SC2046 # a list of names
set -- $(missing)
[ $# = 0 ] || install_missing "$@"
check_go
# shellcheck disable=SC2046
set -- $(missing)
[ $# = 0 ] || { echo "deps: still missing after the installation: $*" >&2; exit 1; }
