#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# objdump.sh DIR PROGRAM: check that btstrace (in DIR) and objdump agree on each branch that
# PROGRAM takes in its own code: its kind and, if it is direct, its target.

dir=$1 program=$2
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

"$dir/test/record" "$scratch/trace" "$program" mixed 2 &&
	"$dir/btstrace" -r "$scratch/trace" --raw >"$scratch/raw" &&
	"$dir/btstrace" -r "$scratch/trace" --json >"$scratch/json" &&
	objdump -d --no-show-raw-insn "$program" >"$scratch/code" || {
	echo "1..1"
	echo "not ok 1 - the programs run"
	exit 1
}

# Print for each instruction: address, kind as btstrace names it, and the target in the code.
awk -F '\t' '
/^ *[0-9a-f]+:\t/ {
	sub(/^ */, "", $1)
	sub(/:$/, "", $1)
	n = split($2, word, " ")
	i = 1
	while (word[i] ~ /^(bnd|notrack|repz|rep|data16|cs|ds|addr32|lock)$/ && i < n)
		i++
	name = word[i]
	kind = "none"
	if (name ~ /^call/)
		kind = "call"
	else if (name ~ /^ret/)
		kind = "ret"
	else if (name ~ /^jmp/)
		kind = "jmp"
	else if (name ~ /^(j|loop)/)
		kind = "jcc"
	target = word[i + 1] ~ /^[0-9a-f]+$/ ? word[i + 1] : "-"
	print $1, kind, target
}' "$scratch/code" >"$scratch/known"

# The n-th branch or leave record of --raw is the n-th line of type branch in JSON.
awk '
FILENAME ~ /known$/ {
	kind[$1] = $2
	target[$1] = $3
	next
}
FILENAME ~ /raw$/ {
	if ($2 == "branch" || $2 == "leave") {
		from[++n] = substr($3, 3)
		to[n] = substr($4, 3)
	}
	next
}
/"type":"branch"/ {
	split($0, part, "\"kind\":\"")
	sub(/".*/, "", part[2])
	got[++m] = part[2]
}
END {
	for (i = 1; i <= n; i++) {
		if (!(from[i] in kind))
			continue
		seen++
		count[got[i]]++
		if (got[i] != kind[from[i]]) {
			print "# " from[i] ": " got[i] ", but objdump says " kind[from[i]]
			wrong++
		} else if (target[from[i]] != "-" && target[from[i]] != to[i]) {
			print "# " from[i] " goes to " to[i] ", but objdump says " target[from[i]]
			wrong++
		}
	}
	print "1..2"
	print (n == m && !wrong && seen > 1000 ? "" : "not ") "ok 1 - " seen " of " n " branches equal objdump"
	all = count["call"] > 50 && count["ret"] > 50 && count["jmp"] > 50 && count["jcc"] > 50
	print (all ? "" : "not ") "ok 2 - of each kind"
	exit wrong || !all
}' "$scratch/known" "$scratch/raw" "$scratch/json"
