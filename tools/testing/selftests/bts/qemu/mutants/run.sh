#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Plant one fault at a time into the emulated machine; the bare-metal test must find it.
#
# The head of each patch has the lines Fault: (a description) and Check: (a regular expression for
# the text of the check that must find the fault, or of the message after "Bail out!"). It may have
# the line Run: (options for metal/run.sh).

set -u

usage() {
	cat <<-END
	usage: run.sh SRC OUT [NAME...]
	  SRC  writable QEMU 7.2 source tree, pristine or changed by qemu/build.sh; faults are
	       planted there and taken out again, so do not share it
	  OUT  build directory
	  NAME the mutants to run (default all)
	Environment: CC; QEMU_L, QEMU's -L options; JOBS.
	END
}

die() { echo "mutants/run.sh: $*" >&2; exit 2; }

[ "${1:-}" = --help ] && { usage; exit 0; }
[ $# -ge 2 ] || { usage >&2; die "SRC and OUT are missing"; }
here=$(dirname "$(readlink -f "$0")")
metal=$here/../../metal
src=$(readlink -e "$1") || die "no directory $1"
planted=$src/.bts-mutant
mkdir -p "$2" || die "cannot make $2"
out=$(readlink -e "$2")
shift 2
jobs=${JOBS:-$(nproc)}
tmp=$(mktemp -d) || exit 2

# While a fault is in the tree, its patch is kept there as well: if this run is killed,
# the next run takes the fault out.
reverse() {
	[ -e "$planted" ] || return 0
	patch -d "$src" -p1 -R -s -F0 -r - --no-backup-if-mismatch <"$planted" >&2 ||
		die "$src is neither with nor without a fault: unpack QEMU again"
	rm "$planted"
}

plant() {
	cp "$1" "$planted"
	patch -d "$src" -p1 -s -F0 -r - --no-backup-if-mismatch <"$1" >"$tmp/patch" 2>&1 && return
	rm "$planted"
	return 1
}

finish() {
	reverse
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

field() {
	sed -n "s/^$1: //p;/^---/q" "$2"
}

# Print the checks that failed, or the message with which the test ended early.
found() {
	sed -n -e 's/^not ok [0-9]* - //p' -e 's/^Bail out! //p' "$tmp/result"
}

build() {
	ninja -C "$out/build" -j "$jobs" qemu-system-x86_64 >"$tmp/build" 2>&1
}

# Build and test one mutant. Set $verdict. Succeed if the check that its patch names failed.
try() {
	local patch=$1 options

	plant "$patch" || { verdict="does not fit: $(head -1 "$tmp/patch")"; return 1; }
	build || { verdict="does not build: $(grep -m1 error: "$tmp/build")"; return 1; }
	read -r -a options < <(field Run "$patch")
	O=$tmp/metal "$metal/run.sh" "$out/build/qemu-system-x86_64" "${options[@]}" \
		>"$tmp/result" 2>&1 && { verdict="not found by any check"; return 1; }
	verdict=$(found | grep -m 1 -E -e "$(field Check "$patch")") && return
	verdict="found, but not by its check: $(found | head -1)"
	return 1
}

# List all mutants by source file. If the next mutant changes another file, the build has
# to compile two files: the one that was restored, and the other one.
all() {
	grep -H -m 1 '^+++ ' "$here"/*.patch | sort -k 2 | sed 's/:+++.*//'
}

mutants=("$@")
[ ${#mutants[@]} -gt 0 ] || mapfile -t mutants < <(all)
reverse
"$here/../build.sh" "$src" "$out" "$jobs" >"$tmp/build" 2>&1 ||
	die "the emulator does not build: $(tail -1 "$tmp/build")"
O=$tmp/metal "$metal/run.sh" "$out/qemu-system-x86_64" >"$tmp/result" 2>&1 ||
	die "the emulator fails without a fault: $(found | head -1)"

echo "KTAP version 1"
echo "1..${#mutants[@]}"
n=0 failed=0
for name in "${mutants[@]}"; do
	name=$(basename "$name" .patch)
	n=$((n + 1))
	[ -e "$here/$name.patch" ] || die "no mutant $name"
	if try "$here/$name.patch"; then
		echo "ok $n - mutant $name killed by: $verdict"
	else
		echo "not ok $n - mutant $name: $verdict"
		failed=$((failed + 1))
	fi
	reverse
done
echo "# $((n - failed)) of $n killed in $SECONDS s"
[ $failed = 0 ]
