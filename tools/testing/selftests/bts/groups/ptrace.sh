# SPDX-License-Identifier: GPL-2.0
# ptrace: PTRACE_BTS_*: requests, traces without loss, flags of records, and lifetimes
# shellcheck shell=bash

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"

# Run tracers of each ABI.
requests() {
	local rule

	for rule in $RULES; do
		strict "requests-$rule" cpl="$rule" -- requests "$WAYS"
	done
	# With the rule either, the filter lets entries to the kernel pass. So a trace has them even
	# if the kernel stops recording its own branches (WAYS=gap).
	strict requests-either cpl=either -- requests kernel
	strict requests-32 pti=on -- requests_32 "$WAYS"
	strict requests-x32 pti=on smp=2 -- requests_x32 "$WAYS"
	strict requests-nopti pti=off smp=4 -- requests "$WAYS"
}

lossless() {
	strict lossless smp=2 -- lossless 300000 65536
	strict lossless-small pti=on -- lossless 60000 240
	# The tracee stops by SIGTRAP (5), and by SIGSTOP (19), which cannot be blocked.
	strict lossless-trap pti=off cpl="${RULES##* }" -- lossless 60000 4096 5
	strict lossless-stop cpl=either -- lossless 60000 4096 19
	strict lossless-suspended smp=2 -- lossless 60000 4096 0 suspended
}

# On models that the kernel's list of errata marks BTS_DS_UNRELIABLE, records of branches must have
# X86_BTS_F_UNRELIABLE. If the processor reports a wrong prediction, the record must have
# X86_BTS_F_MISPREDICTED.
record_flags() {
	strict flags-skylake -- recordflags none
	strict flags-nehalem cpu=Nehalem -- recordflags all
	strict flags-sandybridge cpu=SandyBridge -- recordflags all
	strict flags-ivybridge cpu=IvyBridge -- recordflags all
	strict flags-ivybridge-ep cpu=IvyBridge,model=62 -- recordflags none
	strict flags-merom cpu=core2duo -- recordflags none
	strict flags-penryn cpu=Penryn -- recordflags none
	strict flags-predicts cpu="$CPU,x-bts-predicts=on" -- recordflags predicts
	strict flags-predicts-32 cpu="$CPU,x-bts-predicts=on" -- recordflags_32 predicts
}

lifetime() {
	local few=20

	# The limit of function call interrupts of CPU 1 in `holders`. If starting and ending traces
	# caused them, there would be 1,000 or more. A kernel with debugging options is slow, so
	# more come for other reasons.
	[ "$CONFIG" = base ] || few=500
	strict orphans smp=2 -- orphans
	strict giveway smp=2 pti=off -- giveway
	! has_option SMP || strict sibling smp=2 -- sibling
	strict exclude smp=2 "$(lbr_cpu 32)" -- exclude
	strict holders smp=2 pti=off -- holders "$few"
	strict ends smp=2 -- ends 1000
	strict inherit smp=2 -- inherit
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
