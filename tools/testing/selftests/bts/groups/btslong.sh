# SPDX-License-Identifier: GPL-2.0
# btslong (slow): the same as bts at length, and before the oracle
# shellcheck shell=bash

# shellcheck source=bts.sh
. "$B/groups/bts.sh"
# shellcheck source=bench.sh
. "$B/groups/bench.sh"

# Ten millions of a user's records while the kernel is traced, each known.
millions() {
	local rule pti

	for rule in after before either; do
		for pti in on off; do
			traced "millions-$rule-pti-$pti" cpl="$rule" pti="$pti" smp=2 timeout=900 -- \
				itself 1700000 mixed
		done
	done
}

# judged_long user|kernel[-sampled] RECORDS NEED [ARGUMENT...]: judged by what the
# emulator executed. It is silent for long: each instruction is a line of its log.
judged_long() {
	local before=$FAILED whose=${1%-sampled} sampled=() cpu=${WINDOW[-1]}

	[ "$whose" = "$1" ] || sampled=(sampled) cpu+=,x-pmu-counts=on
	traced "judged-$1" "${WINDOW[@]}" "$cpu" timeout=3000 stall=1500 -- \
		judged "$whose" "$2" "${sampled[@]}"
	judge "judged-$1" "branches=$2,$3" equal "${@:4}"
	# Gigabytes; what failed is worth it.
	[ "$FAILED" -gt "$before" ] || rm -f "$CASE_DIR/exec.log"
}

judged() {
	# The ways back from the kernel have lost one side: they are left out.
	judged_long user 1000000 loop,jcc,jmp,call,ret,indirect --user-addresses
	judged_long kernel 1000000 syscall,sysret
}

group_btslong() {
	millions
	judged
	traced contexts-2 smp=2 timeout=1800 stall=900 -- contexts "$(orders)"
	traced contexts-4 smp=4 timeout=1800 stall=900 -- contexts "$(orders)"
	traced cycle-1000 smp=2 timeout=3000 -- cycle 1000
	# by a clock that goes on no faster than the program
	traced forge-1000 "$FAR" smp=2 icount=1 timeout=1500 stall=600 -- forge 1000
}
