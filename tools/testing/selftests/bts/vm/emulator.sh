# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The emulator with a Debug Store, out of Debian's source and qemu/, and its
# mutants. QEMU_BTS names one that is built already.

QEMU_DATA="/usr/share/qemu /usr/share/seabios"

# Fills in where the BIOS is; Debian's source package carries none.
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

# need_emulator: sets QEMU, QEMU_L, and QEMU_TREE, the directory with its
# source (src) and build (out).
need_emulator() {
	[ -z "${QEMU:-}" ] || return 0
	set_qemu_l
	build_emulator
	check_emulator
}

build_emulator() {
	local log=$CACHE/log/qemu-build

	if [ -n "${QEMU_BTS:-}" ]; then
		[ -x "$QEMU_BTS" ] || die "QEMU_BTS=$QEMU_BTS is no program: name an emulator, or unset it"
		QEMU=$QEMU_BTS
		return
	fi
	[ -x "$B/qemu/build.sh" ] || die "no qemu/build.sh beside me: run me from a complete clone"
	if [ -z "${QEMU_SRC:-}" ]; then
		need_qemu_archive
	fi
	QEMU_TREE=$CACHE/qemu/$(qemu_source_key | key_of)
	QEMU=$QEMU_TREE/out/qemu-system-x86_64
	[ ! -e "$QEMU_TREE/ready" ] || return 0
	# Built where it stays: a mutant is a change of a few files there.
	rm -rf "$QEMU_TREE"
	mkdir -p "$QEMU_TREE/out"
	UNFINISHED=$QEMU_TREE
	unpack_qemu_source "$QEMU_TREE/src"
	logged "build the emulator" "$log" "$B/qemu/build.sh" "$QEMU_TREE/src" "$QEMU_TREE/out" "$JOBS" ||
		die "the emulator does not build: $(reason_in "$log"), see $log"
	[ -x "$QEMU" ] || die "qemu/build.sh left no $QEMU, see $log"
	: >"$QEMU_TREE/ready"
	UNFINISHED=
	keep_newest "$CACHE/qemu" 3
}

build_mutant() {
	local src=$QEMU_TREE/src status=0

	patch -d "$src" -p1 -F0 -N -r - <"$1" || return
	ninja -C "$QEMU_TREE/out/build" -j "$JOBS" qemu-system-x86_64 &&
		cp "$QEMU_TREE/out/build/qemu-system-x86_64" "$2.new" || status=$?
	patch -d "$src" -p1 -F0 -R -r - <"$1" && mv "$2.new" "$2" || status=$?
	return "$status"
}

# need_mutant PATCH: sets MUTANT to an emulator that has the planted fault.
need_mutant() {
	local patch=$1 name log

	need_emulator
	[ -n "${QEMU_TREE:-}" ] || die "a mutant needs the emulator's own build: unset QEMU_BTS"
	name=$(basename "$patch" .patch)
	log=$CACHE/log/mutant-$name
	MUTANT=$QEMU_TREE/mutants/$name-$(key_of <"$patch")
	[ ! -x "$MUTANT" ] || return 0
	mkdir -p "$QEMU_TREE/mutants"
	# Until the fault is out of the source again, the tree is not the emulator's.
	UNFINISHED=$QEMU_TREE
	rm -f "$QEMU_TREE/ready"
	logged "build the mutant $name" "$log" build_mutant "$patch" "$MUTANT" ||
		die "the mutant $name does not build: $(reason_in "$log"), see $log"
	: >"$QEMU_TREE/ready"
	UNFINISHED=
}
