# SPDX-License-Identifier: GPL-2.0
# fixes (slow): what the first patches fix is wrong on the stock kernel, and they are enough
# shellcheck shell=bash

# shellcheck source=../debugctl/lab.sh
. "$B/debugctl/lab.sh"
# shellcheck source=ds.sh
. "$B/groups/ds.sh"

# Not here, as the emulated machine has no branch stack, no PEBS and no VMX: LBR after
# a #DB, the NMI that intel_bts claims, and KVM's restore.
group_fixes() {
	local way smm=cpu=$CPU,x-freeze-smm=on

	boot area-stock kernel=stock config=base smp=2 pti=off -- area left
	boot area-fixed kernel=fixed config=base smp=2 pti=off -- area cleared
	lab_boot resume-stock kernel=stock config=base smp=2 "$smm" -- resume lost
	lab_boot resume-fixed kernel=fixed config=base smp=2 "$smm" -- resume kept
	for way in kexec crash; do
		jump_boot stock base "$way-stock" expect=emulator -- jump $way aux
		jump_boot fixed base "$way-fixed" -- jump $way aux
	done
	boot hello-fixed kernel=fixed config=base smp=2 pti=on -- hello 2 on
}
