# SPDX-License-Identifier: GPL-2.0
# silicon: behaviour that manuals do not define or that differs between processors; errata
# shellcheck shell=bash

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"
# shellcheck source=shared/crashes.sh
. "$B/groups/shared/crashes.sh"

# core NAME KEY=VALUE...: run tests of traces that cause PMIs.
core() {
	local name=$1
	shift

	traced "itself-$name" smp=2 icount=slow "$@" -- itself
	# Without icount, a busy host adds timer interrupts, so that the kernel takes more branches.
	traced "itself-out-$name" smp=2 icount=1 "$@" -- itself 0 out 0
	traced "forge-$name" cpu="$CPU,-smap" smp=2 pti=on "$@" -- forge
	strict "lossless-$name" smp=2 "$@" -- lossless 60000 4096
	strict "lossless-small-$name" pti=on "$@" -- lossless 60000 240
}

# core_with RULE...: run core and the program beside with each of these rules.
core_with() {
	local rule

	for rule; do
		core "$rule" silicon="$rule"
		traced "beside-$rule" silicon="$rule" pti=off -- beside
	done
}

# few_pmis NAME KEY=VALUE...: run tests of the Debug Store, of the recorder, and of requests. They
# cause few PMIs, so rules for PMIs make little difference.
few_pmis() {
	local name=$1
	shift

	strict "requests-$name" "$@" -- requests kernel
	ours "claims-$name" smp=2 pti=off abort=1 "$@" -- claims recording
	ours "offline-$name" smp=2 abort=1 "$@" -- offline claim 5
	strict "files-$name" smp=2 "$@" -- files all
	survived "crash-$name" smp=2 "$@" -- crash task 2
}

# A Pentium 4 with a 64-bit kernel. Group small tests it and PENTIUM4_EARLY with 32-bit kernels.
pentium4() {
	core pentium4 cpu="$PENTIUM4"
	few_pmis pentium4 cpu="$PENTIUM4"
	traced beside-pentium4 cpu="$PENTIUM4" pti=off -- beside counters
	strict requests-pentium4-before cpu="$PENTIUM4" cpl=before -- requests kernel
	strict requests-pentium4-either cpu="$PENTIUM4" cpl=either -- requests kernel
	traced itself-pentium4-no-cpl cpu="$PENTIUM4,-ds-cpl" -- itself
	strict flags-pentium4 cpu="$PENTIUM4" -- recordflags predicts
	strict flags-pentium4-32 cpu="$PENTIUM4" -- recordflags_32 predicts
	strict steps-pentium4 cpu="$PENTIUM4" smp=2 icount=slow -- tracedsteps
	strict steps-pentium4-db cpu="$PENTIUM4" silicon=db smp=2 icount=slow -- silicon cleared
	strict late-pentium4 cpu="$PENTIUM4" silicon=late smp=2 -- lossless 60000 4096
	boot unit-pentium4 kernel=patched config="$CONFIG" smp=2 cpu="$PENTIUM4" \
		append=kunit.enable=1 -- kunit debugctl x86_ds bts_ring bts_context branch_freeze
}

# A PMI comes 100 branches late. The record that is stored when this PMI comes is past the
# threshold, too, and requests a second PMI, which may come after the kernel has handled the first.
late_twice() {
	local cpu=$CPU,x-bts-pmi-delay=100

	traced itself-late-each cpu="$cpu" smp=2 icount=1 -- itself
	traced itself-out-late-each cpu="$cpu" smp=2 icount=1 -- itself 0 out 0
}

# The PMI comes after the buffer is full: a record must tell that others are lost.
too_late() {
	local cpu=$CPU,x-bts-pmi=crossed,x-bts-pmi-delay=4000 delay

	strict too-late cpu="$cpu" -- silicon late
	traced itself-too-late cpu="$cpu" -- itself 0 late
	# The reserve of the buffer, 340 records, is enough for this delay.
	strict late-300 cpu="$CPU,x-bts-pmi=crossed,x-bts-pmi-delay=300" smp=2 -- \
		lossless 60000 65536
	for delay in 700 4000; do
		cpu=$CPU,x-bts-pmi=crossed,x-bts-pmi-delay=$delay
		strict "late-$delay" cpu="$cpu" smp=2 -- lossless 60000 65536 0 late
		strict "late-small-$delay" cpu="$cpu" smp=2 pti=on -- lossless 60000 4096 10 late
	done
}

# If #DB clears TR, stepping must not lose branches of user mode, nor returns without a mark.
debug_exceptions() {
	strict steps-db silicon=db smp=2 icount=slow -- silicon cleared
	strict steps-db-before silicon=db cpl=before smp=2 icount=slow -- silicon cleared before
	strict watched-db-before silicon=db cpl=before smp=2 icount=1 -- silicon watched
	strict steps-worst silicon=worst smp=2 icount=slow -- silicon cleared
	strict steps-db-no-filter silicon=db cpu="$CPU,-ds-cpl" smp=2 icount=slow -- \
		silicon cleared
	strict steps-db-nmi silicon=db cpu="$CPU,x-pmu-counts=on" smp=2 icount=slow -- \
		silicon cleared nmi
	ours perf-db silicon=db smp=2 -- trcleared
}

# perf stops its own BTS, and then the PMI comes. With this delay, many stops come before the PMI.
perf_late() {
	ours offline-late cpu="$CPU,x-bts-pmi=crossed,x-bts-pmi-delay=1000" smp=2 pti=off \
		abort=1 -- offline perf 5
}

