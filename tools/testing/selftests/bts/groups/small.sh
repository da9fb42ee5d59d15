# SPDX-License-Identifier: GPL-2.0
# small (slow): kernels for one processor, for 32 bits with either layout, and with FRED
# shellcheck shell=bash

# small_unit CASE CONFIGURATION KEY=VALUE...: the unit tests of the series
small_unit() {
	boot "$1-debugctl" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit debugctl
	boot "$1-ds" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit x86_ds
	boot "$1-bts" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit bts_ring bts_context
}

# What the kernel takes for FRED's entry points holds nothing else: nothing begins in
# the 512 bytes but those two, the way out, and KVM's way in, whose branches stay inside
# the kernel.
fred_symbols() {
	local other

	other=$(nm "$KERNEL_BUILD/vmlinux" | sort | awk '
		{ address[NR] = $1; name[NR] = $3 }
		END {
			for (i = 1; i <= NR; i++)
				if (name[i] == "asm_fred_entrypoint_user")
					first = i
			base = substr(address[first], 14)
			for (i = first; i <= NR && substr(address[i], 1, 13) == substr(address[first], 1, 13); i++)
				if (substr(address[i], 14) < "200" && name[i] !~ /^asm_fred_/)
					print name[i]
			if (base != "000")
				print "asm_fred_entrypoint_user at " base
		}')
	if [ -z "$other" ]; then
		pass fred-symbols
	else
		fail fred-symbols "${other//$'\n'/ } (see $KERNEL_BUILD/System.map)"
	fi
}

group_small() {
	small_unit up "$CONFIG,up" smp=1
	small_unit wide "$CONFIG,32" smp=2
	small_unit narrow "$CONFIG,32" smp=2 cpu="$CPU,-dtes64"
	small_unit fred "$CONFIG,fred" smp=2
	fred_symbols
}
