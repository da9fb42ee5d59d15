# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh image: make the kit, an image for a USB stick that boots by BIOS and by UEFI. The image
# has one FAT16 partition with the kernel, the initramfs, and the state of the steps. GRUB for BIOS
# is before the partition, GRUB for UEFI in the partition. Making the image needs neither mount nor
# root.

IMAGE=
IMAGE_LIMIT=64		# largest size of the image in MiB
IMAGE_CONFIG=mitigations,image
IMAGE_START=2048	# sector of the partition

# Programs that the steps of kit/steps.c run, in addition to btstrace.
IMAGE_PROGRAMS=(questions units requests requests_32 lossless inherit refusals rings
	lifetimes lifetimes_32 signals tracedsteps multithread odd example badjump hello)

# Modules to build into GRUB: for all platforms, and additional ones for each platform
GRUB_MODULES=(normal configfile part_msdos fat linux search_fs_uuid test echo boot all_video)
declare -A GRUB_MORE=([i386-pc]=biosdisk [i386-efi]="" [x86_64-efi]="")
declare -A GRUB_NAME=([i386-efi]=BOOTIA32.EFI [x86_64-efi]=BOOTX64.EFI)

# image_root FILE: make the initramfs. badjump is not stripped: btstrace shows its symbols and
# lines.
image_root() {
	local root=$SCRATCH/image-root name from=$PROGRAMS/out/guest

	rm -rf "$root"
	mkdir -p "$root/bt" "$root/etc" || return
	strip -o "$root/init" "$from/kit" || return
	for name in "${IMAGE_PROGRAMS[@]}"; do
		if [ "$name" = badjump ]; then
			cp "$from/$name" "$root/bt/$name"
		else
			strip -o "$root/bt/$name" "$from/$name"
		fi || return
	done
	strip -g -o "$root/bt/kit_lab.ko" "$LAB" || return
	cp "$BTSTRACE/btstrace" "$root/bt/btstrace" || return
	echo 'root:x:0:0:root:/tmp:/bin/sh' >"$root/etc/passwd"
	echo 'nobody:x:65534:65534:nobody:/tmp:/bin/sh' >>"$root/etc/passwd"
	with_libraries "$BTSTRACE/btstrace" | grep -v "^$BTSTRACE/" | sort -u |
		xargs -d '\n' cp -L --parents -t "$root" || return
	pack "$root" "$SCRATCH/image.cpio" && gzip -9n <"$SCRATCH/image.cpio" >"$1"
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

image_files() {
	local img=$1 volume=$2 bzimage=$3 initrd=$4 platform fat=$1@@$((IMAGE_START * 512))

	sed "s/@VOLUME@/$volume/" "$B/kit/grub.cfg" >"$SCRATCH/grub.cfg"
	head -c 4096 /dev/zero | tr '\0' '\n' >"$SCRATCH/state"
	# The kit overwrites STATE.TXT and grub.cfg in place: write them first, so that they are not
	# fragmented.
	mcopy -i "$fat" "$SCRATCH/state" ::/STATE.TXT &&
		mcopy -i "$fat" "$SCRATCH/grub.cfg" ::/grub.cfg &&
		mcopy -i "$fat" "$bzimage" ::/kernel &&
		mcopy -i "$fat" "$initrd" ::/initrd &&
		mmd -i "$fat" ::/EFI ::/EFI/BOOT || return
	for platform in "${!GRUB_NAME[@]}"; do
		grub_image "$platform" "$volume" "$SCRATCH/grub.efi" &&
			mcopy -i "$fat" "$SCRATCH/grub.efi" "::/EFI/BOOT/${GRUB_NAME[$platform]}" ||
			return
	done
}

# make_image FILE VOLUME BZIMAGE: make the image. Its partition has 8 MiB free for reports.
make_image() {
	local img=$1 volume=$2 bzimage=$3 initrd=$SCRATCH/initrd sectors

	image_root "$initrd" || return
	sectors=$((($(stat -c %s "$bzimage") + $(stat -c %s "$initrd")) / 512 + 16384))
	rm -f "$img"
	truncate -s $(((IMAGE_START + sectors) * 512)) "$img" &&
		/usr/sbin/sfdisk -q "$img" <<<"label: dos
			label-id: 0x$volume
			start=$IMAGE_START, type=e, bootable" &&
		/usr/sbin/mkfs.vfat -F 16 -n BTS-CHECK -i "$volume" -h "$IMAGE_START" --offset "$IMAGE_START" \
			"$img" $((sectors / 2)) &&
		image_bios "$img" "$volume" &&
		image_files "$img" "$volume" "$bzimage" "$initrd"
}

# need_image: set IMAGE to the file in the cache.
need_image() {
	local key log=$CACHE/log/image

	need_packages image
	need_programs
	need_btstrace
	need_lab "$B/kit/lab" kit_lab patched "$IMAGE_CONFIG"
	key=$({
		contents "$B/kit" "$B/vm/image.sh" "$LAB" "$KERNEL" "$BTSTRACE/btstrace"
		for name in kit "${IMAGE_PROGRAMS[@]}"; do
			contents "$PROGRAMS/out/guest/$name"
		done
	} | key_of)
	IMAGE=$CACHE/image/bts-check-$key.img
	[ ! -f "$IMAGE" ] || return 0
	mkdir -p "$CACHE/image"
	logged "make the image" "$log" make_image "$SCRATCH/bts-check.img" "${key:0:8}" "$KERNEL" ||
		die "cannot make the image: $(reason_in "$log"), see $log"
	keep_newest "$CACHE/image" 2
	mv "$SCRATCH/bts-check.img" "$IMAGE"
}

cmd_image() {
	local out=$1 size

	[ -d "$(dirname "$out")" ] || die "no directory $(dirname "$out"): make it, or name another file"
	prepare build
	need_image
	cp --sparse=always "$IMAGE" "$out" || die "cannot write $out: free some space"
	size=$((($(stat -c %s "$out") + 1048575) / 1048576))
	[ "$size" -le "$IMAGE_LIMIT" ] || die "$out has $size MiB, more than the limit of $IMAGE_LIMIT MiB: reduce what make_image() copies"
	cat <<-END
		$out  $size MiB

		Write it to a USB stick, which loses what is on it. Find the stick's name first:
		    lsblk -d -o NAME,SIZE,MODEL,TRAN
		    sudo dd if=$out of=/dev/NAME bs=1M conv=fsync status=progress
		Boot the machine from the stick, with Secure Boot off. The machine's own disks are
		not mounted. The report is REPORT.TXT on the stick, for any system to read.
	END
}
