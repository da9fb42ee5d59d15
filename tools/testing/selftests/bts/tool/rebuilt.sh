#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rebuilt.sh DIR: check that btstrace (in DIR) shows a recorded trace with the program that was
# traced. If another program is in that file now, btstrace must refuse, except with --force, or
# with --raw without -e. Also check the lines and functions that some modes show of a small program.

dir=$1
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2

# build NAME [OPTION...]: build the program p, whose function has that name
build() {
	printf 'int zero;\nstatic inline int half(int x) { return x / 2; }\n' >p.c
	{
		printf '__attribute__((noinline)) int %s(int x)\n{\n\tint i;\n\n' "$1"
		printf '\tfor (i = 0; i < 9; i++)\n\t\tx += half(x) + zero;\n\treturn x;\n}\n'
		printf 'int main(int n) { return %s(n) & zero; }\n' "$1"
	} >>p.c
	gcc -g -O1 -o p p.c "${@:2}"
}

# shows STATUS WORDS OPTION...: btstrace must exit with STATUS, and print WORDS
shows() {
	local status
	"$dir/btstrace" -r trace "${@:3}" >out 2>err
	status=$?
	[ "$status" -eq "$1" ] && grep -q "$2" out err
	result $? "${*:3}: $status, $2"
}

both() {
	build first "$@" && "$dir/test/record" trace ./p
	result $? "the program runs ${*:-with a build ID}"
	shows 0 ' calls first, ' --crash
	[ ! -s err ]
	result $? "and nothing else is said"
	build second "$@"
	shows 118 '/p is not what was traced: ' --crash
	[ ! -s out ] && grep -q -e '--force' err
	result $? "nothing is shown, and what could be done is said"
	shows 0 second --crash --force
	shows 0 ' branch 0x' --raw
	shows 118 '/p is not what was traced: ' --raw -e func=first
	rm p
	shows 0 '/p is not there any more: its functions have no names' --calls
	build first "$@"
	shows 0 ' calls first, ' --crash
}

both
both -Wl,--build-id=none
shows 0 ' 8 first .*/p.c:7$' --lines
[ "$("$dir/btstrace" -r trace --lcov | grep '^DA:' | tr '\n' ' ')" = \
	"DA:2,9 DA:4,1 DA:5,1 DA:7,9 DA:8,9 DA:9,1 DA:11,1 " ]
result $? "--lcov: each line, as often as it ran"
"$dir/btstrace" -r trace --loops | grep -q '^ *8 first+.*(p.c:7) -> first+.*(p.c:2)'
result $? "--loops: eight rounds back"
"$dir/btstrace" -r trace --crash | grep -q 'half (inlined) p.c:2 .*| static inline'
result $? "--crash: an inlined function, with its text"
"$dir/btstrace" -r trace --insn -e func=first >out
grep -q '^first (.*/p.c:7) | *for (i = 0' out && grep -A1 '^first (.*/p.c:7) ' out | grep -q '^  0x[0-9a-f]*  '
result $? "--insn: instructions below the text of their line"
"$dir/btstrace" -r trace --profile | grep -q '^ *[0-9.]* .* first (p)$'
result $? "--profile: a function"
# A file that this user cannot read. Root has to drop its capabilities for that.
shows 0 ' first ' --profile
chmod 000 p
plain=()
[ "$(id -u)" -ne 0 ] || plain=(setpriv --bounding-set=-all)
said="btstrace: $scratch/p cannot be read: Permission denied: its functions have no names"
"${plain[@]}" "$dir/btstrace" -r trace --calls >out 2>err && grep -qF "$said" err &&
	[ "$(wc -l <err)" -eq 1 ] && ! grep -q " first " out
result $? "a file that cannot be read is not said to be gone"
rm p
shows 0 '/p is not there any more: its functions have no names' --calls
mkdir p
shows 0 '/p is not there any more: its functions have no names' --calls
finish
