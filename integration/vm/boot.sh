#!/bin/bash
# Boots one kernel with the image and waits for its end. The first serial line
# becomes DIRECTORY/console, the second DIRECTORY/tests. The status is the
# machine's own; 125 where it did not say one: a panic, a hang, a deadline.
#   boot.sh KERNEL IMAGE DIRECTORY [WORD FOR THE KERNEL'S COMMAND LINE...]
#
# Emulation is the default: /dev/kvm can answer on machines where no guest boots.
set -euo pipefail
kernel=$1 image=$2 dir=$3
shift 3

case ${VM_ACCEL:-tcg} in
tcg) accel=(-accel "tcg,thread=multi" -cpu max) ;;
kvm) accel=(-accel kvm -cpu host) ;;
*) echo "VM_ACCEL=$VM_ACCEL: want tcg or kvm" >&2; exit 2 ;;
esac

mkdir -p "$dir"
: >"$dir/tests"
: >"$dir/console.raw"
# The kernel unpacks archives that follow one another into one tree.
cat "$image" "$(dirname "$kernel")/modules" >"$dir/initrd"
trap 'rm -f "$dir/initrd" "$dir/console.raw"' EXIT
nice -n "${VM_NICE:-0}" timeout -k 10 "${VM_DEADLINE:-600}" qemu-system-x86_64 "${accel[@]}" \
	-smp "${VM_CPUS:-2}" -m "${VM_MEMORY:-2048}" -nodefaults -no-user-config -display none -no-reboot \
	-serial "file:$dir/console.raw" -serial "file:$dir/tests" -kernel "$kernel" -initrd "$dir/initrd" \
	-append "console=ttyS0 panic=-1 no_timer_check quiet loglevel=4 mitigations=off $*" </dev/null >"$dir/qemu" 2>&1 &
machine=$!
trap 'kill $machine 2>/dev/null; exit 143' TERM INT
ended=0
wait $machine || ended=$?
tr -d '\r' <"$dir/console.raw" >"$dir/console"
if ((ended)); then
	echo "boot: qemu ended with status $ended (124 is the deadline)" >>"$dir/console"
	cat "$dir/qemu" >>"$dir/console"
fi
marker=$(sed -n 's/^VM-EXIT //p' "$dir/console" | tail -n 1)
exit "${marker:-125}"
