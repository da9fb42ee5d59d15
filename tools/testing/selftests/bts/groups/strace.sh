# SPDX-License-Identifier: GPL-2.0
# strace (slow): strace with the patch of strace/ decodes the requests and their records
# shellcheck shell=bash

# The compiler must not print warnings for the patched source that it does not for the stock one.
strace_warnings() {
	local new

	new=$(comm -13 "$1/warnings" "$2/warnings")
	if [ -z "$new" ]; then
		pass warnings
	else
		fail warnings "$(head -n 1 <<<"$new")"
	fi
}

# Trace with tracers of each ABI: these tests of strace need a guest of this bench.
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
	check suite -- "$B/tool/stracesuite.sh" "$stock" "$STRACE_TREE"
	say "$(grep -E '^# (before|after): ' "$CASE_DIR/ktap" | sed 's/^#/      /')"
	strace_live "$STRACE_TREE"
}
