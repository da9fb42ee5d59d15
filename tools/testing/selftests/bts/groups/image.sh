# SPDX-License-Identifier: GPL-2.0
# image (slow): the image of vmtest.sh image boots by BIOS and UEFI, and detects each SILICON rule
# shellcheck shell=bash
#
# The kit is the program that runs in the image (kit/). The stick is a copy of the image, as a USB
# stick or a disk. IMAGE_PARTS selects some of the parts of this group.

KIT_STALL=120		# seconds for which a boot may be silent

# Print the FAT partition of the stick, as mtools want it.
kit_fat() {
	echo "$CASE_DIR/stick.img@@$((IMAGE_START * 512))"
}

# kit_stick CASE [WORDS]: make a fresh stick, with WORDS added to the kernel command line.
kit_stick() {
	local words="no_timer_check tsc=reliable $2"

	new_case "$1"
	need_image
	cp --sparse=always "$IMAGE" "$CASE_DIR/stick.img" || die "cannot write $CASE_DIR: free some space"
	echo "set more=\"$words\"" >"$CASE_DIR/more.cfg"
	mcopy -o -i "$(kit_fat)" "$CASE_DIR/more.cfg" ::/more.cfg
}

# kit_plain FIRMWARE CPU: set KIT to Debian's emulator, with the stick on USB.
kit_plain() {
	need_plain_emulator
	KIT=("$PLAIN_QEMU" -cpu "$(plain_cpu_argument "$2")" -vga std
		-device qemu-xhci,id=xhci
		-drive "if=none,id=stick,format=raw,file=$CASE_DIR/stick.img"
		-device usb-storage,bus=xhci.0,drive=stick,bootindex=0)
	# With BIOS, connect the keyboard to an old USB controller (OHCI).
	if [ "$1" = bios ]; then
		KIT+=(-device pci-ohci,id=ohci -device usb-kbd,bus=ohci.0)
	else
		KIT+=(-device usb-kbd,bus=xhci.0)
	fi
	[ "$1" = bios ] || {
		need_packages uefi
		cp /usr/share/OVMF/OVMF_VARS_4M.fd "$CASE_DIR/vars.fd"
		KIT+=(-drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd
			-drive "if=pflash,format=raw,file=$CASE_DIR/vars.fd")
	}
}

# kit_store CPU CPL-RULE SILICON: set KIT to the patched emulator, with the stick as a disk.
kit_store() {
	need_emulator
	KIT=("$QEMU" "${QEMU_L[@]}" -cpu "$(cpu_argument "$1" "$2" on "$3")"
		-drive "if=ide,format=raw,file=$CASE_DIR/stick.img")
}

# Add a disk with a file system, to which the kit must not write.
kit_disk() {
	local disk=$CASE_DIR/disk.img

	truncate -s 34M "$disk" && /usr/sbin/mkfs.vfat -F 16 -n BTS-CHECK "$disk" >/dev/null ||
		die "cannot write $disk: free some space"
	cp --sparse=always "$disk" "$disk.before"
	KIT+=(-drive "if=ide,format=raw,file=$disk")
}

kit_disk_kept() {
	if cmp -s "$CASE_DIR/disk.img" "$CASE_DIR/disk.img.before"; then
		pass "$1.disk"
	else
		fail "$1.disk" "the disk of the machine was written (see $CASE_DIR)"
	fi
	rm -f "$CASE_DIR"/disk.img*
}

kit_start() {
	: >"$CASE_DIR/console"
	rm -f "$CASE_DIR"/monitor.*
	mkfifo "$CASE_DIR/monitor.in" "$CASE_DIR/monitor.out"
	"${KIT[@]}" -no-user-config -nodefaults -display none -machine pc \
		-accel tcg,thread=single -m 512 -smp 2 -serial "file:$CASE_DIR/console" \
		-chardev "pipe,id=monitor,path=$CASE_DIR/monitor" -mon chardev=monitor,mode=readline \
		</dev/null >"$CASE_DIR/emulator" 2>&1 8>&- 9>&- &
	SHELL_PID=$!
	# Read what the monitor prints, so that the pipe does not become full.
	cat "$CASE_DIR/monitor.out" >/dev/null 8>&- 9>&- &
}

