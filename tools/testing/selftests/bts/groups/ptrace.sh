# SPDX-License-Identifier: GPL-2.0
# ptrace: PTRACE_BTS_*: what a debugger can read about its tracee
# shellcheck shell=bash

# asked CASE [KEY=VALUE...] -- PROG [ARG...]: boot the kernel with the series. The emulator ends if
# the CPU cannot store a record.
asked() {
	boot "$1" kernel=patched config="$CONFIG" abort=1 "${@:2}"
}

# Run tracers of each ABI.
requests() {
	local rule

	for rule in $RULES; do
		asked "requests-$rule" cpl="$rule" -- requests "$WAYS"
	done
	# With the rule either, the filter also lets entries to the kernel pass.
	asked requests-either cpl=either -- requests kernel
	asked requests-32 pti=on -- requests_32 "$WAYS"
	asked requests-x32 pti=on smp=2 -- requests_x32 "$WAYS"
	asked requests-nopti pti=off smp=4 -- requests "$WAYS"
}

lossless() {
	asked lossless smp=2 -- lossless 300000 65536
	asked lossless-small pti=on -- lossless 60000 240
	# With SIGTRAP, and with a signal that cannot be blocked
	asked lossless-trap pti=off cpl="${RULES##* }" -- lossless 60000 4096 5
	asked lossless-stop cpl=either -- lossless 60000 4096 19
	asked lossless-suspended smp=2 -- lossless 60000 4096 0 suspended
}

# Records must have the flags that the manuals document for each generation.
record_flags() {
	asked flags-skylake -- recordflags none
	asked flags-nehalem cpu=Nehalem -- recordflags all
	asked flags-sandybridge cpu=SandyBridge -- recordflags all
	asked flags-merom cpu=core2duo -- recordflags none
	asked flags-penryn cpu=Penryn -- recordflags none
	asked flags-predicts cpu="$CPU,x-bts-predicts=on" -- recordflags predicts
	asked flags-predicts-32 cpu="$CPU,x-bts-predicts=on" -- recordflags_32 predicts
}

lifetime() {
	local few=20

	# The limit of interrupts in `holders`, which has 1,000 rounds. A slow kernel with debugging
	# options gets more interrupts for other reasons, but fewer than one in each round.
	[ "$CONFIG" = base ] || few=500
	asked orphans smp=2 -- orphans
	asked giveway smp=2 pti=off -- giveway
	! has_option SMP || asked sibling smp=2 -- sibling
	asked exclude smp=2 "$(lbr_cpu 32)" -- exclude
	asked holders smp=2 pti=off -- holders "$few"
	asked ends smp=2 -- ends 1000
	asked inherit smp=2 -- inherit
}

group_ptrace() {
	local RULES='after before' WAYS=kernel

	# With KMSAN, the kernel takes so many branches after each PMI that it stops recording the
	# kernel. With the rule 'before', it does not use the filter, which would drop returns from
	# the kernel. Then it stops recording user mode as well: leave out that rule.
	[ "$CONFIG" != kmsan ] || RULES=after WAYS=gap
	requests
	lossless
	record_flags
	lifetime
}
