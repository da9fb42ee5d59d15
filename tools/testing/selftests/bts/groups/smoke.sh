# SPDX-License-Identifier: GPL-2.0
# smoke: the guest boots, on 1, 2 and 4 CPUs, with PTI on and off
# shellcheck shell=bash

# dmesg_has CASE REGEX: a line of the last case's console must match REGEX.
dmesg_has() {
	if grep -Eq "$2" "$CASE_DIR/console"; then
		pass "$1"
	else
		fail "$1" "the kernel did not say '$2'"
	fi
}

group_smoke() {
	local n pti mode

	mode=$(sed -n 's/.*\<preempt=\([a-z]*\).*/\1/p' <<<"$GUEST_WORDS")
	for n in 1 2 4; do
		boot "smp$n" smp="$n" pti=on -- hello "$n" on
		dmesg_has "smp$n.pmu" "Skylake events.* Intel PMU driver"
		[ -z "$mode" ] || dmesg_has "smp$n.preempt" "Dynamic Preempt: $mode"
	done
	boot no-pti smp=2 pti=off -- hello 2 off
	# The kernel isolates page tables by default, as the emulated processor has Meltdown.
	boot pti-default smp=1 pti= -- hello 1 on
}
