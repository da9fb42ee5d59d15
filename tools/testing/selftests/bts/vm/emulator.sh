# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Two emulators. One has a Debug Store: QEMU_BTS names it, or it is built from the source tree
# QEMU_SRC or Debian's source, and the files and patches in qemu/. The other is Debian's ("plain").

QEMU=
QEMU_L=()
QEMU_TREE=
QEMU_DATA="/usr/share/qemu /usr/share/seabios"
PLAIN_QEMU=

# Set QEMU_L to options (-L) for the directories of the BIOS. Debian's source package of QEMU has no
# BIOS.
set_qemu_l() {
	local dir

	QEMU_L=()
	for dir in $QEMU_DATA; do
		[ ! -d "$dir" ] || QEMU_L+=(-L "$dir")
	done
}

qemu_source_key() {
	if [ -n "${QEMU_SRC:-}" ]; then
		(cd "$QEMU_SRC" && pwd -P && contents VERSION target/i386 hw/i386)
	else
		cat "$CACHE"/qemu-source/*.dsc 2>/dev/null
	fi
	cd "$B/qemu" && find . -path ./mutants -prune -o -type f -print0 |
		sort -z | xargs -0 sha256sum
}

check_emulator() {
	local models

	models=$("$QEMU" "${QEMU_L[@]}" -cpu help 2>&1) ||
		die "$QEMU does not run: ${models:0:200}: remove $CACHE/qemu"
	grep -q "^x86 ${CPU%%,*} " <<<"$models" ||
		die "--cpu ${CPU%%,*}: no such model: see $QEMU -cpu help"
}

# need_emulator: set QEMU, QEMU_L, and, unless QEMU_BTS is set, QEMU_TREE, the directory with the
# source (src) and the build (out).
need_emulator() {
	[ -z "$QEMU" ] || return 0
	set_qemu_l
	build_emulator
	check_emulator
}

# need_plain_emulator: set PLAIN_QEMU to Debian's own emulator.
need_plain_emulator() {
	[ -z "$PLAIN_QEMU" ] || return 0
	need_packages plain
	PLAIN_QEMU=$(command -v qemu-system-x86_64) || die "no qemu-system-x86_64: install qemu-system-x86"
}

build_emulator() {
	local log=$CACHE/log/qemu-build

	if [ -n "${QEMU_BTS:-}" ]; then
		[ -x "$QEMU_BTS" ] || die "QEMU_BTS=$QEMU_BTS is not a program: set it to an emulator, or unset it"
		QEMU=$QEMU_BTS
		return
	fi
	[ -x "$B/qemu/build.sh" ] || die "$B/qemu/build.sh is missing: run vmtest.sh from a complete clone"
	if [ -z "${QEMU_SRC:-}" ]; then
		need_qemu_archive
	elif [ ! -f "$QEMU_SRC/target/i386/cpu.c" ]; then
		die "QEMU_SRC=$QEMU_SRC is not a QEMU source tree: give the top directory of one, 7.2.12 or a later 7.2"
	fi
	QEMU_TREE=$CACHE/qemu/$(qemu_source_key | key_of)
	QEMU=$QEMU_TREE/out/qemu-system-x86_64
	[ ! -e "$QEMU_TREE/ready" ] || return 0
	# Build it at its final place, as the result contains the path.
	rm -rf "$QEMU_TREE"
	mkdir -p "$QEMU_TREE/out"
	UNFINISHED=$QEMU_TREE
	unpack_qemu_source "$QEMU_TREE/src"
	logged "build the emulator" "$log" "$B/qemu/build.sh" "$QEMU_TREE/src" "$QEMU_TREE/out" "$JOBS" ||
		die "the emulator does not build: $(reason_in "$log"), see $log"
	[ -x "$QEMU" ] || die "qemu/build.sh did not make $QEMU, see $log"
	: >"$QEMU_TREE/ready"
	UNFINISHED=
	keep_newest "$CACHE/qemu" 3
}
