# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh coverage: for the C files that the series adds to the kernel, except unit tests, print
# how many lines the groups run. Also print the lines that they do not run, unless the file unrun
# has the reason. If a guest crashes, its counts are lost.

COVERAGE_GOAL=90
COVERAGE_GROUPS="units debugctl ds bts step ptrace ptracerules ring0 lbr remains silicon stress"

# count_lines DIR: print gcov's text for the files of counts in DIR.
count_lines() {
	local sums=$1 file object

	for file in "$sums"/*.gcda; do
		object=${file##*/}
		object=${object//\#//}
		cp "${object%.gcda}.gcno" "${file%.gcda}.gcno" || return
		(cd "$sums" && gcov -t "${file##*/}") || return
	done
}

# sum_counts DIR: write the sums of the counts of all guests to DIR, and gcov's text of the sums to
# DIR/text.
sum_counts() {
	local sums=$1 all

	mapfile -t all < <(find "$RESULTS" -name data -size +0)
	[ ${#all[@]} -gt 0 ] || die "no guest has counted any lines: see $RESULTS"
	mkdir -p "$sums"
	"$BENCH_BIN/counts" "$sums" "${all[@]}" && count_lines "$sums" >"$sums/text"
}

cmd_coverage() {
	local groups=("$@") sums status=0

	[ $# -gt 0 ] || read -ra groups <<<"$COVERAGE_GROUPS"
	CONFIG=$([ "$CONFIG" = base ] || printf '%s,' "$CONFIG")gcov
	run_groups "${groups[@]}"
	sums=$RESULTS/coverage
	logged "add up the counts" "$CACHE/log/coverage" sum_counts "$sums" ||
		die "cannot add up the counts: $(reason_in "$CACHE/log/coverage")"
	series_sources new | grep -v '_test\.c$' >"$sums/files"
	awk -v unrun="$B/unrun" -v files="$sums/files" -v goal="$COVERAGE_GOAL" \
		-f "$B/vm/coverage.awk" "$B/unrun" "$sums/files" "$sums/text" || status=1
	[ "$FAILED" -eq 0 ] || {
		say "$FAILED tests failed: ${FAILURES[0]}"
		status=1
	}
	return "$status"
}
