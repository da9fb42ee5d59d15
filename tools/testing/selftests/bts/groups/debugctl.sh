# SPDX-License-Identifier: GPL-2.0
# debugctl: each field of DEBUGCTL has at most one owner, and no update of the register is lost
# shellcheck shell=bash

# A processor with FREEZE_IN_SMM. The emulated one lacks it by default.
FREEZE_SMM=cpu=$CPU,x-freeze-smm=on

# Other users of DEBUGCTL must not change where a single-stepped or block-stepped tracee stops.
stepping() {
	lab_boot steps kernel="$FLAVOUR" config="$CONFIG" -- steps
	lab_boot steps32 kernel="$FLAVOUR" config="$CONFIG" -- steps_32
}

# Ways in which the stock kernel loses an update of DEBUGCTL, and the patched kernel does not.
races() {
	lab_boot races kernel=patched config="$CONFIG" -- races kept
	lab_boot races-bts kernel=patched config="$CONFIG" pti=off icount=slow -- races kept bts
	lab_boot races-stock kernel=stock config=base -- races lost
	lab_boot races-bts-stock kernel=stock config=base pti=off -- races lost bts
}

# perf's last branch records: a #DB switches them off, and a PMI freezes them.
last_branches() {
	local depth

	for depth in 16 32; do
		boot "lbr$depth" kernel=patched config="$CONFIG" "$(lbr_cpu "$depth")" -- lbr kept
		boot "lbr$depth-stock" kernel=stock config=base "$(lbr_cpu "$depth")" -- lbr lost
	done
}

# Suspend to RAM, after which DEBUGCTL is reset. Not with KCSAN, whose checks in
# restore_processor_state() need %gs before it is restored.
resume() {
	[ "$CONFIG" = kcsan ] || lab_boot resume kernel=patched config="$CONFIG" smp=2 "$FREEZE_SMM" -- resume kept
	# With a Debug Store, ds_bts_release() may restore DEBUGCTL of the boot CPU, too. Without
	# one, this tests debugctl_resume().
	[ "$CONFIG" = kcsan ] || lab_boot resume-no-ds kernel=patched config="$CONFIG" smp=2 \
		"$FREEZE_SMM,-ds,-dtes64,-ds-cpl" -- resume kept
	lab_boot resume-stock kernel=stock config=base smp=2 "$FREEZE_SMM" -- resume lost
}

# Several writers of DEBUGCTL at once. Also on a processor without FREEZE_IN_SMM: that bit must not
# get into the kernel's copy of the register.
storms() {
	lab_boot storm4 kernel=patched config="$CONFIG" smp=4 "$FREEZE_SMM" -- storm kept 20
	lab_boot storm2 kernel=patched config="$CONFIG" smp=2 -- storm kept 5
	lab_boot storm1 kernel=patched config="$CONFIG" smp=1 "$FREEZE_SMM" -- storm kept 5
	lab_boot storm-stock kernel=stock config=base smp=4 "$FREEZE_SMM" -- storm lost 10
}

group_debugctl() {
	boot stock kernel=stock config=base -- hello 1 on
	boot kunit kernel=patched config="$CONFIG" append=kunit.enable=1 -- kunit debugctl
	boot kunit-no-ds kernel=patched config="$CONFIG" append=kunit.enable=1 \
		cpu="$CPU,-ds,-dtes64,-ds-cpl" -- kunit debugctl
	races
	last_branches
	stepping
	storms
	resume
}
