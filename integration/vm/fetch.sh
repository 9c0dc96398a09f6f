#!/bin/bash
# Fetches kernels as Debian packages into the cache, unpacked and not installed,
# and prints for each "NAME ABI FILE". A kernel that is gone is named on stderr
# and left out; none at all is a failure.
#   fetch.sh default|all|NAME...
#
# The packages come from where this machine's own apt gets Debian's; apt checks
# them against the archive's signature. Its state here is private.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$(cd "$here/../.." && pwd)/.cache/vm
apt=$cache/apt
kernels=$cache/kernels
suites=(bullseye-security bookworm-security trixie-security bookworm-backports trixie-backports sid)
# Before Linux 6.6 files of a tmpfs have no attributes of the user's:
# an ext4 on a loop device has. What is built in is not among them.
modules=(lib/crc16.ko fs/mbcache.ko fs/jbd2/jbd2.ko fs/ext4/ext4.ko drivers/block/loop.ko)
fresh_minutes=720 # an index older than this is fetched again

say() { echo "fetch: $*" >&2; }

# site prints the first Debian archive among this machine's sources, the one
# with security updates or the other.
site() { # PATTERN
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk -v pattern="$1" '$2 ~ /\/debian(-security)?\/?$/ && $1 ~ pattern {print $2; exit}'
}

sources() {
	local main security suite key=/usr/share/keyrings/debian-archive-keyring.gpg option=
	main=$(site '^[a-z]+$')
	security=$(site '^[a-z]+-security$')
	[[ -n $main ]] || { say "no Debian archive among this machine's apt sources"; return 1; }
	[[ ! -e $key ]] || option="[signed-by=$key] "
	for suite in "${suites[@]}"; do
		case $suite in
		*-security) [[ -z $security ]] || echo "deb $option$security $suite main" ;;
		*) echo "deb $option$main $suite main" ;;
		esac
	done
}

# The machine's own apt.conf.d stays in force: it may name a proxy.
configure() {
	mkdir -p "$apt"/{preferences.d,lists/partial,archives/partial,download}
	: >"$apt/status"
	sources >"$apt/sources.list.new"
	cmp -s "$apt/sources.list.new" "$apt/sources.list" || rm -f "$apt/updated"
	mv "$apt/sources.list.new" "$apt/sources.list"
	cat >"$apt/apt.conf" <<-CONF
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "-";
		Dir::Etc::Preferences "$apt/preferences";
		Dir::Etc::PreferencesParts "$apt/preferences.d";
		Dir::State "$apt";
		Dir::State::Lists "$apt/lists";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt";
		Dir::Cache::pkgcache "pkgcache.bin";
		Dir::Cache::srcpkgcache "srcpkgcache.bin";
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::Check-Valid-Until "false";
		Acquire::Check-Date "false";
		Acquire::Retries "2";
	CONF
}

update() {
	[[ -z $(find "$apt/updated" -mmin -$fresh_minutes 2>/dev/null) ]] || return 0
	local begin=$SECONDS
	if timeout 300 apt-get -c "$apt/apt.conf" update -qq >&2; then
		touch "$apt/updated"
	else
		say "not every index could be fetched; going on with what there is"
	fi
	say "indexes: $((SECONDS - begin)) s"
}

asks() { apt-cache -c "$apt/apt.conf" "$@" 2>/dev/null; }

