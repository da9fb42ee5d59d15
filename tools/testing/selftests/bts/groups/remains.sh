# SPDX-License-Identifier: GPL-2.0
# remains (slow): the flight recorder in crash dumps, in memory kept over a reboot, and read by BPF
# shellcheck shell=bash

# shellcheck source=shared/crashes.sh
. "$B/groups/shared/crashes.sh"

READER=$REPO/tools/tracing/hw-branches/hw_branches.py

# Set REMAINS to a configuration with debug information, and options that these tests need.
remains_config() {
	REMAINS=remains
	[ "$CONFIG" = base ] || REMAINS=$CONFIG,remains
}

# remain CASE KEY=VALUE... -- PROG [ARG...]: boot this configuration, with 32 LBRs.
remain() {
	strict "$1" "$(lbr_machine 32)" config="$REMAINS" smp=2 "${@:2}"
}

# reads_dump NAME LEAST COMMAND...: COMMAND must succeed, and print LEAST branches of CPU 0 or more.
reads_dump() {
	local name=$1 least=$2 n wrong=
	shift 2

	step "$GROUP.$name" "$@" >"$CASE_DIR/$name" 2>"$CASE_DIR/$name.stderr" ||
		wrong="exit status $?: $(tail -n 1 "$CASE_DIR/$name.stderr")"
	n=$(grep -c '^ *0 .* <- ' "$CASE_DIR/$name")
	if [ -n "$wrong" ]; then
		fail "$name" "$wrong (see $CASE_DIR)"
	elif [ "$n" -lt "$least" ]; then
		fail "$name" "$n branches, $least were wanted (see $CASE_DIR/$name)"
	else
		pass "$name"
	fi
}

# has_line NAME REGEX: the output of reads_dump NAME must have a line that matches REGEX.
has_line() {
	if grep -qE "$2" "$CASE_DIR/$1"; then
		pass "$1.line"
	else
		fail "$1.line" "no line $2 (see $CASE_DIR/$1)"
	fi
}

# move_segments DUMP: makedumpfile expects the program headers of the ELF file at offset 64, right
# after the ELF header. The emulator writes these three headers at offset 192: move them.
move_segments() {
	chmod u+w "$1"
	dd if="$1" of="$1" bs=1 skip=192 seek=64 count=168 conv=notrunc status=none
	printf '\100' | dd of="$1" bs=1 seek=32 conv=notrunc status=none
}

# dump NAME SOURCE [KEY=VALUE...]: crash, and make dumps. SOURCE is for `remains dump`.
dump() {
	need_lab "$B/guest/labs/crash" bts_crash patched "$REMAINS"
	remain "dump-$1" before="$LAB" expect=splat qemu="-device vmcoreinfo" "${@:3}" -- \
		remains dump "$2"
	nothing_else "dump-$1" "$CRASH"
	came_to_end "dump-$1"
	# Compress the dump by makedumpfile: in the emulator's own compressed format, drgn does not
	# find the architecture.
	move_segments "$CASE_DIR/dump.physical"
	reads_dump "makedumpfile-$1" 0 makedumpfile -c -d 31 "$CASE_DIR/dump.physical" \
		"$CASE_DIR/dump.kdump"
}

# dumped SOURCE LEAST: the readers must read the dumps of a crash.
dumped() {
	local source=$1 least=$2 crashed

	dump "$source" "$source"
	crashed='^ +0 .* <- bts_crash_fault\+0x[0-9a-f]+ \[bts_crash\] \([a-z_]+\.c:[0-9]+\)$'
	reads_dump "drgn-$source" "$least" /usr/bin/python3 "$READER" -n 3000 \
		-d "$KERNEL_BUILD/vmlinux" -d "$LAB" "$CASE_DIR/dump.kdump"
	has_line "drgn-$source" "$crashed"
	has_line "drgn-$source" '^Last branches of CPU 1, .*, source '"$source"':$'
	has_line "drgn-$source" ' \((fault|entry_64|traps|dumpstack|open|read_write)\.[cS]:[0-9]+\)'
	reads_dump "map-$source" "$least" /usr/bin/python3 "$READER" -n 3000 \
		-m "$KERNEL_BUILD/System.map" "$CASE_DIR/dump.kdump"
	has_line "map-$source" '(vfs_write|asm_exc_page_fault)\+0x'
	reads_dump "elf-$source" "$least" "$PROGRAMS/out/guest/hw-branches" -p -n 3000 \
		-m "$KERNEL_BUILD/System.map" "$CASE_DIR/dump.virtual"
	has_line "elf-$source" '^Last branches of CPU 0, .*, source '"$source"':$'
	rm -f "$CASE_DIR"/dump.*
}

