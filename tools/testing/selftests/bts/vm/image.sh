# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh image: make the kit, an image for a USB stick that boots by BIOS and by UEFI. The image
# has one FAT16 partition with a 64-bit and a 32-bit kernel, the initramfs of each, and the state of
# the steps. GRUB for BIOS is before the partition, GRUB for UEFI in the partition. Making the image
# needs neither mount nor root.

IMAGE=
IMAGE_LIMIT=64		# largest size of the image in MiB
IMAGE_CONFIG=mitigations,image,image64
IMAGE_CONFIG_32=32,image
IMAGE_START=2048	# sector of the partition

# Programs that the steps of kit/steps.c need, in addition to btstrace.
IMAGE_PROGRAMS=(questions tracecost flight units requests requests_32 lossless inherit refusals rings
	lifetimes lifetimes_32 signals tracedsteps multithread odd example badjump)
# Programs that the steps run on the 32-bit kernel. There, the kit leaves out a step if its program
# is not in this list.
IMAGE_PROGRAMS_32=(questions tracecost flight units requests refusals rings lifetimes signals
	tracedsteps multithread odd)

# Modules to build into GRUB: for all platforms, and additional ones for each platform
GRUB_MODULES=(normal configfile cpuid part_msdos fat linux search_fs_uuid test echo boot all_video)
declare -A GRUB_MORE=([i386-pc]=biosdisk [i386-efi]="" [x86_64-efi]="")
declare -A GRUB_NAME=([i386-efi]=BOOTIA32.EFI [x86_64-efi]=BOOTX64.EFI)

# image_root FILE LAB: make the initramfs of the 64-bit kernel, with the module LAB. badjump is not
# stripped: btstrace shows its symbols and lines.
image_root() {
	local root=${SCRATCH:?}/image-root

	image_tree "$root" "" "$2" "${IMAGE_PROGRAMS[@]}" || return
	cp "$PROGRAMS/out/guest/badjump" "$root/bt/badjump" &&
		cp "$BTSTRACE/btstrace" "$root/bt/btstrace" || return
	with_libraries "$BTSTRACE/btstrace" | grep -v "^$BTSTRACE/" | sort -u |
		xargs -d '\n' cp -L --parents -t "$root" || return
	image_pack "$root" "$1"
}

# image_root_32 FILE LAB: make the initramfs of the 32-bit kernel.
image_root_32() {
	local root=${SCRATCH:?}/image-root-32

	image_tree "$root" _32 "$2" "${IMAGE_PROGRAMS_32[@]}" && image_pack "$root" "$1"
}

# image_tree DIR SUFFIX LAB PROGRAM...: make the directory of an initramfs, with the module LAB. In
# the bench, the name of each program ends in SUFFIX.
image_tree() {
	local root=$1 bits=$2 lab=$3 name from=$PROGRAMS/out/guest
	shift 3

	rm -rf "$root"
	mkdir -p "$root/bt" "$root/etc" || return
	strip -o "$root/init" "$from/kit$bits" || return
	for name; do
		strip -o "$root/bt/$name" "$from/$name$bits" || return
	done
	strip -g -o "$root/bt/kit_lab.ko" "$lab" || return
	echo 'root:x:0:0:root:/tmp:/bin/sh' >"$root/etc/passwd"
	echo 'nobody:x:65534:65534:nobody:/tmp:/bin/sh' >>"$root/etc/passwd"
}

image_pack() {
	pack "$1" "$SCRATCH/image.cpio" && gzip -9n <"$SCRATCH/image.cpio" >"$2"
}

# grub_image PLATFORM VOLUME FILE: make a GRUB that reads grub.cfg from the file system with the ID
# VOLUME.
grub_image() {
	local platform=$1 volume=$2 more

	read -ra more <<<"${GRUB_MORE[$platform]}"
	cat >"$SCRATCH/early.cfg" <<-END
		search.fs_uuid ${volume:0:4}-${volume:4} root
		set prefix=(\$root)
		normal (\$root)/grub.cfg
	END
	grub-mkimage -O "$platform" -o "$3" -p / -c "$SCRATCH/early.cfg" \
		"${GRUB_MODULES[@]}" "${more[@]}"
}

# image_bios IMAGE VOLUME: write GRUB's boot code to the first 440 bytes of sector 0, which leaves
# the partition table as it is. That code loads the rest of GRUB from sector 1 on.
image_bios() {
	local img=$1 core=$SCRATCH/core.img

	grub_image i386-pc "$2" "$core" || return
	[ "$(stat -c %s "$core")" -le $(((IMAGE_START - 1) * 512)) ] || return
	dd if=/usr/lib/grub/i386-pc/boot.img of="$img" bs=440 count=1 conv=notrunc status=none &&
		dd if="$core" of="$img" bs=512 seek=1 conv=notrunc status=none
}

