# SPDX-License-Identifier: GPL-2.0
# ptracewide: PTRACE_BTS_*: every refusal, every old bug, single-stepping, and permissions
# shellcheck shell=bash

wide() {
	boot "$1" kernel=patched config="$CONFIG" abort=1 icount=slow "${@:2}"
}

group_ptracewide() {
	local abi

	for abi in '' _32 _x32; do
		# less than the largest trace needs
		wide "check$abi" mem=400 -- "wide_check$abi"
	done
	for abi in '' _32; do
		wide "ring$abi" pti=on -- "wide_ring$abi"
		wide "life$abi" smp=2 with="wide_life wide_life_32" -- "wide_life$abi"
		wide "perm$abi" with=hello -- "wide_perm$abi"
		wide "steps$abi" smp=2 -- "wide_steps$abi"
		wide "signal$abi" smp=2 -- "wide_signal$abi"
		wide "threads$abi" smp=2 -- "wide_threads$abi"
	done
	wide threads-1 -- wide_threads
	wide threads-4 smp=4 pti=off -- wide_threads
}
