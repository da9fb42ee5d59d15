# SPDX-License-Identifier: GPL-2.0
# tool: btstrace: unit tests, and what it shows of known, crashing and hostile programs
# shellcheck shell=bash

# shellcheck source=shared/tool.sh
. "$B/groups/shared/tool.sh"

# tool_units VARIANT KEY=VALUE...: build btstrace with these variables of make, and run its unit
# tests.
tool_units() {
	local variant=$1 unit
	shift

	need_btstrace "$variant" tests "$@"
	for unit in "$BTSTRACE"/test/unit*; do
		check "$variant-$(basename "$unit")" -- env -C "$BTSTRACE/test" "$unit"
	done
}

# Build with clang, where a warning is an error, and run a unit test.
other_compiler() {
	need_btstrace clang tests CC=clang
	pass clang
	# This test reads debug information, and that of clang is different.
	check clang-unit_space -- env -C "$BTSTRACE/test" "$BTSTRACE/test/unit_space"
}

# stepped CASE PROGRAM [ARG...]: run a script of tool/ that single-steps a program. CASE is the name
# of the script, and may have a suffix that begins with '-' or '_'. The script runs in a guest: some
# hosts refuse 32-bit programs, and some virtual machines miss steps.
stepped() {
	local tools="bash awk cmp cut diff grep head mktemp objdump od rm sed tail uniq wc xargs"
	tools+=" /usr/bin/printf $B/tool $PROGRAMS/out/guest/walk $PROGRAMS/out/guest/walk_32"
	tools+=" $BENCH_BIN/shapes $BENCH_BIN/shapes_32 $BTSTRACE/btstrace $BTSTRACE/test/record"

	boot "$1" kernel=patched config="$CONFIG" mem=1024 stall=300 timeout=400 tools="$tools" \
		-- bash "$B/tool/${1%%[-_]*}.sh" "$BTSTRACE" "${@:2}"
}

# Record a program, and compare branches of its own code with objdump: the kind, and the target of a
# direct branch.
against_objdump() {
	local bits

	for bits in "" _32; do
		stepped "objdump$bits" "$PROGRAMS/out/guest/walk$bits"
	done
}

# Single-step programs, some with shared libraries, and compare the bytes that were executed up to
# the last branch with btstrace's coverage.
against_steps() {
	local guest=$PROGRAMS/out/guest

	stepped drcov "$guest/walk" mixed 2
	stepped drcov_32 "$guest/walk_32" mixed 2
	stepped drcov-fault "$guest/walk" fault 0
	stepped insn "$BENCH_BIN/shapes" sorts 1
	stepped insn-fault "$guest/walk" fault 0
}

# Print each kind of crash in a source file, and the line that causes it.
causes() {
	grep -no '/\* cause [a-z-]*' "$1" | sed 's/\(.*\):.* \(.*\)/\2=\1/'
}

# For each cause, btstrace's output must show the line that caused the crash.
crashes() {
	local names

	mapfile -t names < <(causes "$B/tool/crashes.c" && echo xx && causes "$B/tool/crashesxx.cc")
	tool_boot crash smp=2 before="$BTSTRACE/btstrace $BTSTRACE/test/record $BENCH_BIN/crashes \
		$BENCH_BIN/crashesxx" -- toolcrash "${names[@]}" "$@"
}

group_tool() {
	local less=

	[ "$CONFIG" = base ] || less=less=10
	other_compiler
	tool_units sanitised SANITIZE=address,undefined
	tool_units plain
	need_programs
	against_objdump
	against_steps
	check names -- "$B/tool/names.sh" "$BTSTRACE" "$BENCH_BIN/stripped"
	check stubs -- "$B/tool/stubs.sh" "$BTSTRACE"
	check choose -- "$B/tool/choose.sh" "$BTSTRACE" "$BENCH_BIN/crashesxx"
	check completion -- "$B/tool/completion.sh" "$BTSTRACE" "$REPO/$BTSTRACE_DIR" \
		"$REPO/man-pages/man1/btstrace.1"
	check manual -- "$B/tool/manual.sh" "$BTSTRACE" "$BENCH_BIN/shapes" \
		"$REPO/man-pages/man1/btstrace.1"
	check rebuilt -- "$B/tool/rebuilt.sh" "$BTSTRACE"
	check terminal -- "$B/tool/terminal.sh" "$BTSTRACE" "$BENCH_BIN/shapes"
	check starts -- "$B/tool/starts.sh" "$BTSTRACE"
	check layers -- "$B/tool/layers.sh" "$BTSTRACE" "$REPO/$BTSTRACE_DIR"
	check memory -- "$B/tool/memory.sh" "$BTSTRACE" "$BENCH_BIN/madeup"
	check full -- "$B/tool/full.sh" "$BTSTRACE" "$BENCH_BIN/shapes"
	check make -- "$B/tool/make.sh" "$BTSTRACE" "$REPO/$BTSTRACE_DIR"
	tool_boot modes smp=2 -- toolmodes $less
	tool_boot follow smp=2 pti=off -- toolfollow $less
	tool_boot hostile smp=2 -- toolhostile $less
	tool_boot shapes smp=2 before="$BTSTRACE/btstrace $BTSTRACE/test/record $BENCH_BIN/shapes \
		$BENCH_BIN/stripped $BENCH_BIN/shapes_32" -- toolshapes $less
	crashes $less
	tool_boot demo pti=on with="badjump example" -- demo
	tool_boot errors -- toolerrors here $less
	tool_boot no-source cpu="$CPU,-ds,-dtes64,-ds-cpl" -- toolerrors no-source
	tool_boot old-kernel kernel=stock config=base -- toolerrors old-kernel
	tool_boot old-kernel-no-source kernel=stock config=base cpu="$CPU,-ds,-dtes64,-ds-cpl" -- \
		toolerrors old-kernel-no-source
}
