#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Usage in the guest: gdbdemo.sh GDB
# Find a jump through a bad pointer with gdb, as a user to whom Debian's kernel refuses perf.

gdb=$1

# gdb has the same path in the guest as in the host's cache. Make gdb and the directories of its
# path accessible to the user "nobody".
path=$gdb
while [ "$path" != / ]; do
	chmod a+rx "$path"
	path=$(dirname "$path")
done
chmod a+rx / /bt
echo 4 >/proc/sys/kernel/perf_event_paranoid

cat >/tmp/commands <<END
set pagination off
set filename-display basename
set startup-with-shell off
set trace-commands on
break main
run
record btrace
continue
info record
reverse-stepi
backtrace 1
record instruction-history -
END
su -s /bin/sh nobody -c "$gdb -q -nx -batch -x /tmp/commands /bt/badjump" \
	</dev/null >/tmp/said 2>&1
# Remove gdb's warnings about missing character sets and sources, and show +COMMAND as if it was
# typed at gdb's prompt.
sed -n 's/^+\(break\|run\|record\|continue\|info\|reverse\|back\)/(gdb) \1/p; t; /^+/!p' /tmp/said |
	grep -v -e '^$' -e 'could not convert' -e '^This normally should not' \
		-e 'No such file or directory' -e '^37[[:space:]]in '
grep -q 'in execute\|execute (' /tmp/said
