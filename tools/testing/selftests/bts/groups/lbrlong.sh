# SPDX-License-Identifier: GPL-2.0
# lbrlong (slow): 200 crashes of each of 13 kinds, by last branch records; perf beside the recorder
# shellcheck shell=bash

# shellcheck source=lbr.sh
. "$B/groups/lbr.sh"

group_lbrlong() {
	local CRASH="$CRASH|$LBR_ADDRESSES" i machine STATE WARN_STATE STUCK_STATE

	for machine in 16 8 arch arch-8; do
		perf_around $machine
	done
	kinds_survived 32 20 200
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	# Each of the other crashes needs a guest of its own, which is continued from a state.
	lbr_boot saved 32 before="$LAB" expect=saved -- lastbranch saved
	mv "$CASE_DIR/state" "$SCRATCH/state" || return
	lbr_boot saved-warn 32 before="$LAB" expect=saved append=panic_on_warn=1 -- lastbranch saved
	mv "$CASE_DIR/state" "$SCRATCH/state-warn" || return
	lbr_boot saved-stuck 32 before="$LAB" expect=saved append="$NMI_WATCHDOG" -- lastbranch saved
	mv "$CASE_DIR/state" "$SCRATCH/state-stuck" || return
	STATE=$SCRATCH/state WARN_STATE=$SCRATCH/state-warn STUCK_STATE=$SCRATCH/state-stuck
	for i in {1..200}; do
		ROUND=-$i interrupted 32 20
		ROUND=-$i kinds_fatal 32 20
	done
}
