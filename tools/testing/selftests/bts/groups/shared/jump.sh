# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Boots with disks: for hibernation, and for kexec into a second kernel.

RAW_DISK=if=ide,format=raw,snapshot=on

# scratch_disk CONFIGURATION: make a disk for the image of hibernation, and set DISK_KEYS to the
# keys of boot for it.
scratch_disk() {
	local mem=192 size=512

	# A kernel with debugging options needs more memory. Hibernation needs half of all memory to
	# be free.
	[ "$1" = base ] || mem=768 size=1536
	DISK=$SCRATCH/disk
	truncate -s ${size}M "$DISK" || die "no room for a disk of $size MiB in $SCRATCH"
	DISK_KEYS=("mem=$mem" qemu="-drive file=$DISK,if=ide,format=raw,cache=unsafe" append=resume=/dev/sda)
}

# jump_boot FLAVOUR CONFIG CASE [KEY=VALUE...] -- jump ARGUMENT...: boot with the case's kernel and
# initramfs on two disks, from which kexec loads them.
jump_boot() {
	need_kernel "$1" "$2"
	need_programs
	initrd_of jump hw-branches
	boot "$3" kernel="$1" config="$2" smp=2 abort=1 pti=off mem=768 with=hw-branches append=crashkernel=256M \
		qemu="-drive file=$KERNEL,$RAW_DISK -drive file=$INITRD,$RAW_DISK" "${@:4}"
}

# The crash dump must have the recorder's buffers, and BTS must be off in the second kernel.
recorder_dump() {
	jump_boot patched "$CONFIG" kdump -- jump crash recorder
}
