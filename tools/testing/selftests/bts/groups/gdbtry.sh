# SPDX-License-Identifier: GPL-2.0
# gdbtry (slow): throwaway
# shellcheck shell=bash
. "$B/groups/gdb.sh"
group_gdbtry() {
	GDB=$TRY_GDB
	if [ -n "$TRY_SCRIPT" ]; then
		boot try kernel=patched config="$CONFIG" mem=2048 stall=900 timeout=14400 \
			tools="$SUITE_TOOLS $GDB/bin/gdb $GDB/bin/gdbserver" with="badjump" \
			before="$TRY_SCRIPT" -- sh "$GDB"
	else
		# shellcheck disable=SC2086
		suite try $TRY_SUITE
	fi
}
