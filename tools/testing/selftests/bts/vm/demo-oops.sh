# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The second part of vmtest.sh demo: a crash of the kernel.

# show_oops CONSOLE: print lines of an oops: BUG, RIP, and the newest branches before the fault.
show_oops() {
	tr -d '\r' <"$1" | sed 's/^\[[ 0-9.]*\] //' | awk '
	/^BUG:|^RIP:/ && !traces {
		print "  " $0
	}
	/^Last branches of CPU/ {
		traces++
	}
	traces == 1 && (/^Last branches/ || / <- /) && n++ < 18 {
		print "  " $0
	}'
}

demo_oops() {
	echo
	echo "A module of the kernel crashes. The oops shows the last branches before the fault:"
	need_lab "$B/guest/labs/crash" bts_crash patched base
	boot demo-oops kernel=patched config=base pti=on before="$LAB" expect=splat -- \
		crash folded 1 >&2
	show_oops "$CASE_DIR/console"
}
