# SPDX-License-Identifier: GPL-2.0
# ptrace: PTRACE_BTS_*: what a debugger reads of its tracee
# shellcheck shell=bash

# asked CASE [KEY=VALUE...] -- PROG [ARG...]
asked() {
	boot "$1" kernel=patched config="$CONFIG" abort=1 "${@:2}"
}

# Tracers of each ABI.
requests() {
	local rule

	for rule in $RULES; do
		asked "requests-$rule" cpl="$rule" -- requests "$WAYS"
	done
	# Ways into the kernel pass this filter.
	asked requests-either cpl=either -- requests kernel
	asked requests-32 pti=on -- requests_32 "$WAYS"
	asked requests-x32 pti=on smp=2 -- requests_x32 "$WAYS"
	asked requests-nopti pti=off smp=4 -- requests "$WAYS"
}

lossless() {
	asked lossless smp=2 -- lossless 300000 65536
	asked lossless-small pti=on -- lossless 60000 240
	# SIGTRAP, and a signal that cannot be blocked
	asked lossless-trap pti=off cpl="${RULES##* }" -- lossless 60000 4096 5
	asked lossless-stop cpl=either -- lossless 60000 4096 19
}

# What the manuals say of the records of each generation
errata() {
	asked errata-skylake -- errata 0
	asked errata-nehalem cpu=Nehalem -- errata 1
	asked errata-sandybridge cpu=SandyBridge -- errata 1
	asked errata-merom cpu=core2duo -- errata 2
	asked errata-penryn cpu=Penryn -- errata 2
}

lifetime() {
	asked orphans smp=2 -- orphans
	asked ends smp=2 -- ends 1000
	asked inherit smp=2 -- inherit
}

group_ptrace() {
	local RULES='after before' WAYS=kernel

	# KMSAN makes the way out of an NMI so long that the kernel is left out, and
	# user mode, too, where hardware drops the ways back and goes without filter.
	[ "$CONFIG" != kmsan ] || RULES=after WAYS=gap
	requests
	lossless
	errata
	lifetime
}
