# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh demo: what all of it is for, on one screen.

cmd_demo() {
	prepare build
	GROUP=demo
	RESULTS=$CACHE/results/demo
	mkdir -p "$RESULTS" || die "cannot write $RESULTS: free some space"
	need_btstrace
	boot demo kernel=patched config=base pti=on before="$BTSTRACE/btstrace" \
		with="badjump example" -- demo >&2
	grep -v '^# init:' "$CASE_DIR/ktap"
	demo_gdb
	demo_oops
	[ "$FAILED" -eq 0 ]
}
