# SPDX-License-Identifier: GPL-2.0
# btslong (slow): some tests of group bts at length, and traces that the oracle checks
# shellcheck shell=bash

# shellcheck source=bts.sh
. "$B/groups/bts.sh"
# shellcheck source=shared/oracle.sh
. "$B/groups/shared/oracle.sh"

# Record ten million known branches of user mode, while other traces record the kernel on each CPU.
millions() {
	local rule pti

	for rule in after before either; do
		for pti in on off; do
			traced "millions-$rule-pti-$pti" cpl="$rule" pti="$pti" smp=2 timeout=900 -- \
				itself 1700000 mixed
		done
	done
}

judged() {
	# Leave out entries into the kernel and returns: the trace has no entries, and its returns
	# have no source.
	judged_long user 1000000 loop,jcc,jmp,call,ret,indirect --user-addresses
	judged_long kernel 1000000 syscall,sysret
}

group_btslong() {
	millions
	judged
	traced contexts-2 smp=2 timeout=1800 stall=900 -- contexts "$(orders)"
	traced contexts-4 smp=4 timeout=1800 stall=900 -- contexts "$(orders)"
	traced cycle-1000 smp=2 timeout=3000 -- cycle 1000
	# Use a clock that counts instructions, so that a slow host does not cause more timer
	# interrupts.
	traced forge-1000 "$FAR" smp=2 icount=1 timeout=1500 stall=600 -- forge 1000
}
