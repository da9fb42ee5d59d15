#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# drcov.sh DIR PROGRAM [ARG...]: check that the coverage that btstrace (in DIR) writes has
# exactly the bytes that were executed according to single steps, in all modules. Bytes that
# were executed after the last branch may be missing.

dir=$1
shift
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

# The program may end in any way, so ignore the status.
"$dir/test/record" -x "$scratch/steps" "$scratch/trace" "$@"
[ -s "$scratch/steps" ] &&
	"$dir/btstrace" -r "$scratch/trace" --drcov -o "$scratch/drcov" || {
	echo "1..1"
	echo "not ok 1 - the programs run"
	exit 1
}

# The file is text, followed by binary blocks of two words: start, and size | module << 16
text=$(grep -abo '^BB Table: [0-9]* bbs' "$scratch/drcov" | cut -d: -f1)
text=$((text + $(tail -c "+$((text + 1))" "$scratch/drcov" | head -n 1 | wc -c)))
head -c "$text" "$scratch/drcov" | sed -n 's/^\([0-9]*\), \(0x[0-9a-f]*\), .*/\1 \2/p' |
	while read -r id base; do
		echo "$id $((base))"
	done >"$scratch/modules"
tail -c "+$((text + 1))" "$scratch/drcov" | od -An -v -tu4 -w8 >"$scratch/blocks"

# awk's numbers are doubles, in which addresses of user mode are exact.
awk '
BEGIN {
	CONVFMT = "%.0f"
}
FILENAME ~ /modules$/ {
	base[$1] = $2
	next
}
FILENAME ~ /blocks$/ {
	module = int($2 / 65536)
	seen[module]
	for (i = 0; i < $2 % 65536; i++)
		covered[base[module] + $1 + i]
	next
}
$1 == "branch" {
	for (i = 0; i < n; i++)
		for (j = 0; j < len[i]; j++)
			done[at[i] + j]
	n = 0
	next
}
{
	at[n] = $1
	len[n++] = $2
	for (j = 0; j < $2; j++)
		maybe[$1 + j]
}
END {
	for (i in done) {
		total++
		missing += !(i in covered)
	}
	for (i in covered)
		extra += !(i in maybe)
	for (i in seen)
		modules++
	print "1..2"
	print (missing || total < 1000 ? "not " : "") "ok 1 - " total " bytes executed, " \
		missing + 0 " not covered, in " modules + 0 " modules"
	print (extra ? "not " : "") "ok 2 - " extra + 0 " bytes covered, but not executed"
	exit missing || extra || total < 1000
}' "$scratch/modules" "$scratch/blocks" "$scratch/steps"
