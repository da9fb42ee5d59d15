# SPDX-License-Identifier: GPL-2.0
# strace (slow): strace with the patch of strace/ decodes the requests and their records
# shellcheck shell=bash

# strace_warnings STOCK PATCHED: the compiler must print no warning that is new in the patched tree.
strace_warnings() {
	local new

	new=$(comm -13 "$1/warnings" "$2/warnings")
	if [ -z "$new" ]; then
		pass warnings
	else
		fail warnings "$(head -n 1 <<<"$new")"
	fi
}

# strace_live TREE: run the tests of $STRACE_LIVE in a guest whose kernel has the requests. Run the
# programs of each ABI.
strace_live() {
	local tree=$1 dir test live=()

	for dir in tests tests-m32 tests-mx32; do
		for test in $STRACE_LIVE; do
			live+=("$tree/$dir/live/$test")
		done
	done
	boot live kernel=patched config="$CONFIG" smp=2 mem=1024 with=example \
		before="$tree/src/strace $BENCH_BIN/stripped ${live[*]}" -- straced
}

group_strace() {
	local stock

	need_programs
	need_strace stock
	stock=$STRACE_TREE
	need_strace patched
	strace_warnings "$stock" "$STRACE_TREE"
	check suite -- "$B/strace/suite.sh" "$stock" "$STRACE_TREE"
	say "$(grep -E '^# (before|after): ' "$CASE_DIR/ktap" | sed 's/^#/      /')"
	strace_live "$STRACE_TREE"
}
