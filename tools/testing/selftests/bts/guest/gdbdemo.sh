#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# gdbdemo.sh GDB, in the guest: a jump through a bad pointer in gdb, by a user whom
# perf refuses.

gdb=$1

# The user has to go through the directories of the host's cache.
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
# The guest has neither tables of character sets nor the source, of which gdb warns.
# The shell's prompts are those of a session: what gdb shows as +COMMAND was typed.
sed -n 's/^+\(break\|run\|record\|continue\|info\|reverse\|back\)/(gdb) \1/p; t; /^+/!p' /tmp/said |
	grep -v -e '^$' -e 'could not convert' -e '^This normally should not' \
		-e 'No such file or directory' -e '^37[[:space:]]in '
grep -q 'in execute\|execute (' /tmp/said
