# SPDX-License-Identifier: GPL-2.0
# bts: traces of tasks and CPUs: each record in the right trace, in order, and once
# shellcheck shell=bash

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"

# In QEMU 7.2, far returns of user mode fault with SMAP.
FAR=cpu=$CPU,-smap

units() {
	local smp

	for smp in 1 2; do
		boot "unit$smp" kernel=patched config="$CONFIG" smp="$smp" \
			append=kunit.enable=1 -- kunit bts_ring bts_context branch_freeze
	done
	# Without an APIC there is no PMI, and the buffer is circular. Not on PREEMPT_RT, where
	# power-off would hang: kernel_power_off() sleeps in pr_flush() when timers do not run any
	# more.
	[ "$CONFIG" = rt ] || boot unit-noapic kernel=patched config="$CONFIG" smp=1 \
		append="kunit.enable=1 nolapic" -- kunit bts_ring
}

known_sequences() {
	local rule own=0

	need_kernel patched "$CONFIG"
	# The checks of KCSAN and KASAN take branches after each PMI. `itself ... out` gets their
	# approximate number.
	! has_option KCSAN && ! has_option KASAN || own=500
	for rule in after before either; do
		traced "itself-$rule" cpl="$rule" "$@" -- itself
	done
	traced itself-pti smp=2 pti=on "$@" -- itself
	traced itself-nopti smp=4 pti=off "$@" -- itself
	# With the host's clock, a busy host has timer ticks in the guest's NMI handler: the ticks take
	# branches, too.
	traced itself-out smp=2 "$@" icount=1 -- itself 0 out "$own"
	traced itself-out-before cpl=before "$@" icount=1 -- itself 0 out "$own"
	traced itself-out-no-cpl cpu="$CPU,-ds-cpl" "$@" icount=1 -- itself 0 out "$own"
	traced segment -- segment
	traced itself-mixed smp=2 "$@" -- itself 200000 mixed
	traced itself-no-cpl cpu="$CPU,-ds-cpl" "$@" -- itself
}

# Print in how many of 24 orders the program contexts ends its contexts. Use one order in all
# configurations but base: with debugging options, the kernel is much slower and the rings are
# larger.
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
	# With debugging options, the ring may be too small for the records of a suspend and resume.
	[ "$CONFIG" != base ] || traced asleep smp=2 -- asleep
	traced beside pti=off -- beside
	traced beside-pti pti=on smp=2 -- beside
	units
}
