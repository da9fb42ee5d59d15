# SPDX-License-Identifier: GPL-2.0
# toollong (slow): btstrace: fuzzer, sanitizers, libraries, other tools, speed, 5 million branches
# shellcheck shell=bash

# shellcheck source=tool.sh
. "$B/groups/tool.sh"

FUZZ_SECONDS=300

# Make small traces and files for the fuzzer to begin with.
seeds() {
	local to=$1 from=$2 format bits

	mkdir -p "$to"
	echo 'int f(int x) { return x * 2; } int main(void) { return f(3); }' >"$from/seed.c"
	for bits in 64 32; do
		gcc -m$bits -g -O1 -nostdlib -shared -o "$from/seed$bits.so" "$from/seed.c"
		{ printf '\x80' && cat "$from/seed$bits.so"; } >"$to/elf$bits"
		# clang writes no .debug_aranges, and its other sections differ from gcc's.
		clang -m$bits -g -O1 -nostdlib -shared -o "$from/clang$bits.so" "$from/seed.c"
		{ printf '\x80' && cat "$from/clang$bits.so"; } >"$to/clang$bits"
	done
	"$from/test/record" "$from/seed.bts" "$PROGRAMS/out/guest/walk" exit 0
	for format in 0 1 2 3 4 5 6 7 8 9 a b c d e; do
		{ printf '%b' "\\x0$format" && head -c 20000 "$from/seed.bts"; } >"$to/trace$format"
	done
}

fuzz() {
	local plain=$BTSTRACE

	need_packages fuzz
	need_btstrace fuzzer fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined
	rm -rf "$BTSTRACE/corpus"
	seeds "$BTSTRACE/corpus" "$plain"
	check fuzz -- "$BTSTRACE/fuzz" -max_total_time="$FUZZ_SECONDS" -max_len=24000 \
		-rss_limit_mb=2000 -timeout=30 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix="$BTSTRACE/" "$BTSTRACE/corpus"
}

# Run the whole program with sanitizers. Group tool runs only the unit tests with sanitizers.
sanitised() {
	need_btstrace sanitised tests SANITIZE=address,undefined
	check sanitised-names -- "$B/tool/names.sh" "$BTSTRACE" "$BENCH_BIN/stripped"
	tool_boot sanitised-follow smp=2 pti=off timeout=900 -- toolfollow
	tool_boot sanitised-hostile smp=2 timeout=900 -- toolhostile
}

group_toollong() {
	need_programs
	need_btstrace plain tests
	fuzz
	sanitised
	need_btstrace plain tests
	stepped drcov-libraries "$BENCH_BIN/shapes" opens 2
	stepped drcov-libraries_32 "$BENCH_BIN/shapes_32" sorts 2
	need_packages readers
	check readers -- "$B/tool/readers.sh" "$BTSTRACE" "$BENCH_BIN/shapes"
	check speed -- "$B/tool/speed.sh" "$BTSTRACE" "$BENCH_BIN/loop" "$PROGRAMS/out/guest/walk"
	tool_boot millions icount=1 timeout=3000 stall=1500 -- toolcost
}
