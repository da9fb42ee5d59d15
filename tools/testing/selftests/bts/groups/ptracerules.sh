# SPDX-License-Identifier: GPL-2.0
# ptracerules: PTRACE_BTS_*: refusals, permissions, rings, lifetimes, signals, steps and threads
# shellcheck shell=bash

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"

ruled() {
	strict "$1" icount=slow "${@:2}"
}

group_ptracerules() {
	local abi

	for abi in '' _32 _x32; do
		# The largest trace needs 384 MiB: with 400, it must be refused.
		ruled "refusals$abi" mem=400 -- "refusals$abi"
	done
	for abi in '' _32; do
		ruled "rings$abi" pti=on -- "rings$abi"
		ruled "lifetimes$abi" smp=2 with="lifetimes lifetimes_32" -- "lifetimes$abi"
		ruled "permissions$abi" with=hello -- "permissions$abi"
		ruled "steps$abi" smp=2 -- "tracedsteps$abi"
		ruled "signals$abi" smp=2 -- "signals$abi"
		ruled "threads$abi" smp=2 -- "multithread$abi"
	done
	ruled threads-1 -- multithread
	ruled threads-4 smp=4 pti=off -- multithread
}
