#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In the guest: run files of gdb's test suite, and print their results as KTAP.
#
# gdbsuite.sh GDB_DIR USER BOARD FILE...
#   GDB_DIR  bin/gdb, bin/gdbserver, testsuite/
#   USER     root, or nobody, to whom Debian's kernel refuses perf
#   BOARD    unix, or native-gdbserver
#   FILE     a file of testsuite/gdb.btrace, without .exp; none: all

gdb=$1 user=$2 board=$3
shift 3
export SHELL=/bin/sh
work=/tmp/suite

# open_path FILE: make FILE and its directories accessible to all users.
open_path() {
	path=$1
	while [ "$path" != / ]; do
		chmod a+rx "$path"
		path=$(dirname "$path")
	done
}

write_site() {
	for name in build host target; do
		echo "set ${name}_alias x86_64-pc-linux-gnu"
		echo "set ${name}_triplet x86_64-pc-linux-gnu"
	done
	echo "set tool gdb"
	echo "set srcdir $gdb/testsuite"
	echo "lappend boards_dir $gdb/testsuite/boards"
	echo "set objdir $work"
	echo "set GDB $gdb/bin/gdb"
	echo "set GDBSERVER $gdb/bin/gdbserver"
	echo "set CC_FOR_TARGET /usr/bin/gcc"
	echo "set CXX_FOR_TARGET /usr/bin/g++"
	# An emulated CPU on a busy host is slow.
	echo "set gdb_test_timeout 120"
}

# Print a result of each file in gdb.sum as KTAP, and a line "# counts" with the file's name and
# the numbers of its lines with these results: passes; failures; unsupported, untested, and expected
# or known failures; others, such as errors and duplicate names.
tell() {
	awk '
	function close_file() {
		if (file == "")
			return
		n++
		printf "%s %d %s%s\n", bad ? "not ok" : "ok", n, file,
			bad ? " # " first : ""
		printf "# counts %s %d %d %d %d\n", file, pass, fail, unsupported, other
	}
	/^Running .*\.exp/ {
		close_file()
		file = $2
		sub(/.*\//, "", file)
		sub(/\.exp$/, "", file)
		pass = fail = unsupported = other = bad = 0
		first = ""
	}
	/^PASS:/ { pass++ }
	/^(FAIL|UNRESOLVED|ERROR|KPASS|XPASS|DUPLICATE|PATH)/ {
		if (/^FAIL/)
			fail++
		else
			other++
		if (!bad++)
			first = $0
	}
	/^(UNSUPPORTED|UNTESTED|KFAIL|XFAIL)/ { unsupported++ }
	/^\t\t=== gdb Summary/ { close_file(); file = "" }
	END {
		close_file()
		if (!n)
			exit 1
		print "1.." n
	}' "$work/gdb.sum"
}

open_path "$gdb"
chmod a+rx / /root 2>/dev/null
chmod a+rw /dev/null /dev/zero /dev/tty /dev/ptmx
mount -t devpts -o mode=620,ptmxmode=666,remount devpts /dev/pts
ifconfig lo 127.0.0.1 up
echo "127.0.0.1 localhost" >/etc/hosts
mkdir -p "$work"
write_site >"$work/site.exp"
chmod 777 "$work"
if [ "$user" != root ]; then
	# From level 3, Debian's kernel refuses perf to users. The mainline kernel has no level 3.
	echo 4 >/proc/sys/kernel/perf_event_paranoid
	chown -R "$user" "$work"
fi

few=
[ $# -eq 0 ] || [ $# -gt 6 ] || few=1
files=
for file; do
	files="$files gdb.btrace/$file.exp"
done
[ -n "$files" ] || files=$(cd "$gdb/testsuite" && echo gdb.btrace/*.exp)
echo "KTAP version 1"
cd "$work" || exit
cat >"$work/run" <<END
cd $work && exec runtest --status --tool gdb --target_board $board $files
END
su -s /bin/sh "$user" -c "sh $work/run" </dev/null 2>&1 | tee "$work/output" |
	awk '/^(Running|FAIL|ERROR|WARNING|UNRESOLVED|XPASS|KPASS|UNSUPPORTED|UNTESTED)/ {
		print "# " $0
		fflush()
	}'
if ! tell; then
	echo "not ok 1 no file of the suite ran: $(tail -n 1 "$work/output")"
	echo "1..1"
fi
# For one to six FILEs, print the whole log; otherwise each failure and the 40 lines before it.
if [ -n "$few" ]; then
	cat "$work/gdb.log"
else
	grep -aE -B 40 '^(FAIL|ERROR|UNRESOLVED):' "$work/gdb.log"
fi | sed 's/^/# log: /'
