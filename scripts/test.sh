#!/bin/bash
# make test: the static checks, then the tests three times: as the caller, with
# the race detector, and, for root, as an ordinary user. Ends with the skips and
# with one line for machines: "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "$0")/.."
read -ra packages <<<"${PKGS:?run this through make}"

export CGO_ENABLED=0 # as the product is built; the race detector alone needs C
# git refuses a clone of another user, and go build with it.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"

work=$(mktemp -d /tmp/sandbox-exec-test.XXXXXX)
chmod 0711 "$work" # the ordinary user passes through to its own directory
trap 'rm -rf "$work"' EXIT
reports=()

# In the background group that timeout makes, ^C would not reach the tests.
bounded=(timeout -k 30)
[[ ! -t 0 ]] || bounded+=(--foreground)

stage() { # NAME COMMAND...
	local name=$1 begin=$SECONDS status=0
	shift
	echo "== $name"
	"$@" || status=$?
	echo "== $name: $((SECONDS - begin)) s"
	return "$status"
}

# tests runs gotestsum with the arguments and keeps its status and events for
# the report, so that one failing run does not hide what the others find.
tests() { # NAME GOTESTSUM-ARGUMENT...
	local name=$1 status=0
	shift
	# shellcheck disable=SC2086 # a command with its arguments
	stage "tests: $name" "${bounded[@]}" 20m $GOTESTSUM --format pkgname --format-hide-empty-pkg \
		--jsonfile "$work/$name.json" "$@" </dev/null || status=$?
	reports+=("$name=$status=$work/$name.json")
}

# for_user turns the caller's list into one for the ordinary user.
for_user() {
	local list=",${1// /},"
	list=${list//,root,/,user,}
	list=${list#,}
	echo "${list%,}"
}

ordinary_user() {
	local staged=$work/user
	mkdir "$staged"
	stage "staging the tests for an ordinary user" scripts/stage-tests.sh "$staged"
	local require
	if [[ -n $asked ]]; then
		require=$(for_user "$asked")
	else
		require=$(SANDBOX_REQUIRE='' scripts/as-user.sh "$staged/home" "$staged/features")
	fi
	echo "required of this machine, ordinary user: $require"
	SANDBOX_REQUIRE=$require tests ordinary-user --raw-command -- scripts/run-staged.sh "$staged"
}

scripts/deps.sh
stage "the README's first command" scripts/readme.sh
stage "static checks" "${MAKE:-make}" --no-print-directory check

# A feature that this machine has is required: a test that does not find it
# fails. A list in the environment wins.
asked=${SANDBOX_REQUIRE:-}
SANDBOX_REQUIRE=${asked:-$(go run ./internal/kerneltest/features)}
export SANDBOX_REQUIRE
echo "required of this machine, $(id -un): $SANDBOX_REQUIRE"

# One package after the other: a start sweeps the control groups that a dead caller
# left, which another package's test may be looking at.
tests caller -- -count=1 -p 1 -timeout 10m "${packages[@]}"

# The generator is a module of its own, so that nothing else needs C.
tests generator --raw-command -- env CGO_ENABLED=1 go test -C confine/seccomp/compile -json -count=1 -timeout 10m ./...

# Whole commands are not run again under the race detector: each starts many
# processes, and their packages have tests of their own. The detector sleeps a
# second at the end of each process unless told otherwise.
mapfile -t raced < <(go list "${packages[@]}" | grep -vE '/(integration|cmd)(/|$)')
if ((${#raced[@]})); then
	tests race --raw-command -- env CGO_ENABLED=1 GORACE=atexit_sleep_ms=10 \
		go test -json -race -count=1 -timeout 10m "${raced[@]}"
else
	echo "not run: the race detector (PKGS has no package for it)"
fi

if [[ $(id -u) == 0 ]]; then
	ordinary_user
else
	echo "not run: the root half (run make test as root)"
fi
# A caller that sums up more than this half does it itself.
if [[ -n ${SANDBOX_REPORTS:-} ]]; then
	for report in "${reports[@]}"; do
		name=${report%%=*}
		cp "$work/$name.json" "${SANDBOX_REPORTS%/*}/$name.json"
		echo "${report%=*}=${SANDBOX_REPORTS%/*}/$name.json" >>"$SANDBOX_REPORTS"
	done
	exit
fi
# Built, not run by go: the counts are the last line of the output.
go build -o "$work/testreport" ./scripts/testreport
"$work/testreport" "${reports[@]}"