kit_monitor() {
	[ -n "$SHELL_PID" ] && kill -0 "$SHELL_PID" 2>/dev/null || return
	echo "$1" >"$CASE_DIR/monitor.in"
}

# kit_says TEXT: wait until TEXT is on the console, the emulator has ended, or the console is silent
# for KIT_STALL seconds. Return 1 if TEXT is not on the console.
kit_says() {
	local i size was=0

	for ((i = 0; i < 10 * KIT_STALL; i++)); do
		! grep -qF -- "$1" "$CASE_DIR/console" || return 0
		[ -n "$SHELL_PID" ] && kill -0 "$SHELL_PID" 2>/dev/null || break
		size=$(stat -c %s "$CASE_DIR/console")
		[ "$size" -eq "$was" ] || i=0
		was=$size
		sleep 0.1
	done
	grep -qF -- "$1" "$CASE_DIR/console"
}

kit_kill() {
	[ -n "$SHELL_PID" ] || return
	kill -KILL "$SHELL_PID" 2>/dev/null
	wait "$SHELL_PID" 2>/dev/null
	SHELL_PID=
	# If the emulator did not start, the reader still waits for a writer.
	: 1<>"$CASE_DIR/monitor.out"
}

# kit_ends CASE: wait for the end of the kit, and copy the report from the stick.
kit_ends() {
	if kit_says "bts-check ends"; then
		pass "$1.end"
	else
		fail "$1.end" "the kit did not end (see $CASE_DIR/console)"
	fi
	sleep 2
	kit_kill
	if mcopy -n -o -i "$(kit_fat)" ::/REPORT.TXT "$CASE_DIR/report" 2>/dev/null; then
		pass "$1.report"
	else
		fail "$1.report" "no REPORT.TXT on the stick"
		: >"$CASE_DIR/report"
	fi
}

