#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# manual.sh DIR PROGRAM PAGE: check that each example of the manual page PAGE that shows a
# recorded trace works as typed, with btstrace (in DIR) and a trace of PROGRAM. Examples
# that trace must have a valid command line; their result depends on this system's kernel.

dir=$1
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
page=$(realpath "$3") program=$(realpath "$2")
cd "$scratch" || exit 2
PATH=$dir:$PATH

"$dir/test/record" trace "$program" sorts 2
result $? "the program runs"
# Extract the examples, with the hyphens that troff shows.
mapfile -t all < <(sed -n 's/^\$ \\fB\(btstrace .*\)\\fP$/\1/p' "$page" | sed 's/\\-/-/g')
mapfile -t examples < <(printf '%s\n' "${all[@]}" | grep -e ' -r trace')
for example in "${examples[@]}"; do
	bash -c "$example" >out 2>err && [ ! -s err ]
	result $? "$example"
	for file in out stacks timeline.pftrace coverage.drcov coverage.info; do
		[ ! -s "$file" ] || break
	done
	[ -s "$file" ]
	result $? "$example: says something"
	rm -f out stacks timeline.pftrace coverage.drcov coverage.info
done
[ ${#examples[@]} -ge 16 ]
result $? "${#examples[@]} examples"
cp "$(type -P true)" demo
cp "$(type -P sleep)" server
./server 60 &
server=$!
mapfile -t live < <(printf '%s\n' "${all[@]}" | grep -ve ' -r trace')
for example in "${live[@]}"; do
	timeout -s INT 2 bash -c "$example" >out 2>err
	status=$?
	# The example ended, or timeout ended it, or this kernel or machine cannot trace.
	case $status in
	0 | 110 | 116 | 124 | 130) true ;;
	*) false ;;
	esac
	result $? "$example: status $status"
done
kill $server
wait $server 2>/dev/null
[ ${#live[@]} -ge 3 ]
result $? "${#live[@]} examples that trace"
# Each mode in --help must have an example.
for mode in $("$dir/btstrace" --help | sed -n '/^Modes/,/^$/p' | grep -o -e '--[a-z]*' | sort -u); do
	case $mode in
	--crash) mode='trace$' ;;
	--summary) mode='-c$' ;;
	esac
	printf '%s\n' "${examples[@]}" | grep -qe "$mode"
	result $? "$mode: an example"
done
finish
