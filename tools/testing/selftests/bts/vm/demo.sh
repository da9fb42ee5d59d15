# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh demo: show how the series helps to find the cause of a crash.

cmd_demo() {
	prepare build
	GROUP=demo
	RESULTS=$CACHE/results/demo
	mkdir -p "$RESULTS" || die "cannot write $RESULTS: free some space"
	need_btstrace
	boot demo machine="$MACHINE" kernel=patched config=base pti=on \
		before="$BTSTRACE/btstrace" with="badjump example" -- demo >&2
	grep -v '^# init:' "$CASE_DIR/ktap"
	# Debian's emulator has no hardware that the flight recorder can use, and gdb takes long to
	# build.
	[ "$MACHINE" = plain ] || {
		demo_oops
		demo_gdb
	}
	[ "$FAILED" -eq 0 ]
}
