#!/bin/bash
# Prints the events of one user's tests, as go test -json does, from what a
# machine wrote to its second serial line.
#   events.sh FILE USER
set -euo pipefail
file=$1 user=$2
work=$(mktemp -d /tmp/sandbox-exec-events.XXXXXX)
trap 'rm -rf "$work"' EXIT

# A binary that died left no VM-END, and its part lasts until the next begins.
awk -v user="$user" -v dir="$work" '
	/^VM-BEGIN / { part = $2 == user ? sprintf("%s/%03d", dir, ++n) : ""; if (part) print $3 >(part ".package"); next }
	/^VM-END / { part = ""; next }
	part { print >part }
' "$file"
for package in "$work"/*.package; do
	[[ -e $package ]] || exit 0
	part=${package%.package}
	touch "$part"
	go tool test2json -p "$(<"$package")" <"$part"
done
