#!/bin/bash
# make test-vm: the tests on real kernels, each in a machine of its own.
#   run.sh default|all|NAME...
#
# VM_JOBS machines at a time, each with its own deadline. What they printed stays
# in .cache/vm/runs. VM_TESTS (packages, comma-separated: integration,keeper) and
# VM_RUN (a pattern for -test.run) narrow what runs in them.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=integration/vm
runs=$PWD/.cache/vm/runs
image=$PWD/.cache/vm/image
jobs=${VM_JOBS:-2}
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false" # git refuses a clone of another user
export VM_DEADLINE=${VM_DEADLINE:-600}
reports=()

[[ $(uname -m) == x86_64 ]] || { echo "vm: the kernels and the image are for x86_64" >&2; exit 1; }

begin=$SECONDS
scripts/deps.sh vm
mapfile -t kernels < <($here/fetch.sh "$@")
((${#kernels[@]})) || exit 1
$here/image.sh "$image"
rm -rf "$runs"
mkdir -p "$runs"

# The default set has to fit into CI: its halves are brief where the file of the
# kernels says so.
set=$*
brief() { # NAME
	if [[ -n ${VM_BRIEF:-} ]]; then
		echo "$VM_BRIEF"
	elif [[ $set == default ]]; then
		awk -v name="$1" '$1 == name {print $5}' $here/kernels
	fi
}

# boot keeps a machine's status beside what it printed, and gives its time.
boot() { # NAME ABI KERNEL
	local start=$SECONDS status=0 dir=$runs/$1
	mkdir -p "$dir"
	basename "$(dirname "$3")" >"$dir/release"
	cp "$(dirname "$3")/package" "$dir/package"
	$here/boot.sh "$3" "$image" "$dir" "vm.abi=$2" "vm.tests=${VM_TESTS:-}" "vm.run=${VM_RUN:-}" "vm.brief=$(brief "$1")" &
	local machine=$!
	trap 'kill "$machine" 2>/dev/null; wait; exit 143' TERM
	wait "$machine" || status=$?
	echo "$status" >"$dir/status"
	echo "$((SECONDS - start))" >"$dir/seconds"
	echo "${VM_TESTS:+VM_TESTS=$VM_TESTS }${VM_RUN:+VM_RUN=$VM_RUN}" >"$dir/selection"
	echo "== vm $1: $(<"$dir/release"): status $status, $(<"$dir/seconds") s"
}

# summarize shows what a machine said about itself, and how it ended where it did
# not say that.
summarize() { # NAME
	local dir=$runs/$1
	echo "== vm $1: $(<"$dir/release")"
	grep -aE '^VM-(REQUIRE|MISSING|ABI|WRONG-ABI|CONTROLLERS|FACTS|NOT-RUN|BRIEF)' "$dir/console" || true
	if [[ $(<"$dir/status") == 125 ]]; then
		echo "vm $1: no end marker (a panic, a hang, or the deadline of $VM_DEADLINE s). Its last lines:"
		tail -n 40 "$dir/console"
	fi
}

# ended is the status of one user's tests: each of the binaries must have ended
# well, and the machine must have said that it is through.
ended() { # DIRECTORY USER
	local bad
	grep -q '^VM-EXIT ' "$1/console" || { echo 125; return; }
	grep -q "^VM-RESULT $2 " "$1/console" || { echo 1; return; }
	bad=$(sed -nE "s/^VM-RESULT $2 [^ ]+ ([0-9]+) .*/\1/p" "$1/console" | grep -vx 0 | head -n 1)
	echo "${bad:-0}"
}

main() {
	# A machine that was told to stop must not run on.
	trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
	for line in "${kernels[@]}"; do
		while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
		# shellcheck disable=SC2086 # three words
		boot $line &
	done
	wait
	for line in "${kernels[@]}"; do
		name=${line%% *}
		summarize "$name"
		for user in root builder; do
			$here/events.sh "$runs/$name/tests" $user >"$runs/$name/$user.json"
			reports+=("vm-$name-$user=$(ended "$runs/$name" $user)=$runs/$name/$user.json")
		done
	done
	printf '%s\n' "${reports[@]}" >"$runs/reports"
	echo "== vm: ${#kernels[@]} kernels in $((SECONDS - begin)) s"
	if [[ -n ${SANDBOX_REPORTS:-} ]]; then
		printf '%s\n' "${reports[@]}" >>"$SANDBOX_REPORTS"
	else
		go build -o "$runs/testreport" ./scripts/testreport
		"$runs/testreport" "${reports[@]}"
	fi
}

# Read as a whole: the file may change while the machines run.
main "$@"
exit
