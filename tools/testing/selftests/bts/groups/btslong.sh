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

# The ways back from the kernel have lost one side: leave them out.
judge_user() {
	if consult --need "branches=1000,loop,jcc,jmp,call,ret,indirect" --user-addresses &&
	   grep -q equal "$CASE_DIR/oracle"; then
		pass "$1.oracle"
	else
		fail "$1.oracle" "$(tail -n +2 "$CASE_DIR/oracle" | head -n 1) (see $CASE_DIR/oracle)"
	fi
}

# Judged by what the emulator executed.
judged() {
	traced judged-user "${WINDOW[@]}" timeout=900 -- judged user 30000
	judge_user judged-user
	traced judged-kernel "${WINDOW[@]}" timeout=3000 -- judged kernel 1000000
	judge judged-kernel "branches=1000000,syscall,sysret"
}

group_btslong() {
	millions
	judged
	traced contexts-2 smp=2 timeout=1800 stall=900 -- contexts 24
	traced contexts-4 smp=4 timeout=1800 stall=900 -- contexts 24
	traced cycle-1000 smp=2 timeout=3000 -- cycle 1000
	# by a clock that goes on no faster than the program
	traced forge-1000 "$FAR" smp=2 icount=1 timeout=1500 -- forge 1000
}
