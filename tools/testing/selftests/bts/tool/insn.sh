#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# insn.sh DIR PROGRAM [ARG...]: check that btstrace (in DIR) shows the instructions that
# single steps have executed, in the same order.

dir=$1
shift
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"

"$dir/test/record" -x "$scratch/steps" "$scratch/trace" "$@" >/dev/null
"$dir/btstrace" -r "$scratch/trace" --insn >"$scratch/out"
result $? "btstrace --insn"

# Compare the addresses. Repetitions of one instruction, as by REP, count once.
awk '$1 != "branch" { print $1 }' "$scratch/steps" | xargs printf '0x%x\n' | uniq >"$scratch/executed"
sed -n 's/^  \(0x[0-9a-f]*\) .*/\1/p' "$scratch/out" | uniq >"$scratch/shown"
executed=$(wc -l <"$scratch/executed") shown=$(wc -l <"$scratch/shown")
# The last instruction is not shown if it faults.
[ "$shown" -gt 1000 ] && [ $((executed - shown)) -ge 0 ] && [ $((executed - shown)) -le 1 ] &&
	head -n "$shown" "$scratch/executed" | cmp -s - "$scratch/shown"
result $? "$shown of $executed instructions, in their order"
diff "$scratch/executed" "$scratch/shown" | head -n 5 | sed 's/^/# /'
! grep -q '(cannot be read)' "$scratch/out"
result $? "all can be read"
finish