# perf leaves FREEZE_LBRS_ON_PMI set after its last event with architectural LBRs. In
# the test firmware, the emulated firmware leaves it and FREEZE_PERFMON_ON_PMI set on each CPU.
leftover() {
	strict leftover "$(lbr_cpu arch),x-freeze-clears-tr=on" smp=2 mem=1024 -- \
		silicon leftover
	strict firmware cpu="$CPU,x-debugctl-reset=0x1800" smp=2 -- silicon firmware
}

# perf's counters overflow while BTS records: both cause PMIs by the same interrupt vector.
sampled() {
	local rule

	for rule in "" ,x-bts-pmi=crossed ,x-bts-pmi=equal,x-bts-pmi-kept=on; do
		strict "sampled${rule//[,=]/-}" cpu="$CPU,x-pmu-counts=on$rule" smp=2 mem=1024 -- \
			silicon sampled
	done
	strict together cpu="$CPU,x-pmu-counts=on" smp=2 mem=1024 \
		append="nmi_watchdog=1 sysctl.kernel.watchdog_thresh=1" -- silicon together
	# The NMI of a counter may come before the late PMI of BTS.
	for rule in late jitter; do
		strict "$rule-sampled" silicon="$rule" cpu="$CPU,x-pmu-counts=on" smp=2 icount=1 \
			-- lossless 60000 240 0 sampled 20011
	done
	strict lossless-sampled cpu="$CPU,x-pmu-counts=on" smp=2 icount=1 -- \
		lossless 100000 4096 0 sampled 20011
}

# PMIs of BTS find LVTPC masked by a PMI of a counter. On Penryn, perf unmasks LVTPC before it
# handles the overflow, not after.
masked() {
	local rule

	for rule in once equal late worst; do
		strict "masked-$rule" silicon="$rule" cpu="$CPU,x-pmu-counts=on" smp=2 icount=1 -- \
			silicon masked
	done
	strict masked-kept silicon=kept cpu="$CPU,x-pmu-counts=on" smp=2 icount=1 -- \
		silicon masked kept
	strict masked-early silicon=once cpu=Penryn,x-pmu-counts=on smp=2 icount=1 -- silicon masked
}

# An unknown NMI while the kernel is traced: the kernel must print 'Uhhuh'.
strangers() {
	strict stray smp=2 expect=splat -- silicon stray
	nothing_else stray 'NMI received|Dazed and confused'
	came_to_end stray
	strict stray-lbr "$(lbr_machine 32)" smp=2 append=hw_branches=lbr expect=splat -- \
		silicon stray lbr
	nothing_else stray-lbr 'NMI received|Dazed and confused'
	came_to_end stray-lbr
}

# On models that damage or drop records, each branch must have the flag X86_BTS_F_UNRELIABLE.
damaged() {
	strict smi cpu=Nehalem,x-bts-smi=997 -- recordflags all
	strict stpclk cpu=Nehalem,x-bts-damage=97 -- recordflags all
	strict smi-known cpu=Nehalem,x-bts-smi=997 smp=2 -- silicon damaged
	strict stpclk-known cpu=Nehalem,x-bts-damage=97 smp=2 -- silicon damaged
	strict both-known silicon=equal smp=2 \
		cpu=Nehalem,x-bts-smi=997,x-bts-damage=97,x-bts-seed=1 -- silicon damaged
}

# On models with this erratum, the kernel must not use the filter by CPL.
wrong_from() {
	local cpu=Penryn,x-bts-wrong-from=on

	traced itself-wrong-from cpu="$cpu" smp=2 icount=slow -- itself
	traced forge-wrong-from cpu="$cpu" smp=2 pti=on -- forge
	traced beside-wrong-from cpu="$cpu" pti=off -- beside
	strict requests-wrong-from cpu="$cpu" -- requests kernel
	strict lossless-wrong-from cpu="$cpu" smp=2 -- lossless 60000 4096
	strict steps-wrong-from cpu="$cpu" smp=2 icount=slow -- tracedsteps
}

# All errata, under the rule worst.
core_duo() {
	local keys=(silicon=worst cpu="$CORE_DUO" smp=2)

	strict all-core-duo "${keys[@]}" -- silicon damaged no-filter
	strict flags-core-duo "${keys[@]}" -- recordflags all
	traced forge-core-duo "${keys[@]}" pti=on -- forge
	ours claims-core-duo "${keys[@]}" pti=off abort=1 -- claims recording
	ours offline-core-duo "${keys[@]}" abort=1 -- offline claim 5
	survived crash-core-duo "${keys[@]}" -- crash damaged 10
}

group_silicon() {
	local rule

	# Group siliconlong runs the rules equal, kept, late and freeze. The rule worst includes
	# equal, and jitter includes late. `either` is a rule for the filter by CPL.
	core_with once jitter db worst
	for rule in db worst; do
		few_pmis "$rule" silicon="$rule"
	done
	core either cpl=either
	traced forge-before cpl=before cpu="$CPU,-smap" smp=2 pti=on -- forge
	strict lossless-before cpl=before smp=2 -- lossless 60000 4096 0 poor
	strict lossless-small-before cpl=before pti=on -- lossless 60000 240 0 poor
	pentium4
	late_twice
	sampled
	masked
	too_late
	debug_exceptions
	perf_late
	leftover
	strangers
	damaged
	wrong_from
	core_duo
}
