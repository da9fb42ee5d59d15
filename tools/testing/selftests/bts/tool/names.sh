#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# names.sh DIR PROGRAM: check that the output of btstrace (in DIR) is valid in its format,
# and that its text has no control characters, if the program's name is full of special characters.

dir=$1 program=$(realpath "$2")
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2
# Compare bytes, not characters.
export LC_ALL=C

# A name with quotes, separators, control characters of one byte and of two, invalid UTF-8, UTF-8
name=$'e"v,i;l\\ {}\n\t\x1b[31m\x80\xc2\x9b\xe2\x82\xac 7'
# The name as btstrace must print it in text, and in JSON
text=$'e"v,i;l\\ {}???[31m??\xe2\x82\xac 7'
json=$'e\\"v,i;l\\\\ {}\\u000a\\u0009\\u001b[31m\\ufffd\\u009b\xe2\x82\xac 7'

cp "$program" "./$name" && "$dir/test/record" trace "./$name" sorts 2
result $? "the program runs"
modes='full raw json calls folded drcov summary crash flow insn lcov profile lines loops'
for mode in $modes perfetto; do
	"$dir/btstrace" -r trace "--$mode" >"$mode"
done

# A file of drcov is text up to the line 'BB Table', and binary behind it.
sed -n '1,/^BB Table: /p' drcov >text
head=$(wc -c <text) size=$(wc -c <drcov) blocks=$(sed -n 's/^BB Table: \([0-9]*\) bbs$/\1/p' text)
[ "${blocks:-0}" -gt 100 ] && [ $((size - head)) -eq $((8 * blocks)) ]
result $? "drcov: $blocks blocks, as many as it says"
modules=$(sed -n 's/^Module Table: version 2, count \([0-9]*\)$/\1/p' text)
[ "${modules:-0}" -ge 3 ] &&
	[ "$(grep -c '^[0-9]*, 0x[0-9a-f]*, 0x[0-9a-f]*, 0x[0-9a-f]*, .' text)" -eq "$modules" ] &&
	[ "$(wc -l <text)" -eq $((modules + 5)) ]
result $? "drcov: $modules modules, a line each"
mv text drcov

for mode in $modes; do
	[ -s "$mode" ] && iconv -f UTF-8 -t UTF-8 "$mode" >/dev/null 2>&1 &&
		! grep -aq -e '[[:cntrl:]]' -e $'\xc2[\x80-\x9f]' "$mode"
	result $? "$mode: UTF-8 without controls"
done
for mode in full json insn calls flow folded profile drcov; do
	case $mode in
	json) grep -aqF "\"module\":\"$json\"" $mode ;;
	# In this format, ; separates names, so btstrace replaces it.
	folded) grep -aqF -e ";${text/;/:}+" $mode ;;
	*) grep -aqF -e "$text" $mode ;;
	esac
	result $? "$mode: has the name"
done

# Reduce a line: a string becomes s; a number, true, false, null or an object becomes n. A valid
# line ends up as n.
awk '{
	gsub(/"([^"\\]|\\["\\\/bfnrt]|\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f])*"/, "s")
	gsub(/:(-?(0|[1-9][0-9]*)|true|false|null)/, ":n")
	while (gsub(/{s:[sn](,s:[sn])*}/, "n"))
		;
	wrong += $0 != "n"
} END {
	exit wrong || NR < 1000
}' json
result $? "json: each of $(wc -l <json) lines is an object"

"$dir/test/timeline" perfetto >timeline
begin=$(grep -ac '^B ' timeline) end=$(grep -ac '^E ' timeline)
! grep -aqx broken timeline && grep -aqF -e "$text" timeline
result $? "perfetto: well-formed, and has the name"
[ "$begin" -gt 50 ] && [ "$begin" -eq "$end" ]
result $? "perfetto: $begin calls, and all end"

stacks=$(wc -l <folded)
[ "$stacks" -gt 50 ] && [ "$(grep -acE '^[^;]+(;[^;]+)* [0-9]+$' folded)" -eq "$stacks" ]
result $? "folded: $stacks stacks with a number each"
finish
