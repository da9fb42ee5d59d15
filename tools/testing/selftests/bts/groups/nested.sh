# SPDX-License-Identifier: GPL-2.0
# nested (slow): a KVM guest disturbs neither the block-step of its thread nor the flight recorder
# shellcheck shell=bash
#
# The emulator has AMD's virtualization (SVM) only, so the kernel's code for VMX is not run.

group_nested() {
	local amd=max,vendor=AuthenticAMD,+svm

	lab_boot nested kernel=patched config=kvm cpu="$amd" -- nested kept
	lab_boot nested-stock kernel=stock config=kvm cpu="$amd" -- nested lost
	boot nested-lbr kernel=patched config=kvm smp=2 "$(lbr_cpu amd)" \
		append=spec_rstack_overflow=off -- guestlbr
}
