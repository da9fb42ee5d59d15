# SPDX-License-Identifier: GPL-2.0
# ring0long (slow): 200 crashes of each kind show the fault on top; the oracle checks one of them
# shellcheck shell=bash

# shellcheck source=ring0.sh
. "$B/groups/ring0.sh"

# fatal_200 KIND FUNCTION: crash 200 guests, as each crash is fatal.
fatal_200() {
	local i pti=(on off)

	for i in {1..200}; do
		fatal "$1-$i" "$1" "$2" $((1 << i % 3)) pti="${pti[i % 2]}"
	done
}

group_ring0long() {
	ring0_judged
	words ftrace-dump 'before the crash' append=ftrace_dump_on_oops
	survived task-1 smp=1 pti=on timeout=900 -- crash task 200
	survived task-2 smp=2 pti=off timeout=900 -- crash task 200
	survived task-4 smp=4 pti=on timeout=900 -- crash task 200
	survived bug smp=2 timeout=900 -- crash bug 200
	fatal_200 irq bts_crash_fault
	fatal_200 nmi bts_crash_fault
	fatal_200 double bts_crash_double_fault
	fatal_200 panic bts_crash_panic
}
