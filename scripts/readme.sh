#!/bin/bash
# Runs the README's first command exactly as it is printed, in a copy of the
# tree and with a home directory of its own, and compares its output with the
# README's. The second command is the one that runs this.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d /tmp/sandbox-exec-readme.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -m 0700 "$work/home" "$work/tree"
tar --exclude=.git --exclude=./bin --exclude=./.cache -cf - . | tar -xf - -C "$work/tree"

block=$(sed -n '/^```console$/,/^```$/{//!p}' README.md | sed '/^\$ make test$/d')
command=$(sed -n 's/^\$ //p;q' <<<"$block")
want=$(sed "1d; s|/home/you/|$work/home/|" <<<"$block")
[[ $command == 'go run '* ]] || { echo "README.md: no command to run" >&2; exit 1; }

# The caches stay where they are: only the home directory changes.
GOMODCACHE=$(go env GOMODCACHE) GOCACHE=$(go env GOCACHE)
export GOMODCACHE GOCACHE
go mod download # a first build says what it downloads

# With and without cgo: where a C compiler is installed, go links the binary
# dynamically, and it must hold all the same.
for cgo in 0 1; do
	rm -f "$work/tree/allowed"
	status=0
	got=$(cd "$work/tree" && CGO_ENABLED=$cgo HOME=$work/home bash -c "$command" 2>&1 </dev/null) || status=$?
	if ! diff <(echo "$want") <(echo "$got"); then
		echo "README.md: with CGO_ENABLED=$cgo the command printed something else" >&2
		exit 1
	fi
	[[ $status == 1 && $(<"$work/tree/allowed") == ok && ! -e $work/home/refused ]] || {
		echo "README.md: with CGO_ENABLED=$cgo exit status $status, and wanted 1, with the file allowed and without refused" >&2
		exit 1
	}
done
echo "README.md: the command does what is printed, built with and without cgo"
