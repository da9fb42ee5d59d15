#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# suite.sh STOCK PATCHED: run the tests of strace's own suite that PATCHED/tests.list
# names, in the source tree PATCHED and, if STOCK has the test, in STOCK. A test that fails in
# both trees tells nothing about the patch, and counts as skipped. A test that skips itself in
# PATCHED counts as skipped if it skips itself in STOCK, too, or if STOCK does not have it. All
# others must pass in PATCHED.

stock=$1 patched=$2
declare -A before=([pass]=0 [fail]=0 [skip]=0) after=([pass]=0 [fail]=0 [skip]=0)
run=0

# one TREE TEST: run a test. Print pass, skip or fail; the test's output is in TREE/TEST.said.
one() {
	local tree=$1 dir=${2%/*} name=${2##*/} status=0

	(cd "$tree/$dir" && srcdir=. timeout 600 sh "./$name.gen.test") >"$tree/$2.said" 2>&1 ||
		status=$?
	case $status in
	0) echo pass ;;
	77) echo skip ;;
	*) echo fail ;;
	esac
}

result() {
	run=$((run + 1))
	echo "$1 $run - $2${3:+ # SKIP $3}"
}

while IFS= read -r test; do
	new=$(one "$patched" "$test")
	after[$new]=$((after[$new] + 1))
	old=none
	if [ -e "$stock/$test.gen.test" ]; then
		old=$(one "$stock" "$test")
		before[$old]=$((before[$old] + 1))
	fi
	case $new,$old in
	pass,*) result ok "$test" ;;
	fail,fail) result ok "$test" "fails without the patch, too" ;;
	skip,skip | skip,none) result ok "$test" "$(tail -n 1 "$patched/$test.said")" ;;
	*)
		sed 's/^/# /' "$patched/$test.said" | cut -c1-400 | head -n 20
		echo "# $old before, $new after"
		result "not ok" "$test"
		;;
	esac
done < <(cat "$patched/tests.list")

echo "# before: ${before[pass]} pass, ${before[fail]} fail, ${before[skip]} skip"
echo "# after: ${after[pass]} pass, ${after[fail]} fail, ${after[skip]} skip"
echo "1..$run"
