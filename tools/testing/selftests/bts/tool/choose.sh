#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# choose.sh DIR PROGRAM: check which functions of PROGRAM (crashesxx, in C++) btstrace (in
# DIR) shows, and by which names, with -e, --root, --depth and --no-demangle.

dir=$1 program=$(realpath "$2")
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2

# show OPTION...: show the trace; the output goes to the file out
show() {
	"$dir/btstrace" -r trace "$@" >out 2>err && [ ! -s err ]
}

# Print the functions of the call tree in the file out.
functions() {
	sed -n 's/^ *[0-9]\+ \+[0-9]\+ \+[0-9]\+ \+\(.*\)/\1/p' out
}

# Print the depth of the call tree in the file out. Each level adds two blanks of indentation.
deepest() {
	sed -n 's/^.\{38\}\( *\)[^ ].*/\1/p' out |
		awk '{ n = length($0) / 2 + 1; if (n > max) max = n } END { print max }'
}

# The program ends by a signal.
"$dir/test/record" trace "$program" throw >/dev/null 2>&1
[ -s trace ]
result $? "the program runs"

name=_ZN4shop6basket4takeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
show --calls && functions | grep -qxF 'shop::basket::take (crashesxx)'
result $? "--calls: a demangled name"
show --calls --no-demangle && functions | grep -qxF "$name (crashesxx)" && ! grep -q shop:: out
result $? "--no-demangle: as it is in the file"
for mode in --calls --folded; do
	show $mode -e 'func=shop::basket::*'
	[ "$(grep -c . out)" -le 5 ] && grep -q basket::take out && grep -q basket::add out &&
		! grep -q -e throws -e main out
	result $? "$mode -e func=: these functions, and none else"
	cp out named
	show $mode -e 'func=_ZN4shop6basket*' && cmp -s out named
	result $? "$mode -e func=: by their mangled names, too"
done
show --calls -e 'module=crashesxx' && functions | grep -q . && ! functions | grep -qv '(crashesxx)$'
result $? "--calls -e module=: the program's own"
show --flow -e 'module=crashesxx' && grep -q 'shop::basket::add' out && ! grep -q -e libc -e libstdc out
result $? "--flow -e module=: the program's own"
for depth in 1 2 3 7; do
	show --calls --root 'throws*' --depth $depth
	[ "$(deepest)" -eq $depth ]
	result $? "--calls --root --depth $depth: $(deepest) below each other"
done
show --calls --root 'throws*' && [ "$(deepest)" -gt 7 ] && functions | head -n 1 | grep -q '^throws '
result $? "--calls --root: $(deepest) without --depth, and the root first"
for depth in 1 3; do
	show --folded --root 'throws*' --depth $depth &&
		[ "$(awk -F';' 'NF - 1 > max { max = NF - 1 } END { print max }' out)" -eq $depth ]
	result $? "--folded --root --depth $depth"
done
# The branches of hidden functions count for their callers, so the total must stay the same.
total() {
	awk 'NR == 3 { print $3 }' out
}
show --calls --root 'throws*'
all=$(total)
show --calls --root 'throws*' --depth 2
[ "$all" -gt 1000 ] && [ "$(total)" -eq "$all" ]
result $? "--depth: no branch is missing, $all"
show --plain -e 'func=nothing' && grep -q '^--- none of the last [0-9]* branches is one of these' out
result $? "-e: none of the last branches is told to be one"
finish
