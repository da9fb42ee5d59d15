# SPDX-License-Identifier: GPL-2.0
# tool: btstrace: each mode equals what is known, whatever programs do to it
# shellcheck shell=bash

# The parts that need no kernel, as they are and watched by the sanitisers.
units() {
	local variant=$1 unit
	shift

	need_btstrace "$variant" tests "$@"
	for unit in "$BTSTRACE"/test/unit*; do
		check "$variant-$(basename "$unit")" -- env -C "$BTSTRACE/test" "$unit"
	done
}

# Without a warning by the other compiler, too.
other_compiler() {
	need_btstrace clang all CC=clang
	pass clang
}

# used CASE [KEY=VALUE...] -- PROG [ARG...]: PROG gets the two programs.
used() {
	boot "$1" kernel=patched config="$CONFIG" mem=1024 stall=300 timeout=400 \
		with="walk walk_32" before="$BTSTRACE/btstrace $BTSTRACE/test/record" "${@:2}"
}

# What is decoded, of a program executed step by step, against objdump.
against_objdump() {
	local bits

	for bits in "" _32; do
		check "objdump$bits" -- "$B/tool/objdump.sh" "$BTSTRACE" "$PROGRAMS/out/guest/walk$bits"
	done
}

# Coverage, byte by byte.
against_steps() {
	local bits

	for bits in "" _32; do
		check "drcov$bits" -- "$B/tool/drcov.sh" "$BTSTRACE" "$PROGRAMS/out/guest/walk$bits" mixed 2
	done
}

group_tool() {
	other_compiler
	units sanitised SANITIZE=address,undefined
	units plain
	need_programs
	against_objdump
	against_steps
	check completion -- "$B/tool/completion.sh" "$BTSTRACE" "$REPO/$BTSTRACE_DIR"
	used modes smp=2 -- toolmodes
	used follow smp=2 pti=off -- toolfollow
	used hostile smp=2 -- toolhostile
	used errors -- toolerrors here
	used no-source cpu="$CPU,-ds,-dtes64,-ds-cpl" -- toolerrors no-source
	used old-kernel kernel=stock config=base -- toolerrors old-kernel
}
