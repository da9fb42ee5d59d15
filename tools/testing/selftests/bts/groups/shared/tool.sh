# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Boots with btstrace.

# tool_boot CASE [KEY=VALUE...] -- PROG [ARG...]: boot, and pass btstrace and test/record to PROG.
tool_boot() {
	boot "$1" kernel=patched config="$CONFIG" mem=1024 stall=300 timeout=400 \
		with="walk walk_32" before="$BTSTRACE/btstrace $BTSTRACE/test/record" "${@:2}"
}
