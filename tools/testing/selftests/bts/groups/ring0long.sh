# SPDX-License-Identifier: GPL-2.0
# ring0long (slow): at least 200 crashes of each of 6 kinds; the oracle checks a crash
# shellcheck shell=bash

# shellcheck source=ring0.sh
. "$B/groups/ring0.sh"

# Save the states of guests that are about to crash.
save_states() {
	local cpus pti

	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	for cpus in 1 2 4; do
		for pti in on off; do
			strict "saved-$cpus-$pti" smp="$cpus" pti="$pti" before="$LAB" expect=saved \
				-- crash saved
			mv "$CASE_DIR/state" "$SCRATCH/state-$cpus-$pti" || return
		done
	done
}

# fatal_200 KIND FUNCTION: crash 200 guests, as each crash is fatal. Continue them from saved
# states, which takes less time than to boot.
fatal_200() {
	local i cpus pti

	for i in {1..200}; do
		cpus=$((1 << i % 3))
		pti=$([ $((i % 2)) = 1 ] && echo off || echo on)
		crashing "$1-$i" smp="$cpus" pti="$pti" state="$SCRATCH/state-$cpus-$pti" \
			qemu="-name continue:die:$1" -- crash saved
		judge_trace "$1-$i" "$2" "$cpus"
	done
}

group_ring0long() {
	need_kernel patched "$CONFIG"
	# To log each instruction that a kernel with KASAN executes takes too long.
	has_option KASAN || ring0_judged
	words ftrace-dump 'before the crash' append=ftrace_dump_on_oops
	survived task-1 smp=1 pti=on timeout=900 -- crash task 200
	survived task-2 smp=2 pti=off timeout=900 -- crash task 200
	survived task-4 smp=4 pti=on timeout=900 -- crash task 200
	survived bug smp=2 timeout=900 -- crash bug 200
	save_states || return
	fatal_200 irq bts_crash_fault
	fatal_200 nmi bts_crash_fault
	fatal_200 double bts_crash_double_fault
	fatal_200 panic bts_crash_panic
}