# releases prints the releases that could be NAME, the newest first: a release
# is the part of a package's name that stands in uname -r.
releases() { # NAME SUITES
	local name=$1 suite
	if [[ $2 != - ]]; then
		for suite in ${2//,/ }; do by_meta "$suite"; done | sort -rVu
		return
	fi
	{ asks pkgnames "linux-image-$name."; asks pkgnames "linux-binary-$name."; } |
		sed -nE 's/^linux-(image|binary)-([0-9.]+([+-][0-9a-z.]+)*-cloud-amd64)$/\2/p' |
		{ grep -vE -- '-rc' || true; } | sort -rVu | head -n 4
}

by_meta() { # SUITE
	asks depends "linux-image-cloud-amd64/$1" | sed -nE 's/^ *Depends: linux-image-(.*-cloud-amd64).*/\1/p'
}

# unpack keeps the kernel alone. From 6.19 on linux-image is an empty shell, and
# from 7.2 on the kernel lies among the modules.
unpack() { # RELEASE DIRECTORY
	local package found
	for package in "linux-binary-$1" "linux-image-$1"; do
		[[ -n $(asks show --no-all-versions "$package") ]] || continue
		rm -rf "$apt/download"
		mkdir -p "$apt/download/tree"
		(cd "$apt/download" && timeout 300 apt-get -c "$apt/apt.conf" download -qq "$package" >&2) || continue
		dpkg-deb --fsys-tarfile "$apt/download/"*.deb |
			tar -xf - -C "$apt/download/tree" --wildcards "./boot/vmlinuz-*" "./usr/lib/modules/*/vmlinuz" "${modules[@]/#/./lib/modules/*/kernel/}" 2>/dev/null || true
		found=$(find "$apt/download/tree" -type f -name 'vmlinuz*' | head -n 1)
		[[ -n $found ]] || continue
		rm -rf "$2"
		mkdir -p "$2"
		mv "$found" "$2/vmlinuz"
		bundle "$apt/download/tree" >"$2/modules"
		(cd "$apt/download" && sha256sum ./*.deb | sed 's, \./, ,') >"$2/package"
		(cd "$2" && sha256sum vmlinuz modules >SHA256SUMS)
		rm -rf "$apt/download"
		return 0
	done
	return 1
}

# bundle makes a cpio archive of the modules, in the order in which they load. It
# lies behind the image, and is empty where the package has none.
bundle() { # TREE
	local module found=$1/found number=0
	mkdir -p "$found/modules"
	for module in "${modules[@]}"; do
		find "$1/lib" -path "*/kernel/$module" 2>/dev/null | while read -r file; do
			cp "$file" "$(printf '%s/modules/%02d-%s' "$found" $number "${module##*/}")"
		done
		number=$((number + 1))
	done
	(cd "$found" && find . -mindepth 1 | LC_ALL=C sort | cpio -o -H newc --quiet | gzip -1)
}

whole() { # DIRECTORY
	[[ -f $1/SHA256SUMS ]] && (cd "$1" && sha256sum --quiet --check SHA256SUMS >&2)
}

# get prints the file of a kernel, from the cache where it is whole.
get() { # NAME SUITE
	local release dir
	for release in $(releases "$1" "$2"); do
		dir=$kernels/$release
		if whole "$dir" || unpack "$release" "$dir"; then
			echo "$dir/vmlinuz"
			return 0
		fi
		say "$1: linux-image-$release is listed and cannot be had"
	done
	return 1
}

# series prints the lines of the file that were asked for.
series() {
	local name suite abi set _
	while read -r name suite abi set _; do
		[[ -n $name && $name != '#'* ]] || continue
		for want; do
			if [[ $want == "$name" || $want == "$set" || $want == all ]]; then
				echo "$name $suite $abi"
				break
			fi
		done
	done <"$here/kernels"
}

main() {
	local name suite abi file count=0 seen=' '
	configure
	update
	while read -r name suite abi; do
		if ! file=$(get "$name" "$suite"); then
			say "SKIPPED: $name: no such kernel in $suite any more"
			continue
		fi
		[[ $seen != *" $file "* ]] || continue
		seen+="$file "
		say "$name is $(basename "$(dirname "$file")"), sha256 $(head -c 64 "$(dirname "$file")/SHA256SUMS")"
		echo "$name $abi $file"
		count=$((count + 1))
	done < <(series "$@")
	((count)) || { say "no kernel of: $*"; return 1; }
}

main "$@"
