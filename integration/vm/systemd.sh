#!/bin/bash
# make test-vm-systemd: one machine whose first process is systemd. The tests that
# have to do with control groups run as an ordinary user in a scope of that user's
# manager (systemd-run --user --scope -p Delegate=yes). Nothing is installed:
# Debian's packages lie unpacked over the image of make test-vm.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=integration/vm
cache=$PWD/.cache/vm
run=$cache/systemd
packages=(systemd systemd-sysv dbus dbus-user-session libpam-systemd libpam-modules base-files)
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"
export VM_DEADLINE=${VM_DEADLINE:-900}

[[ $(uname -m) == x86_64 ]] || { echo "vm: the kernels and the image are for x86_64" >&2; exit 1; }
scripts/deps.sh vm
read -r name abi kernel < <($here/fetch.sh "${VM_KERNELS:-6.12}")
$here/image.sh "$cache/image"
rm -rf "$run"
mkdir -p "$run/root" "$run/archives/partial" "$run/kernel"

# The same release as this machine's, whose programs are in the image.
# shellcheck disable=SC1091 # of the machine
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
apt=(apt-get -c "$cache/apt/apt.conf" -o "Dir::Cache::Archives=$run/archives" -o "APT::Install-Recommends=false")
sed -n "s/ [a-z-]* main$/ $suite main/p" "$cache/apt/sources.list" | grep -v security | sort -u >"$run/sources.list"
apt+=(-o "Dir::Etc::SourceList=$run/sources.list" -o "Dir::State::Lists=$run/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
mkdir -p "$run/lists/partial"
"${apt[@]}" update -qq
"${apt[@]}" install -y -qq --download-only "${packages[@]}" >/dev/null
for package in "$run"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -xf - -C "$run/root" --keep-directory-symlink \
		--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --transform 's,^\./\(bin\|sbin\|lib\|lib64\)/,./usr/\1/,'
done
root=$run/root
rm -rf "${root:?}"/{bin,sbin,lib,lib64} # symlinks in the image

: >"$root/etc/machine-id"
mkdir -p "$root"/etc/{pam.d,systemd/system/multi-user.target.wants} "$root/etc/systemd/system.conf.d"
printf '%s\n' 'account required pam_permit.so' 'session required pam_permit.so' 'session required pam_systemd.so' >"$root/etc/pam.d/systemd-user"
printf '%s required pam_permit.so\n' auth account password session >"$root/etc/pam.d/other"
cat $here/guest/passwd >"$root/etc/passwd"
cat $here/guest/group >"$root/etc/group"
install -m 0644 $here/guest/vm.service "$root/etc/systemd/system/vm.service"
ln -s ../vm.service "$root/etc/systemd/system/multi-user.target.wants/vm.service"
ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
mkdir -p "$root/t"
install -m 0755 $here/guest/systemd "$root/t/systemd"
ln "$kernel" "$run/kernel/vmlinuz" 2>/dev/null || cp "$kernel" "$run/kernel/vmlinuz"
(cd "$root" && find . -mindepth 1 | cpio -o -H newc --quiet | gzip -1) >"$run/kernel/modules"

begin=$SECONDS status=0
$here/boot.sh "$run/kernel/vmlinuz" "$cache/image" "$run/machine" rdinit=/usr/lib/systemd/systemd systemd.show_status=0 \
	"vm.abi=$abi" "vm.tests=${VM_TESTS:-integration,keeper,cmd/sandbox-exec}" \
	"vm.run=${VM_RUN:-Limit|Group|Tree|Usage|Swept|Reached|CallerKilled|Promises}" || status=$?
echo "== vm systemd on $name: status $status, $((SECONDS - begin)) s"
grep -aE '^VM-' "$run/machine/console" | grep -v '^VM-PROBE' || true
if ((status == 125)); then
	tail -n 40 "$run/machine/console"
fi
$here/events.sh "$run/machine/tests" builder >"$run/builder.json"
go build -o "$run/testreport" ./scripts/testreport
"$run/testreport" "vm-systemd-builder=$status=$run/builder.json"
