# SPDX-License-Identifier: GPL-2.0
# ds: BTS has one owner at a time, and is off before its buffer is unmapped
# shellcheck shell=bash
#
# intel_bts, which can trace the kernel, exists only without page-table isolation. With abort=1, the
# emulator ends if the CPU cannot store a record, as its buffer is not mapped.

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"
# shellcheck source=shared/jump.sh
. "$B/groups/shared/jump.sh"

ds_units() {
	local smp

	for smp in 1 4; do
		ours "unit$smp" smp="$smp" append=kunit.enable=1 abort=1 -- kunit x86_ds
	done
	# If the NMI watchdog uses an event of perf, perf holds references to the Debug Store during
	# the tests.
	ours unit-watchdog smp=2 append="kunit.enable=1 nmi_watchdog=1" -- kunit x86_ds
}

# On the stock kernel, DS_AREA still points to the Debug Store after its buffers are freed.
ds_area() {
	stock area-stock smp=2 pti=off -- area left
	ours area smp=2 pti=off -- area cleared
	ours area-pti smp=4 pti=on -- area cleared
}

# intel_bts must keep its position in the AUX area across NMIs and a reset of the PMU. It must be
# refused if there is no memory for the buffers of BTS. The stock kernel does none of this.
ds_aux() {
	lab_boot aux-snapshot-stock kernel=stock config=base pti=off -- aux snapshot wrong
	lab_boot aux-snapshot kernel=patched config="$CONFIG" pti=off -- aux snapshot right
	stuck_pmu aux-reset-stock kernel=stock config=base -- aux reset wrong
	stuck_pmu aux-reset kernel=patched config="$CONFIG" -- aux reset right
	lab_boot aux-memory-stock kernel=stock config=base pti=off expect=splat append=oops=panic -- \
		aux memory wrong
	console_says aux-memory-stock 'RIP: 0010:bts_event_start'
	lab_boot aux-memory kernel=patched config="$CONFIG" pti=off -- aux memory right
	lab_boot aux-full kernel=patched config="$CONFIG" pti=off expect=splat -- aux full right
	reported_nmi aux-full
}

# reported_nmi CASE: the kernel must have reported an unknown NMI, and nothing else.
reported_nmi() {
	nothing_else "$1" 'Uhhuh. NMI received|Dazed and confused'
	console_says "$1" 'Uhhuh. NMI received'
}

ds_claims() {
	ours exclude smp=2 pti=off -- claims exclude
	ours exclude-pti smp=2 pti=on -- claims exclude
	ours beside smp=4 -- claims beside
	ours recording smp=2 pti=off abort=1 -- claims recording
	ours recording-pti smp=2 pti=on abort=1 -- claims recording
	# The program sends an NMI by the emulator's monitor. No driver may claim this NMI, so the
	# kernel must print 'Uhhuh'.
	ours foreign-nmi smp=1 expect=splat -- claims pmi
	reported_nmi foreign-nmi
}

ds_offline() {
	# The only CPU cannot go offline.
	[[ ,$CONFIG, != *,up,* ]] || return 0
	ours offline smp=2 pti=off abort=1 -- offline perf 10
	ours offline-pti smp=4 pti=on abort=1 -- offline perf 10
	ours offline-claim smp=2 abort=1 -- offline claim 10
}

# suspended CASE STATE HOW KEY=VALUE...: run the program suspend with STATE and HOW.
suspended() {
	ours "$1" smp=2 abort=1 "${@:4}" -- suspend "$2" "$3"
}

ds_suspend() {
	local state

	scratch_disk "$CONFIG"
	for state in freeze mem; do
		suspended "$state" $state aux pti=off
		suspended "$state-pti" $state period1 pti=on
		suspended "$state-claim" $state claim
	done
	suspended disk-claim disk claim "${DISK_KEYS[@]}"
	suspended disk disk aux pti=off "${DISK_KEYS[@]}"
	stock disk-stock smp=2 abort=1 pti=off expect=abort "${DISK_KEYS[@]}" -- suspend disk aux
}

# kexec and a crash start a second kernel, which does not map the buffers: BTS must be off.
ds_jump() {
	local how way

	for way in kexec crash; do
		jump_boot patched "$CONFIG" "$way-claim" -- jump $way claim
		jump_boot stock base "$way-stock" expect=abort -- jump $way aux
		for how in aux period1; do
			jump_boot patched "$CONFIG" "$way-$how" -- jump $way $how
		done
	done
}

group_ds() {
	ds_units
	ds_area
	ds_aux
	ds_claims
	ds_offline
	ds_suspend
	ds_jump
	# vmtest.sh matrix does not run group ring0, which also tests this dump, on the kernel for
	# one CPU.
	has_option SMP || ! has_option HW_BRANCH_RECORDER || recorder_dump
}
