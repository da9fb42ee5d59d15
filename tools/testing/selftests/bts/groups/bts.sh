# SPDX-License-Identifier: GPL-2.0
# bts: traces of tasks and CPUs: each record where it belongs, in order, once
# shellcheck shell=bash

# shellcheck source=../vm/lab.sh
. "$B/vm/lab.sh"

# QEMU 7.2 with SMAP faults on user mode's own far returns.
FAR=cpu=$CPU,-smap

# traced CASE KEY=VALUE... -- PROG [ARG...]: with the laboratory's module, whose
# path goes before the first ARG.
traced() {
	need_lab "$B/layer/lab" bts_lab patched "$CONFIG"
	boot "$1" kernel=patched config="$CONFIG" before="$LAB" mem=1024 abort=1 "${@:2}"
}

units() {
	local smp

	for smp in 1 2; do
		boot "unit$smp" kernel=patched config="$CONFIG" smp="$smp" \
			append=kunit.enable=1 -- kunit bts_ring bts_context
	done
	# No APIC: circular, drained at the switch. PREEMPT_RT never gets through the
	# power-off then: kernel_power_off() sleeps in pr_flush() after the last timer.
	[ "$CONFIG" = rt ] || boot unit-noapic kernel=patched config="$CONFIG" smp=1 \
		append="kunit.enable=1 nolapic" -- kunit bts_ring
}

known_sequences() {
	local rule own=0

	need_kernel patched "$CONFIG"
	# of up to 500 that KCSAN's checks make each time; KASAN's are hundreds, too
	! has_option KCSAN && ! has_option KASAN || own=500
	for rule in after before either; do
		traced "itself-$rule" cpl="$rule" "$@" -- itself
	done
	traced itself-pti smp=2 pti=on "$@" -- itself
	traced itself-nopti smp=4 pti=off "$@" -- itself
	traced itself-out smp=2 "$@" -- itself 0 out "$own"
	traced itself-out-before cpl=before "$@" -- itself 0 out "$own"
	traced itself-out-no-cpl cpu="$CPU,-ds-cpl" "$@" -- itself 0 out "$own"
	traced segment -- segment
	traced itself-mixed smp=2 "$@" -- itself 200000 mixed
	traced itself-no-cpl cpu="$CPU,-ds-cpl" "$@" -- itself
}

# In how many of 24 orders contexts go: a kernel that checks itself is slower by
# far, and its rings are larger.
orders() {
	[ "$CONFIG" = base ] && echo 24 || echo 1
}

group_bts() {
	known_sequences icount=slow
	traced contexts-1 smp=1 timeout=900 stall=400 icount=slow -- contexts "$(orders)"
	traced life smp=2 -- life
	traced life-4 smp=4 -- life
	traced forge "$FAR" smp=2 pti=on -- forge
	traced forge-nopti "$FAR" smp=1 pti=off -- forge
	traced freeze smp=2 icount=slow -- freeze
	! has_option SMP || traced cycle smp=2 -- cycle 20
	# The whole way to sleep and back of a kernel that checks itself fits in no ring.
	[ "$CONFIG" != base ] || traced asleep smp=2 -- asleep
	traced beside pti=off -- beside
	traced beside-pti pti=on smp=2 -- beside
	units
}
