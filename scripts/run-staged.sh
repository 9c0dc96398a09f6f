#!/bin/bash
# Runs every staged test as the ordinary user, in its package's directory, and
# prints the events of go test -json. Fails if one failed.
#   run-staged.sh DIRECTORY
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
stage=$1

status=0
while read -r package dir; do
	cd "$dir"
	timeout -k 10 11m go tool test2json -t -p "$package" \
		"$scripts/as-user.sh" "$stage/home" ./staged.test -test.v=test2json -test.timeout=10m </dev/null ||
		status=1
done <"$stage/packages"
exit $status
