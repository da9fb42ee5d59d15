# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The third part of vmtest.sh demo: the program badjump in gdb, as an unprivileged user.

demo_gdb() {
	echo
	echo "The same program in gdb with the patch in gdb/, by a user without permission for perf:"
	need_gdb 13.1 patched
	boot demo-gdb kernel=patched config=base pti=on with=badjump tools=busybox \
		before="$B/guest/gdbdemo.sh $GDB/bin/gdb" -- sh >&2
	grep -v '^# init:' "$CASE_DIR/ktap"
}
