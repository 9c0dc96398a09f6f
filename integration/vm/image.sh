#!/bin/bash
# Builds the initramfs of the test machine: this machine's own packages, a static
# busybox, the tree with the compiled tests, and guest/init.
#   image.sh FILE
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1

# What runs in the machine, by Debian's package names. Perl stays out: the tests
# use the parts of git that are C.
packages=(bash coreutils dash diffutils findutils git grep hostname libgcc-s1 mawk mount ncurses-base
	procps python3-minimal sed tar gzip util-linux passwd)

# Pure packages are the same on every kernel.
export PKGS='./integration ./confine/... ./keeper/... ./executor/... ./cmd/... ./internal/... ./policy/...'
export GOFLAGS='-buildvcs=false -ldflags=-w'

work=$(mktemp -d /tmp/sandbox-exec-image.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root

skeleton() {
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/{proc,sys,dev,run,etc,root,home,mnt,var/tmp,t}
	local dir
	for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
	mkdir -m 1777 "$root/tmp"
	chmod 1777 "$root/var/tmp"
	chmod 0700 "$root/root"
	cp integration/vm/guest/{passwd,group} "$root/etc/"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	echo sandbox-exec-vm >"$root/etc/hostname"
}

# versioned adds the packages that hold what python3-minimal leads to, and the
# standard library that ordinary programs use.
versioned() {
	local python
	python=$(basename "$(readlink -f /usr/bin/python3)")
	packages+=("$python-minimal" "lib$python-minimal" "lib$python-stdlib")
}

# userland copies the packages' files, and the libraries of every program.
userland() {
	dpkg -L "${packages[@]}" | sort -u |
		grep -vE '^/usr/share/(doc|man|locale|info|lintian|doc-base|bash-completion|perl5|gitweb|git-core/contrib|i18n)|^/etc/|/__pycache__|/lib2to3/|/ensurepip/|/pydoc_data/' |
		while read -r path; do
			if [[ -L $path || -f $path ]]; then echo "$path"; fi
		done >"$work/files"
	tar -C / --no-recursion -P -cf - -T "$work/files" | tar -C "$root" --keep-directory-symlink -xf - --transform 's,^/,,'
	rm -f "$root/usr/bin/su" # of no use without PAM, which stays out
	ln -sf mawk "$root/usr/bin/awk"
	cp "$(type -P busybox)" "$root/usr/bin/busybox"
	libraries
}

libraries() {
	{ find "$root/usr" "$root/t/mke2fs" -type f -perm /111 -print0 | xargs -0 ldd 2>/dev/null || true; } | # scripts are among them
		grep -oE '/[^ :]+\.so[^ ]*' | sort -u |
		{ grep -v "^$root" || true; } |
		while read -r library; do
			mkdir -p "$root/${library%/*}"
			[[ -e $root$library ]] || cp -L "$library" "$root$library"
		done
}

tests() {
	scripts/stage-tests.sh "$root/t"
	sed -i "s,$root/,/," "$root/t/packages"
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$root/usr/bin/" ./cmd/sandbox-exec
	install -m 0755 /sbin/mke2fs "$root/t/mke2fs" # not in PATH: the tests would take it for a tool of theirs
	install -m 0755 integration/vm/guest/init "$root/init"
	install -m 0755 integration/vm/guest/tests "$root/t/run"
}

skeleton
versioned
tests
userland
(cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --quiet 2>/dev/null | gzip -1) >"$out.new"
mv "$out.new" "$out" # a machine may be about to start
echo "image: $(du -sm "$root" | cut -f1) MB, $(du -m "$out" | cut -f1) MB compressed, $(wc -l <"$root/t/packages") packages"
