#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# layers.sh DIR SOURCE: check that the files of btstrace (in SOURCE, built in DIR) form
# layers: what they include and call makes no circle. A C file and the header of the same
# name count as one. Also find constants that are defined twice, and functions for tests only.

dir=$1 source=$2
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
cd "$source" || exit 2

for object in "$dir"/*.o; do
	nm "$object" | sed -n "s|^.* \([A-Z]\) \([^ ]*\)$|\1 \2 $(basename "$object" .o)|p"
done >"$scratch/symbols"

{
	grep -o '^#include "[^"]*\.h"' ./*.[ch] | sed -E 's|^./(.*)\.[ch]:#include "(.*)\.h"|\1 \2|'
	awk '$1 != "U" { where[$2] = $3 } $1 == "U" { need[$2] = need[$2] " " $3 }
	     END { for (s in need) if (s in where) {
			n = split(need[s], by)
			for (i = 1; i <= n; i++) print by[i], where[s] } }' "$scratch/symbols"
} | awk '$1 != $2' | sort -u >"$scratch/needs"

echo "1..4"
failed=0
needs=$(wc -l <"$scratch/needs")
[ "$needs" -gt 200 ] || { printf 'not ' && failed=1; }
echo "ok 1 - $needs needs of one file by another"
tsort "$scratch/needs" >/dev/null 2>"$scratch/circles" || { printf 'not ' && failed=1; }
echo "ok 2 - no circle"
sed 's/^/# /' "$scratch/circles"

# No constant may be defined in two files. Each global function must be used in the program
# itself, not only in its tests.
twice=$(grep -o '^#define *[A-Za-z_0-9]*' ./*.[ch] | sed 's/.*#define *//' | sort | uniq -d)
[ -z "$twice" ] || { printf 'not ' && failed=1; }
echo "ok 3 - no constant is defined in two files: ${twice//$'\n'/ }"
unused=$(awk '$1 == "T" && $2 != "main" { print $2 }' "$scratch/symbols" | while read -r name; do
	[ "$(cat ./*.c | grep -cw "$name")" -gt 1 ] || echo "$name"
done)
[ -z "$unused" ] || { printf 'not ' && failed=1; }
echo "ok 4 - no function is there for tests only: ${unused//$'\n'/ }"
exit $failed