# On this processor, records may be wrong. The readers must say so.
dumped_unreliable() {
	dump unreliable bts cpu=Nehalem
	reads_dump map-unreliable 1000 /usr/bin/python3 "$READER" -n 3000 \
		-m "$KERNEL_BUILD/System.map" "$CASE_DIR/dump.kdump"
	has_line map-unreliable '^Last branches of CPU 0, .*, source bts \(unreliable\):$'
	reads_dump elf-unreliable 1000 "$PROGRAMS/out/guest/hw-branches" -p -n 3000 \
		-m "$KERNEL_BUILD/System.map" "$CASE_DIR/dump.virtual"
	has_line elf-unreliable '^Last branches of CPU 0, .*, source bts \(unreliable\):$'
	rm -f "$CASE_DIR"/dump.*
}

# says_nothing NAME COMMAND...: COMMAND must print nothing, and say why.
says_nothing() {
	local name=$1
	local why='no branches: the recorder was off, perf had the LBRs, or nothing froze lbr$'

	reads_dump "$name" 0 "${@:2}"
	if [ ! -s "$CASE_DIR/$name" ] && grep -q "$why" "$CASE_DIR/$name.stderr"; then
		pass "$name.said"
	else
		fail "$name.said" "does not say why it prints nothing (see $CASE_DIR/$name.stderr)"
	fi
}

# lacks_symbol NAME COMMAND...: if VMCOREINFO has no SYMBOL(hw_branches_readable), COMMAND must fail
# and say so.
lacks_symbol() {
	local name=$1 said status=0

	said=$("${@:2}" 2>&1 | sed 's/.*: no SYMBOL(hw_branches_readable) in VMCOREINFO: .*/right/'
		exit "${PIPESTATUS[0]}") || status=$?
	if [ "$said" = right ] && [ $status -eq 1 ]; then
		pass "$name"
	else
		fail "$name" "exit status $status: $said"
	fi
}

# claim_used DUMP...: claim that the recorder used each buffer of BTS, by the address of another
# per-CPU variable, whose first word is not 0.
claim_used() {
	local dump key='SYMBOL(hw_branches_readable)=' of other

	for dump; do
		of=$(grep -aom 1 "^${key}[0-9a-f]*" "$dump")
		other=$(grep -aom 1 '^SYMBOL(cpu_debug_store)=[0-9a-f]*' "$dump")
		other=$(printf "%0$((${#of} - ${#key}))x" "0x${other#*=}")
		sed -i "s/^$of/$key$other/" "$dump"
	done
}

# shows_traced NAME COMMAND...: COMMAND must print branches of CPU 1.
shows_traced() {
	reads_dump "$1" 0 "${@:2}"
	has_line "$1" '^ +1 .* <- '
}

# dumped_nothing SOURCE: if nothing was recorded, both readers must say so.
dumped_nothing() {
	local script program

	dump "$1" "$1"
	script=(/usr/bin/python3 "$READER" "$CASE_DIR/dump.kdump")
	program=("$PROGRAMS/out/guest/hw-branches" "$CASE_DIR/dump.virtual")
	says_nothing "drgn-$1" "${script[@]}"
	says_nothing "elf-$1" "${program[@]}"
	# With "given", the readers find saved LBRs, and do not look for a buffer of BTS.
	if [ "$1" = 0 ]; then
		# Without the test whether the recorder used them, these are the task's branches.
		claim_used "$CASE_DIR"/dump.{kdump,virtual}
		shows_traced drgn-traced "${script[@]}"
		shows_traced elf-traced "${program[@]}"
		sed -i 's/^SYMBOL(hw_branches_readable)=/SYMBOL(hw_branches_xxxxxxxx)=/' \
			"$CASE_DIR"/dump.{kdump,virtual}
		lacks_symbol drgn-symbol "${script[@]}"
		lacks_symbol elf-symbol "${program[@]}"
	fi
	rm -f "$CASE_DIR"/dump.*
}

