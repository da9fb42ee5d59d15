# SPDX-License-Identifier: GPL-2.0
# fixes (slow): the first patches of the series alone fix bugs that the stock kernel has
# shellcheck shell=bash

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"
# shellcheck source=shared/crashes.sh
. "$B/groups/shared/crashes.sh"
# shellcheck source=shared/jump.sh
. "$B/groups/shared/jump.sh"

# without_memory CASE FLAVOUR REGEX KEY=VALUE... -- aux ARGUMENT...: run aux in a guest. The kernel
# must log splats. Each must be a warning of perf that it gets no memory, or match REGEX.
without_memory() {
	local memory='WARNING: .* (alloc_bts_buffer|reserve_ds_buffers)'

	lab_boot "$1" kernel="$2" config=base pti=off expect=splat "${@:4}"
	nothing_else "$1" "$memory${3:+|$3}"
	came_to_end "$1"
}

fixed_aux() {
	lab_boot aux-snapshot-fixed kernel=fixed config=base pti=off -- aux snapshot right
	stuck_pmu aux-reset-fixed kernel=fixed config=base -- aux reset right
	without_memory aux-memory-fixed fixed "" -- aux memory right
}

# An NMI of unknown origin, while only PEBS has memory: perf in the stock kernel takes it for the
# PMI of BTS, and the kernel does not report it.
fixed_foreign() {
	local pebs=cpu=$CPU,x-pebs=on uhhuh='Uhhuh. NMI received'

	without_memory foreign-stock stock "" "$pebs" -- aux foreign right
	without_memory foreign-fixed fixed "$uhhuh|Dazed and confused" "$pebs" -- aux foreign right
	console_says foreign-fixed "$uhhuh"
}

# On a Pentium 4, kernel 6.12 does not register intel_bts at all.
fixed_absent() {
	local stock=wrong

	[ "$LINUX_VERSION" != 6.12 ] || stock=right
	lab_boot aux-absent-stock kernel=stock config=base pti=off cpu="$PENTIUM4" -- aux absent $stock
	lab_boot aux-absent-fixed kernel=fixed config=base pti=off cpu="$PENTIUM4" -- aux absent right
}

# Test the fix of LBRs that stay off after a #DB. A later patch of the series replaces the code of
# this fix, so no other group tests it.
fixed_branches() {
	local depth

	for depth in 16 32; do
		boot "lbr$depth-fixed" kernel=fixed config=base "$(lbr_cpu "$depth")" -- lbr kept
	done
}

# With pause_on_oops on PREEMPT_RT, oops_enter() of the stock kernel takes a sleeping lock.
fixed_pause() {
	local sleeps='sleeping function called from invalid context at .*kernel/locking/spinlock_rt.c'

	need_lab "$B/guest/labs/crash" bts_crash stock rt
	boot pause-stock kernel=stock config=rt smp=2 before="$LAB" expect=splat append=pause_on_oops=1 -- crash words none
	console_says pause-stock "$sleeps"
	need_lab "$B/guest/labs/crash" bts_crash fixed rt
	boot pause-fixed kernel=fixed config=rt smp=2 before="$LAB" expect=splat append=pause_on_oops=1 -- crash words none
	nothing_else pause-fixed "$CRASH"
}

# Test fixes on the kernel that has only the fixes of the series. Groups ds and debugctl run most of
# these cases on the stock kernel: these runs are not repeated here. The fix of KVM's restore of
# DEBUGCTL is not tested, as the emulated machine has no VMX.
group_fixes() {
	local way

	boot area-fixed kernel=fixed config=base smp=2 pti=off -- area cleared
	fixed_aux
	fixed_absent
	fixed_foreign
	fixed_branches
	lab_boot resume-fixed kernel=fixed config=base smp=2 cpu="$CPU,x-freeze-smm=on" -- resume kept
	for way in kexec crash; do
		jump_boot fixed base "$way-fixed" -- jump $way aux
	done
	scratch_disk base
	boot disk-fixed kernel=fixed config=base smp=2 abort=1 pti=off "${DISK_KEYS[@]}" -- suspend disk aux
	boot pages-stock kernel=stock config=base smp=2 pti=off timeout=300 -- pages 400 lost
	boot pages-fixed kernel=fixed config=base smp=2 pti=off timeout=300 -- pages 60
	fixed_pause
	boot hello-fixed kernel=fixed config=base smp=2 pti=on -- hello 2 on
}
