#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run hw-branches, or with `script` hw_branches.py, on a damaged dump: it must print what is intact,
# and report the damage. For dumps in a format of makedumpfile, hw-branches must say how to read
# them.
#
#   damaged.sh REPOSITORY [script]

here=$(dirname "$0")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
kernel=$1/kernel/trace arch=$1/arch/x86/kernel
reader=$1/tools/tracing/hw-branches
cc -I"$kernel" -I"$arch" -o "$work/hw-branches" "$reader/hw-branches.c" "$reader/dump.c" \
	"$kernel/trace_hw_branches_calls.c" "$kernel/trace_hw_branches_fold.c" "$arch/hw_branches_kind.c" &&
	cc -o "$work/damaged" "$here/damaged.c" && "$work/damaged" "$work/dump" || exit 2

# expect NAME COMMAND...: report the test NAME, which passes if COMMAND succeeds.
nr=0
expect() {
	nr=$((nr + 1))
	if "${@:2}"; then
		echo "ok $nr $1"
	else
		echo "not ok $nr $1"
	fi
}

says() { grep -q "$1" "$work/out"; }

run=("$work/hw-branches" -p)
[ "${2:-}" != script ] || run=(/usr/bin/python3 "$reader/hw_branches.py")

echo "TAP version 13"
"${run[@]}" "$work/dump" >"$work/out" 2>&1
status=$?
sed 's/^/# /' "$work/out"
expect "a Debug Store that was overwritten" says "CPU 0: its .*Debug Store was overwritten"
expect "a buffer that is not there" \
	says 'CPU 1: its branches \(are not in the dump\|cannot be read\)'
expect "the CPU with no last branch records" says "CPU 2: whether it has last branch records"
expect "its buffer" says "2 *0xffffffff81000200 <- 0xffffffff82000110"
expect "last branch records" says "3 *0xffffffff81000400 <- 0xffffffff81000310"
expect "their source" says "CPU 3, .* source lbr:"
expect "the source of the buffer" says "CPU 2, .* source bts:"
expect "last branch records that were overwritten" says "CPU 4: its .*last branch records were"
expect "a buffer of others" [ "$(grep -c '^ *5 \|CPU 5' "$work/out")" = 0 ]
expect "a CPU whose memory is not there" \
	says 'CPU 6: \(the address of \)\?its branches \(is not in the dump\|cannot be read\)'
expect "a CPU whose memory is not found" \
	says 'CPU 7: \(the offset of its memory is not in\|its branches cannot be read\)'
expect "status 1" [ "$status" = 1 ]
"${run[@]}" "$work/dump" 2>"$work/out" >/dev/full
expect "no room for the output" says "output: .*No space left on device"
sed 's/NUMBER(nr_cpu_ids)=8/NUMBER(nr_cpu_ids)=z/' "$work/dump" >"$work/overwritten"
"${run[@]}" "$work/overwritten" >"$work/out" 2>&1
expect "a number that was overwritten" \
	says "VMCOREINFO was overwritten: NUMBER(nr_cpu_ids) has no number"
sed 's/NUMBER(hw_branches_unreliable)=0/NUMBER(hw_branches_unreliable)=1/' "$work/dump" \
	>"$work/unreliable"
"${run[@]}" "$work/unreliable" >"$work/out" 2>&1
expect "an unreliable source" says "CPU 2, .* source bts (unreliable):"
expect "another source is not" says "CPU 3, .* source lbr:"
if [ "${2:-}" = script ]; then
	echo "1..$nr"
	exit
fi
# A kernel without a mitigation may still have the symbol of the mitigation's thunk, at any address.
cat >"$work/map" <<-END
	ffffffff81000000 T _text
	ffffffff81ffff00 t srso_alias_return_thunk
	ffffffff81ffff10 t __x86_return_thunk
END
"$work/hw-branches" -m "$work/map" "$work/dump" >"$work/out" 2>&1
sed 's/^/# /' "$work/out"
expect "folded: a branch that is in no thunk" says "2 *_text+0x300 <- _text+0x210"
expect "folded: an entry from user mode" says "2 *_text+0x100 <- user mode"
# compressed START: run hw-branches on a file that begins with START, like a format of makedumpfile.
compressed() {
	printf '%s' "$1" >"$work/kdump"
	head -c 100 /dev/zero >>"$work/kdump"
	"$work/hw-branches" "$work/kdump" >"$work/out" 2>&1
}
compressed 'KDUMP   '
expect "a compressed dump: why" says "compressed by makedumpfile"
expect "a compressed dump: what reads it" says "hw_branches.py .*/kdump"
expect "a compressed dump: how to write another" says "makedumpfile -E"
compressed makedumpfile
expect "a dump from a pipe" says "makedumpfile -R COPY < .*/kdump"
echo "1..$nr"