# With debug information, the script must print the buffer of CPU 0, a mark for missing branches,
# and then the ring.
dumped_ring() {
	local found

	dump joined ring
	reads_dump drgn-ring 4000 /usr/bin/python3 "$READER" -n 20000 \
		-d "$KERNEL_BUILD/vmlinux" "$CASE_DIR/dump.kdump"
	if found=$(awk '/^Last/ { on = /CPU 0,/; next }
		on && /some are missing/ { marks++ }
		on && / <- / { if (marks) ring++; else buffer++ }
		END { print buffer + 0, "branches,", marks + 0, "marks,", ring + 0, "branches"
		      exit !(buffer > 1000 && buffer <= 2730 && ring > 1000) }' "$CASE_DIR/drgn-ring"); then
		pass "ring.joined"
	else
		fail "ring.joined" "$found (see $CASE_DIR/drgn-ring)"
	fi
	# Other ways to join them, and the names of addresses, without a dump
	reads_dump reader 0 /usr/bin/python3 "$B/remains/reader.py" "$(dirname "$READER")"
	reads_dump names 0 /usr/bin/python3 "$B/remains/names.py" "$(dirname "$READER")"
	rm -f "$CASE_DIR"/dump.*
}

remains_dumps() {
	need_packages drgn
	check damaged-script -- "$B/ring0/damaged.sh" "$REPO" script
	dumped bts 2700
	dumped lbr 20
	dumped_unreliable
	dumped_ring
	# The recorder is off, or has given the LBRs up to perf.
	dumped_nothing 0
	dumped_nothing given
	remain live mem=3072 before="$KERNEL_BUILD/vmlinux" timeout=1500 stall=900 \
		tools="/usr/bin/python3 drgn addr2line $READER" -- remains live "$READER"
}

# boot_and_reboot CASE KEY=VALUE... -- remains ARGUMENT...: run a guest that reboots. reserve_mem
# reserves the memory that keeps the branches. WATCHDOG may have options of the emulator for a
# watchdog. If KASLR is set, its value replaces nokaslr; SIZE replaces 1M.
boot_and_reboot() {
	remain "$1" append="reserve_mem=${SIZE:-1M}:4096:hw_branches ${KASLR-nokaslr}" \
		qemu="-action reboot=reset ${WATCHDOG:-}" "${@:2}"
}

# Without BTS
remains_amd() {
	local KASLR="nokaslr spec_rstack_overflow=off"

	boot_and_reboot panic-amd "$(lbr_machine amd)" before="$LAB" expect=splat -- \
		remains panic lbr
	nothing_else panic-amd "$CRASH"
	came_to_end panic-amd
	boot_and_reboot reset-amd "$(lbr_machine amd)" -- remains reset lbr
}

remains_reboot() {
	local what

	need_lab "$B/remains/lab" bts_remains patched "$REMAINS"
	boot_and_reboot panic before="$LAB" expect=splat -- remains panic bts
	nothing_else panic "$CRASH"
	came_to_end panic
	# The processor cannot filter by CPL: the buffer has branches of user space, too.
	boot_and_reboot unfiltered cpu="$CPU,-ds-cpl" before="$LAB" expect=splat -- \
		remains panic bts
	nothing_else unfiltered "$CRASH"
	came_to_end unfiltered
	# On this processor, records may be wrong: the headlines must say so.
	boot_and_reboot unreliable cpu=Nehalem before="$LAB" expect=splat -- remains panic bts
	nothing_else unreliable "$CRASH"
	came_to_end unreliable
	boot_and_reboot panic-lbr before="$LAB" expect=splat -- remains panic lbr
	nothing_else panic-lbr "$CRASH"
	came_to_end panic-lbr
	# With KASLR, a boot may overwrite the memory. Then the test crashes the kernel once more.
	for what in init shutdown; do
		KASLR="" boot_and_reboot $what before="$LAB" expect=splat -- remains $what bts
		nothing_else $what "$CRASH"
		came_to_end $what
	done
	boot_and_reboot triple before="$LAB" -- remains triple bts
	WATCHDOG="-device i6300esb" boot_and_reboot watchdog -- remains watchdog bts
	boot_and_reboot reset-lbr -- remains reset lbr
	remains_amd
	boot_and_reboot others-lbr -- remains others lbr
	boot_and_reboot reboot -- remains reboot bts
	for what in head body records data module end moved; do
		boot_and_reboot "scribbled-$what" before="$LAB" -- remains $what scribble
	done
	remains_erased
}

# A thaw, a shutdown and a boot erase branches in the reserved memory. In `small`, the memory is too
# small to be used.
remains_erased() {
	local source

	for source in lbr bts; do
		boot_and_reboot "erased-$source" before="$LAB" -- remains erased "$source"
		console_says "erased-$source" "at the reset, the branches are erased"
	done
	SIZE=64K boot_and_reboot small before="$LAB" -- remains small erased
	console_says small "reserve_mem: hw_branches needs"
}

group_remains() {
	remains_config
	remain snapshot -- snapshot
	remains_dumps
	remains_reboot
}
