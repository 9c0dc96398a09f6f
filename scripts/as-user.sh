#!/bin/bash
# Runs a command as an ordinary user (uid and gid 1000) who has nothing of
# root's: no groups, no variables, no directory of root's in PATH. A program in
# a directory that only root can enter would fail with "Permission denied" and
# be taken for a refusal of the sandbox.
#   as-user.sh HOME COMMAND [ARGUMENT...]
set -euo pipefail
home=$1
shift

become=(setpriv --reuid=1000 --regid=1000 --clear-groups)
path=/usr/bin:/bin
goroot=$(go env GOROOT)
if "${become[@]}" test -x "$goroot/bin/go"; then
	path=$goroot/bin:$path
fi
exec "${become[@]}" /usr/bin/env -i HOME="$home" PATH="$path" USER=builder LANG=C.UTF-8 \
	${SANDBOX_REQUIRE:+SANDBOX_REQUIRE="$SANDBOX_REQUIRE"} "$@"
