# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Most tests of btstrace that are scripts source this file. It makes the directory $scratch,
# and removes it when the script exits.

tests=0 failed=0
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

# result STATUS TEXT: print the result of one check as KTAP
result() {
	tests=$((tests + 1))
	[ "$1" -eq 0 ] || failed=1
	[ "$1" -eq 0 ] || printf 'not '
	echo "ok $tests - $2"
}

# Print the plan after the results, and exit.
finish() {
	echo "1..$tests"
	exit "$failed"
}
