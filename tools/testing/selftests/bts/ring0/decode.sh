#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check that decode_stacktrace.sh decodes both sides of a branch. As the test bench builds most
# kernels without debug information, decode a branch of a small program.
#
#   decode.sh DECODE_STACKTRACE

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
cd "$work" || exit 2

cat >place.c <<'C'
int callee(int n)
{
	return n + 1;
}

int caller(int n)
{
	n = callee(n);
	return n;
}

int main(int argc, char **argv)
{
	(void)argv;
	return caller(argc);
}
C
cc -g -O0 -no-pie -o vmlinux place.c || exit 2
call=$(objdump -d --no-show-raw-insn vmlinux | awk '
	/<caller>:/ { on = 1; start = $1 }
	on && $2 ~ /^call/ { sub(/:.*/, ""); print $1, start; exit }')
read -r at start <<<"$call"
size() { nm -S vmlinux | awk -v name="$1" '$4 == name { sub(/^0+/, "", $2); print $2 }'; }
line=$(printf ' 0  callee+0x0/0x%s <- caller+0x%x/0x%s, 3 branches' "$(size callee)" \
	$((0x$at - 0x$start)) "$(size caller)")
got=$(bash "$1" vmlinux "$work" <<<"$line")

echo "TAP version 13"
echo "1..1"
echo "# $line"
echo "# $got"
if [[ $got =~ callee\ \(.*place.c:2\)\ \<-\ caller\ \(.*place.c:8\),\ 3\ branches$ ]]; then
	echo "ok 1 both sides of a branch are decoded"
else
	echo "not ok 1 both sides of a branch are decoded"
fi
