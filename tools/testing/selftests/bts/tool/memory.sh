#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# memory.sh DIR MADEUP: check that with --memory 16M, 32 MiB are enough for btstrace (in
# DIR), and that it says what is incomplete. In some modes, MADEUP's traces need more without it.

dir=$1 madeup=$(realpath "$2")
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2

# bounded TRACE OPTION...: show a trace with 32 MiB of writable memory at most
bounded() {
	(
		ulimit -d 32000
		exec "$dir/btstrace" -r "$1" -o out "${@:2}" 2>err
	)
}

for what in jumps loops calls deep; do
	"$madeup" "$what" 300000 >"./$what"
done

# fits TRACE SAYS OPTION...: bounded() with --memory 16M must succeed, and print the message SAYS
fits() {
	bounded "$1" --memory 16M "${@:3}" && [ -s out ] &&
		[ "$(sed 's/^btstrace: --memory 16M does not suffice: //' err)" = "$2" ]
	result $? "$1 ${*:3}: $(cat err)"
}

fits jumps 'fewer of the last branches were looked at'
fits jumps '' --plain -n 100000
fits jumps '' --json
fits jumps '' --insn
fits jumps '' --calls
fits jumps '' --lines
fits jumps '' --profile
fits jumps 'some code that was executed is missing' --drcov
fits jumps 'some code that was executed is missing' --lcov
fits loops 'some branches are counted together' --loops
[ "$(awk 'NR > 1 { n += $1 } END { print n }' out)" -eq 300000 ] && [ "$(wc -l <out)" -gt 5000 ] &&
	tail -n 1 out | grep -q '^ *[0-9]* all other loops$'
result $? "--loops: none is missing, the others are one line: $(tail -n 1 out)"
fits calls 'what the threads did is sorted in parts' --flow
[ "$(grep -c '^\[pid [12]\]  *2  ' out)" -eq 150000 ]
result $? "--flow: no call is missing"
grep -q '^--- no more memory: what follows is sorted anew ---$' out
result $? "--flow: where it is sorted anew is told"
fits deep '' --calls
grep -q '^300000 calls, ' out
result $? "--calls: no call is missing"

# These need more without --memory 16M, or the above tests would show nothing.
for mode in 'jumps --crash' 'jumps --plain -n 100000' 'jumps --drcov' 'loops --loops' 'calls --flow'; do
	# shellcheck disable=SC2086
	! bounded $mode && grep -q 'out of memory' err
	result $? "$mode: needs more with the default limit"
done
finish
