# SPDX-License-Identifier: GPL-2.0
# gdb (slow): gdb's own tests gdb.btrace, with stock gdb over perf and patched gdb over ptrace
# shellcheck shell=bash

# Commands that the guest needs in addition to gdb and its tests.
SUITE_TOOLS="busybox runtest expect /usr/bin/gcc /usr/bin/g++"

# suite CASE USER BOARD [FILE...]: run files of gdb's test suite in a guest, with $GDB. See
# guest/gdbsuite.sh.
suite() {
	local case=$1 user=$2 board=$3
	shift 3

	boot "$case" kernel=patched config="$CONFIG,net" mem=2048 icount=1 stall=1800 timeout=14400 \
		tools="$SUITE_TOOLS $GDB/bin/gdb $GDB/bin/gdbserver $GDB/testsuite" \
		before="$B/guest/gdbsuite.sh" -- sh "$GDB" "$user" "$board" "$@"
}

group_gdb() {
	local version

	for version in "${GDB_VERSIONS[@]}"; do
		need_gdb "$version" stock
		suite "stock-$version" root unix
		suite "stock-$version-remote" root native-gdbserver
		need_gdb "$version" patched
		suite "ptrace-$version" nobody unix
		suite "ptrace-$version-remote" nobody native-gdbserver
	done
}
