#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# speed.sh DIR LOOP PROGRAM: measure the CPU time per branch of each mode of btstrace (in
# DIR), on some millions of branches of PROGRAM (walk). Measure for comparison: LOOP, which
# only reads each record, and perf script, per sample.

dir=$1 loop=$2 program=$(realpath "$3")
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2

# ns N COMMAND...: set NS to the command's CPU time in ns, divided by N: the least of five runs
ns() {
	local n=$1 i user system TIMEFORMAT='%U %S' least=
	shift

	for i in 1 2 3 4 5; do
		{ time "$@" >/dev/null 2>&1; } 2>took || return
		read -r user system <took
		least=$(awk -v l="$least" -v u="$user" -v s="$system" -v n="$n" 'BEGIN {
			ns = (u + s) * 1e9 / n
			print l == "" || ns < l ? ns : l }')
	done
	NS=$least
}

"$dir/test/record" once "$program" loop 20000 && "${loop%/*}/repeat" once 40 >trace
result $? "the program runs"
read -r branches took < <("$loop" trace)
[ "${branches:-0}" -gt 1000000 ]
result $? "$branches branches"
echo "# loop: $(awk -v t="$took" -v n="$branches" 'BEGIN { print t / n }') ns a branch"

declare -A of
for mode in --crash --plain --summary --full --raw --json --calls --folded --flow --perfetto \
	--profile --lines --loops --drcov --lcov --insn; do
	ns "$branches" "$dir/btstrace" -r trace $mode -o /dev/null
	result $? "$mode: $NS ns a branch"
	of[$mode]=$NS
done

# at_most MODE TIMES PEER: MODE must cost at most TIMES as much as PEER
at_most() {
	awk -v ours="${of[$1]}" -v n="$2" -v peer="${of[$3]}" 'BEGIN { exit ours > n * peer }'
	result $? "$1: at most $2 times $3"
}

at_most --json 3 --raw
at_most --perfetto 3 --calls

# perf may be unable to record branches. Measure how fast it prints samples of the event cpu-clock.
if perf record -q -e cpu-clock:u -c 10000 -o perf.data "$program" loop 300000000 >/dev/null 2>&1; then
	samples=$(perf script -i perf.data -F ip,sym 2>/dev/null | grep -c .)
	ns "$samples" perf script -i perf.data -F ip,sym
	result $? "perf script: $NS ns a sample, of $samples"
else
	echo "# perf cannot record here"
fi
finish
