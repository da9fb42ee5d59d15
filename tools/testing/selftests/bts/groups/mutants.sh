# SPDX-License-Identifier: GPL-2.0
# mutants (slow): each fault planted into the emulated machine is found by its check
# shellcheck shell=bash

group_mutants() {
	local tree

	need_emulator
	[ -n "${QEMU_TREE:-}" ] || die "mutants need a build of their own: unset QEMU_BTS"
	# Use another copy of the source, as the faults are planted into the files.
	tree=$QEMU_TREE/mutants
	if [ ! -e "$tree/ready" ]; then
		rm -rf "$tree"
		mkdir -p "$tree/out"
		unpack_qemu_source "$tree/src"
		: >"$tree/ready"
	fi
	check killed -- env QEMU_L="${QEMU_L[*]}" JOBS="$JOBS" \
		"$B/qemu/mutants/run.sh" "$tree/src" "$tree/out"
}