# kit_readme CASE: README.TXT on the stick and the report must name the image, and the address for
# mails.
kit_readme() {
	local id

	mtype -i "$(kit_fat)" ::/README.TXT >"$CASE_DIR/readme"
	id=$(sed -n 's/^bts-check, image \([0-9a-f]*\), Linux [0-9.]*\r$/\1/p' "$CASE_DIR/readme")
	if [ ${#id} -eq 8 ] && grep -q "^bts-check $id: " "$CASE_DIR/report" &&
		grep -q "x86@kernel.org, with" "$CASE_DIR/readme" &&
		grep -q "x86@kernel.org, with" "$CASE_DIR/report"; then
		pass "$1.readme"
	else
		fail "$1.readme" "the image '$id' or the address is missing (see $CASE_DIR)"
	fi
}

# kit_done CASE: remove the stick, the pipes of the monitor and UEFI's variables, and say that CASE
# is done.
kit_done() {
	rm -f "$CASE_DIR/stick.img" "$CASE_DIR"/monitor.* "$CASE_DIR/vars.fd"
	say "  done $GROUP.$1"
}

# kit_reports CASE NAME TEXT: the report must contain TEXT.
kit_reports() {
	if grep -qF -- "$3" "$CASE_DIR/report"; then
		pass "$1.$2"
	else
		fail "$1.$2" "the report does not say '$3' (see $CASE_DIR/report)"
	fi
}

# kit_good CASE: the report must show no failure, have a line of results, and name no disk and no
# machine.
kit_good() {
	local bad

	bad=$(grep -E -m1 \
		'^ +(not ok|Bail out|kernel: |killed by|exit status|failed|not-ended|too-long)' \
		"$CASE_DIR/report")
	if [ -z "$bad" ]; then
		pass "$1.good"
	else
		fail "$1.good" "$bad (see $CASE_DIR/report)"
	fi
	kit_reports "$1" page "Results: "
	if grep -qE '\b(sd[a-z]|ata[0-9]|DMI|Hardware name)\b' "$CASE_DIR/report"; then
		fail "$1.private" "the report names a disk or the machine (see $CASE_DIR/report)"
	else
		pass "$1.private"
	fi
}

# kit_next TEXT NAME: when the kit prints TEXT, make the picture NAME.ppm of its screen, and press
# Enter.
kit_next() {
	kit_says "$1" || return
	sleep 1
	kit_monitor "screendump $CASE_DIR/$2.ppm"
	sleep 2
	kit_monitor "sendkey ret"
}

# kit_code CASE: the QR code on the screen must have the short form that is in the report.
kit_code() {
	local shown wanted

	shown=$(zbarimg -q --nodbus --raw "$CASE_DIR/code.ppm")
	wanted=$(sed -n 's/^Short form: //p' "$CASE_DIR/report")
	if [ -n "$wanted" ] && [ "$shown" = "$wanted" ]; then
		pass "$1.code"
	else
		fail "$1.code" "the QR code says '$shown', the report '$wanted' (see $CASE_DIR)"
	fi
}

# kit_whole FIRMWARE CPU: boot the kit without kit.steps and kit.end, on a machine without a Debug
# Store. Then the kit ends with two pages that wait for Enter. The second page shows the QR code.
kit_whole() {
	local firmware=$1 name

	kit_stick "$firmware" ""
	kit_plain "$firmware" "$2"
	kit_disk
	kit_start
	# The kit must not take these keys for an answer to what it asks at its end.
	! kit_says "] units" || for name in first second; do kit_monitor "sendkey ret"; sleep 1; done
	kit_next "as a QR code" screen && kit_next "Press Enter to switch off" code || kit_kill
	kit_ends "$firmware"
	kit_good "$firmware"
	kit_reports "$firmware" crash "Segmentation fault"
	kit_code "$firmware"
	kit_readme "$firmware"
	kit_disk_kept "$firmware"
	kit_reports "$firmware" store "no Debug Store that"
	kit_reports "$firmware" left-out "Left out, no Debug Store: step 2 (layout) to step 16 (bts)"
	kit_reports "$firmware" skipped "1 skipped, 15 left out"
	kit_reports "$firmware" firmware "started by ${firmware^^}"
	kit_done "$firmware"
}

QUESTIONS=layout,exact,flags,filter,pmi,delay,kept,db,freeze,cost,nmi,lbr

# kit_found CASE CPL-RULE SILICON CPU ANSWER...: boot the kit on the processor CPU with these rules.
# The report must have "answer ANSWER", which the steps $QUESTIONS print about the processor.
kit_found() {
	local case=$1 cpl=$2 silicon=$3 cpu=$4 answer
	shift 4

	kit_stick "$case" "kit.end=off kit.steps=$QUESTIONS"
	kit_store "$cpu" "$cpl" "$silicon"
	kit_start
	kit_ends "$case"
	for answer; do
		kit_reports "$case" "${answer%%:*}" "answer $answer"
	done
	kit_done "$case"
}

# Print the last step that the console names.
kit_last_step() {
	sed -n 's/^\[[ 0-9]*\/[0-9]*\] \([a-z_0-9]*\) .*/\1/p' "$CASE_DIR/console" | tail -n 1
}

# kit_went_on CASE: the report must say that one step did not end, and that the steps after it ran.
kit_went_on() {
	kit_ends "$1"
	kit_reports "$1" told "did not end: the machine crashed"
	kit_reports "$1" counted "4 passed, 0 failed, 1 not ended"
	kit_reports "$1" titled "[21/31] lossless"
	if [ "$(grep -c '\] units ' "$CASE_DIR/report")" -eq 1 ]; then
		pass "$1.once"
	else
		fail "$1.once" "units did not run once (see $CASE_DIR/report)"
	fi
}

# kit_again CASE NUMBER: boot a stick on which the kit has come to its end. The kit must run its
# steps anew, and keep the earlier report with NUMBER in its name.
kit_again() {
	mv "$CASE_DIR/report" "$CASE_DIR/report.first"
	: >"$CASE_DIR/console"
	kit_start
	kit_ends "$1"
	kit_reports "$1" anew "5 passed, 0 failed, 0 not ended"
	if mtype -i "$(kit_fat)" "::/REPORT$2.TXT" | cmp -s - "$CASE_DIR/report.first"; then
		pass "$1.earlier"
	else
		fail "$1.earlier" "REPORT$2.TXT is not the report before (see $CASE_DIR)"
	fi
}

# The power fails during a step.
kit_interrupted() {
	local step

	kit_stick power "kit.end=off kit.steps=units,lossless,inherit,check"
	kit_plain bios qemu64
	kit_start
	kit_says "] lossless"
	kit_kill
	step=$(kit_last_step)
	mv "$CASE_DIR/console" "$CASE_DIR/console.first"
	kit_start
	kit_went_on power
	kit_reports power named "Step $step ("
	kit_again power-again 1
	kit_plain bios EPYC,-smap
	kit_again power-other 2
	kit_done power
}

# An unknown NMI makes the kernel panic, which restarts the machine.
kit_crashed() {
	kit_stick panic "kit.end=off kit.steps=units,lossless,inherit,check unknown_nmi_panic=1 panic=1"
	kit_plain bios qemu64
	kit_start
	! kit_says "] lossless" || kit_monitor nmi
	kit_went_on panic
	kit_done panic
}

# If three steps crash the machine, the kit leaves out the steps that remain.
kit_thrice() {
	local step

	kit_stick thrice "kit.end=off kit.steps=units,lossless,inherit,check,ring unknown_nmi_panic=1 panic=1"
	kit_plain bios qemu64
	kit_start
	for step in lossless inherit check; do
		! kit_says "] $step" || kit_monitor nmi
	done
	kit_ends thrice
	kit_reports thrice said "3 steps did not end"
	kit_reports thrice counted "2 passed, 0 failed, 3 not ended"
	kit_done thrice
}

# The kit must say that it cannot keep the report, and why.
kit_protected() {
	kit_stick protected "kit.end=off kit.steps=units"
	kit_plain bios qemu64
	KIT=("${KIT[@]/format=raw,file=/format=raw,readonly=on,file=}")
	kit_start
	if kit_says "The report is not on the stick: the stick is write-protected." &&
		! grep -q "it continues after" "$CASE_DIR/console"; then
		pass protected
	else
		fail protected "the kit does not say why nothing is kept (see $CASE_DIR/console)"
	fi
	kit_kill
	kit_done protected
}

# The kit must detect how the emulated processor behaves.
kit_rules() {
	local predicts=$CPU,x-bts-predicts=on wrong=Penryn,x-bts-wrong-from=on kind cpu number

	kit_found by-after after "" "$CPU" "layout: 24" "exact: yes" "flags: none" "filter: after" \
		"pmi: each" "delay: 0 " "kept: no" "db: keeps" "freeze: keeps"
	kit_found by-before before once "$CPU" "filter: before" "pmi: crossed"
	kit_found by-either either equal "$CPU" "filter: either" "pmi: equal"
	kit_found kept after kept "$CPU" "pmi: crossed" "kept: yes"
	kit_found late after late "$CPU" "pmi: crossed" "delay: 100 "
	kit_found db after db "$CPU" "db: clears" "freeze: keeps"
	kit_found freeze after freeze "$CPU" "db: keeps" "freeze: clears"
	kit_found worst after worst "$CPU" "pmi: equal" "delay: 100 " "db: clears" "freeze: clears"
	kit_found predicts after "" "$predicts" "flags: 0x10 at times"
	kit_found wrong-from after "" "$wrong" "filter: wrong-from"
	kit_found smi after "" Nehalem,x-bts-smi=997 "exact: no"
	kit_found damage after "" Nehalem,x-bts-damage=97 "exact: no"
	kit_found no-filter after "" "$CPU,-ds-cpl" "filter: none"
	kit_found pentium4 after "" "$PENTIUM4" "layout: 24" "filter: after" "freeze: none"
	for kind in 16 32 arch amd; do
		cpu=$(lbr_cpu $kind)
		number=32
		[[ $cpu != *x-lbr=16* ]] || number=16
		kit_found "lbr-$kind" after "" "${cpu#cpu=},-smap" "lbr: $number "
	done
}

# kit_page CASE: the last page must fit on a screen of 80 columns and 25 lines. Two of these lines
# are for the words about Enter, and for the cursor.
kit_page() {
	local wrong

	wrong=$(tr -d '\r' <"$CASE_DIR/console" | awk '
		/^bts-check [0-9a-f]+: / { lines = wide = 0; page = 1 }
		/^bts-check ends/ { page = 0 }
		page { lines++; if (length() > 79) wide++ }
		END { if (lines < 5 || lines > 23 || wide) print lines " lines, " wide " are too wide" }')
	if [ -z "$wrong" ]; then
		pass "$1.fits"
	else
		fail "$1.fits" "the last page has $wrong (see $CASE_DIR/console)"
	fi
}

# kit_store_whole CASE CPU MACHINE LEFT-OUT: run all steps on a machine with a Debug Store and LBRs.
# MACHINE is what `uname -m` prints. LEFT-OUT is the number of steps that have no program for this
# kernel.
kit_store_whole() {
	local answer

	kit_stick "$1" "kit.end=off"
	kit_store "$2,x-lbr=32,x-pmu-counts=on" after ""
	kit_start
	kit_ends "$1"
	kit_good "$1"
	kit_page "$1"
	kit_reports "$1" found "This machine has a Debug Store."
	kit_reports "$1" kernel " $3, started by"
	kit_reports "$1" short " LBR:32"
	kit_reports "$1" steps " too long, 0 skipped, $4 left out"
	for answer in nmi kinds switch cpus bts "lbr: 32"; do
		kit_reports "$1" "${answer%:*}-answer" "answer $answer"
	done
	kit_done "$1"
}

# All steps on a Core 2, whose filter by privilege level cannot be used.
kit_core2() {
	kit_stick core2 "kit.end=off"
	kit_store Penryn,x-bts-wrong-from=on after ""
	kit_start
	kit_ends core2
	kit_good core2
	kit_reports core2 found "This machine has a Debug Store."
	kit_reports core2 filter "answer filter: wrong-from"
	kit_done core2
}

# If the mirror does not have the newest kernel, vmtest.sh image takes 6.12. Here the mirror does
# not answer, so the command must fail when it fetches 6.12.
kit_fallback() {
	local output

	new_case fallback
	output=$(BTS_CACHE=$CASE_DIR/cache BTS_MIRROR=http://127.0.0.1:9 \
		"$B/vmtest.sh" image -o "$CASE_DIR/none.img" 2>&1 9>&-)
	if [[ $output = *"the kernel is 6.12"*"cannot fetch linux-source-6.12"* ]]; then
		pass fallback
	else
		fail fallback "no image of 6.12 was tried: $output"
	fi
}

group_image() {
	local part all=(fallback bios uefi interrupted crashed thrice protected store core2 narrow rules)

	need_packages image imagetest
	for part in ${IMAGE_PARTS:-"${all[@]}"}; do
		part=$(one_of IMAGE_PARTS "$part" "${all[@]}") || exit
		case $part in
		bios) kit_whole bios Nehalem ;;
		uefi) kit_whole uefi EPYC,-smap ;;
		store)
			kit_store_whole store "$CPU,-smap" x86_64 0
			kit_reports store crash "Segmentation fault"
			;;
		narrow) kit_store_whole narrow "$CPU,-lm,-smap" i686 5 ;;
		*) "kit_$part" ;;
		esac
	done
}