# image_files IMAGE VOLUME: copy all files to the partition: STATE.TXT, grub.cfg and README.TXT,
# which this function makes; kernel, kernel32, initrd and initrd32 from $SCRATCH; and GRUB for UEFI.
image_files() {
	local img=$1 volume=$2 name platform fat=$1@@$((IMAGE_START * 512))

	sed "s/@VOLUME@/$volume/" "$B/kit/grub.cfg" >"$SCRATCH/grub.cfg"
	sed "s/@VOLUME@/$volume/; s/@VERSION@/$LINUX_VERSION/; s/$/\r/" "$B/kit/README.TXT" \
		>"$SCRATCH/README.TXT"
	head -c 4096 /dev/zero | tr '\0' '\n' >"$SCRATCH/state"
	# The kit overwrites STATE.TXT in place: write it first, so that it is not fragmented.
	mcopy -i "$fat" "$SCRATCH/state" ::/STATE.TXT &&
		mcopy -i "$fat" "$SCRATCH/grub.cfg" ::/grub.cfg || return
	for name in README.TXT kernel kernel32 initrd initrd32; do
		mcopy -i "$fat" "$SCRATCH/$name" "::/$name" || return
	done
	mmd -i "$fat" ::/EFI ::/EFI/BOOT || return
	for platform in "${!GRUB_NAME[@]}"; do
		grub_image "$platform" "$volume" "$SCRATCH/grub.efi" &&
			mcopy -i "$fat" "$SCRATCH/grub.efi" "::/EFI/BOOT/${GRUB_NAME[$platform]}" ||
			return
	done
}

# make_image FILE VOLUME KERNEL LAB KERNEL32 LAB32: make the image. Its partition has about 7 MiB
# free for reports: 8 MiB minus GRUB for UEFI and the FATs.
make_image() {
	local img=$1 volume=$2 sectors

	cp "$3" "$SCRATCH/kernel" && cp "$5" "$SCRATCH/kernel32" &&
		image_root "$SCRATCH/initrd" "$4" && image_root_32 "$SCRATCH/initrd32" "$6" || return
	sectors=$(($(cat "$SCRATCH"/{kernel,kernel32,initrd,initrd32} | wc -c) / 512 + 16384))
	rm -f "$img"
	truncate -s $(((IMAGE_START + sectors) * 512)) "$img" &&
		/usr/sbin/sfdisk -q "$img" <<<"label: dos
			label-id: 0x$volume
			start=$IMAGE_START, type=e, bootable" &&
		/usr/sbin/mkfs.vfat -F 16 -n BTS-CHECK -i "$volume" -h "$IMAGE_START" --offset "$IMAGE_START" \
			"$img" $((sectors / 2)) &&
		image_bios "$img" "$volume" &&
		image_files "$img" "$volume"
}

# need_image: set IMAGE to the file in the cache.
need_image() {
	local key log=$CACHE/log/image parts name

	need_programs
	need_btstrace
	need_lab "$B/kit/lab" kit_lab patched "$IMAGE_CONFIG_32"
	parts=("$KERNEL" "$LAB")
	need_lab "$B/kit/lab" kit_lab patched "$IMAGE_CONFIG"
	parts=("$KERNEL" "$LAB" "${parts[@]}")
	key=$({
		contents "$B/kit" "$B/vm/image.sh" "${parts[@]}" "$BTSTRACE/btstrace"
		for name in kit "${IMAGE_PROGRAMS[@]}"; do
			contents "$PROGRAMS/out/guest/$name"
		done
		for name in kit "${IMAGE_PROGRAMS_32[@]}"; do
			contents "$PROGRAMS/out/guest/${name}_32"
		done
	} | key_of)
	IMAGE=$CACHE/image/bts-check-$key.img
	[ ! -f "$IMAGE" ] || return 0
	mkdir -p "$CACHE/image"
	logged "make the image" "$log" make_image "$SCRATCH/bts-check.img" "${key:0:8}" "${parts[@]}" ||
		die "cannot make the image: $(reason_in "$log"), see $log"
	keep_newest "$CACHE/image" 2
	mv "$SCRATCH/bts-check.img" "$IMAGE"
}

cmd_image() {
	local out=$1 size

	[ -d "$(dirname "$out")" ] || die "no directory $(dirname "$out"): make it, or name another file"
	[ ! -e "$out" ] || [ -f "$out" ] ||
		die "$out is not a file: name a file; the command then prints how to write it to a stick"
	[ -w "$(dirname "$out")" ] || die "cannot write to $(dirname "$out"): name another file"
	default_to_newest
	prepare build image
	need_image
	cp --sparse=always "$IMAGE" "$out" || die "cannot write $out: free some space"
	size=$((($(stat -c %s "$out") + 1048575) / 1048576))
	[ "$size" -le "$IMAGE_LIMIT" ] || die "$out has $size MiB, more than the limit of $IMAGE_LIMIT MiB: reduce what make_image() copies"
	cat <<-END
		$out  $size MiB, Linux $LINUX_VERSION

		Write it to a USB stick, which loses all its files. Copying the file to the stick
		does not do: use any program that writes disk images (on Windows, Rufus in its mode
		DD, or balenaEtcher), or on Linux, as root, these commands. NAME is the stick's
		name, such as sdb, not sdb1. The first command prints it: TRAN is usb, SIZE is that
		of the stick.
		    lsblk -d -o NAME,SIZE,MODEL,TRAN
		    umount /dev/NAME?*      # if the system has mounted the stick
		    dd if='$(realpath "$out")' of=/dev/NAME bs=1M conv=fsync status=progress
		If no line has usb, the stick cannot be seen here: in a virtual machine, copy the
		file to the host, and write it there.
		Then read README.TXT on the stick: how to boot a PC from it, and where to mail the
		report. If the PC has Windows, read it before you change the setting of Secure Boot.
	END
}
