#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# insn.sh DIR PROGRAM [ARG...]: the instructions that btstrace (in DIR) tells of are
# those that were executed, step by step, in the same order.

dir=$1
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
shift

"$dir/test/record" -x "$scratch/steps" "$scratch/trace" "$@" >/dev/null
"$dir/btstrace" -r "$scratch/trace" --insn >"$scratch/insn" || {
	echo "1..1"
	echo "not ok 1 - btstrace --insn"
	exit 1
}

python3 - "$scratch" <<'END'
import sys

scratch = sys.argv[1]

def once(addresses):
    """An instruction that repeats itself is one."""
    return [a for i, a in enumerate(addresses) if not i or addresses[i - 1] != a]

with open(scratch + "/steps") as f:
    steps = once([int(line.split()[0]) for line in f if line != "branch\n"])
with open(scratch + "/insn") as f:
    lines = f.readlines()
insn = once([int(line.split()[0], 16) for line in lines if line.startswith("  0x")])
same = 0
while same < min(len(steps), len(insn)) and steps[same] == insn[same]:
    same += 1
# The system call that does not return, and what a fault kept from being executed
fine = same == len(insn) and len(steps) - same <= 1 and same > 1000
print("1..2")
print("" if fine else "not ", "ok 1 - %d of %d instructions, in their order" % (same, len(steps)), sep="")
if not fine:
    print("# then", [hex(a) for a in steps[same:same + 3]], "but", [hex(a) for a in insn[same:same + 3]])
unread = sum("(cannot be read)" in line for line in lines)
print("not " if unread else "", "ok 2 - all can be read", sep="")
sys.exit(not fine or unread != 0)
END
