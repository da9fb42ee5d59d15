# SPDX-License-Identifier: GPL-2.0
# steplong (slow): no Debug Store: ptracerules, btstrace, fuzzer, races, faults, a 32-bit kernel
# shellcheck shell=bash

# shellcheck source=step.sh
. "$B/groups/step.sh"
# shellcheck source=shared/tool.sh
. "$B/groups/shared/tool.sh"
# shellcheck source=shared/stress.sh
. "$B/groups/shared/stress.sh"

# The programs of group ptracerules.
without_ptracerules() {
	local abi

	for abi in '' _32 _x32; do
		step_plain "check$abi" cpu=qemu64 mem=400 -- "refusals$abi"
	done
	for abi in '' _32; do
		step_plain "ring$abi" cpu=qemu64 -- "rings$abi"
		step_plain "life$abi" cpu=EPYC smp=2 with="lifetimes lifetimes_32" -- "lifetimes$abi"
		step_plain "perm$abi" cpu=qemu64 with=hello -- "permissions$abi"
		step_plain "steps$abi" cpu=Skylake-Client smp=2 -- "tracedsteps$abi"
		step_plain "signal$abi" cpu=qemu64 smp=2 -- "signals$abi"
		step_plain "threads$abi" cpu=EPYC smp=2 -- "multithread$abi"
	done
	step_plain threads-4 cpu=qemu64 smp=4 -- multithread
}

# `toolerrors no-step`, and some tests of group tool that run in guests. Not toolmodes and
# `toolerrors here`, which need the hardware: they also test branches of the kernel, and perf.
without_tool() {
	local less=

	[ "$CONFIG" = base ] || less=less=10
	need_btstrace plain tests
	need_programs
	tool_boot no-source machine=plain cpu=EPYC -- toolerrors no-source
	tool_boot no-step machine=plain cpu=EPYC config="$CONFIG,nostep" -- toolerrors no-step
	tool_boot follow machine=plain cpu=qemu64 smp=2 -- toolfollow $less
	tool_boot hostile machine=plain cpu=EPYC smp=2 -- toolhostile $less
	tool_boot shapes machine=plain cpu=Skylake-Client smp=2 \
		before="$BTSTRACE/btstrace $BTSTRACE/test/record $BENCH_BIN/shapes \
		$BENCH_BIN/stripped $BENCH_BIN/shapes_32" -- toolshapes $less
	tool_boot demo machine=plain cpu=qemu64 with="badjump example" -- demo
}

# A part of group stress, without perf, the recorder and bts_lab, which need the hardware.
without_stress() {
	local part=$((STRESS_SECONDS / 10)) options=$CONFIG kind

	stressed alone "$part" machine=plain cpu=qemu64 -- fuzz -t "$part" -s "$STRESS_SEED" -n 1
	stressed many "$part" machine=plain cpu=EPYC smp=4 mem=512 -- \
		fuzz -t "$part" -s "$STRESS_SEED" -n 8 -x shk
	stressed many_32 "$part" machine=plain cpu=qemu64 smp=2 mem=512 -- \
		fuzz_32 -t "$part" -s "$STRESS_SEED" -n 4
	for kind in exit detach exec fork; do
		stressed "race-$kind" "$part" machine=plain cpu=qemu64 smp=4 mem=512 -- \
			collide "$kind" "$STRESS_SEED" "$STRESS_ROUNDS" "$part"
	done
	need_kernel patched "$CONFIG"
	has_option FAULT_INJECTION_USERCOPY || options+=,deny
	boot faults machine=plain cpu=qemu64 kernel=patched config="$options" smp=2 "$OWNERS" -- faults
}

# A 32-bit kernel.
without_others() {
	local CONFIG=$CONFIG,32

	step_plain invisible-kernel32 cpu=qemu64 smp=2 -- invisible
	step_plain odd-kernel32 cpu=qemu64 smp=2 -- odd
	step_plain requests-kernel32 cpu=qemu64 -- requests kernel
	step_plain ring-kernel32 cpu=qemu64 -- rings
}

group_steplong() {
	without_ptracerules
	without_tool
	without_stress
	without_others
}
