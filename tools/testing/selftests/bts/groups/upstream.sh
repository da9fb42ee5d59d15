# SPDX-License-Identifier: GPL-2.0
# upstream (slow): the kernel's own tests give the same results on both kernels
# shellcheck shell=bash

UPSTREAM_TARGETS="breakpoints ptrace x86 perf_events"

# Programs that are not run. In QEMU 7.2, syscall_arg_fault_32 crashes the kernel.
UPSTREAM_LEAVE="nx_stack_32 nx_stack_64 syscall_arg_fault_32"

build_upstream() {
	local out=$1

	make -C "$LINUX" O="$out" ARCH=x86_64 -j "$JOBS" headers &&
		make -C "$LINUX/tools/testing/selftests" O="$out" ARCH=x86_64 -j "$JOBS" \
			TARGETS="$UPSTREAM_TARGETS" ${CC:+"CC=$CC"}
}

# Build the kernel's selftests, unless that was done before. Set UPSTREAM to the directory of the
# build: the programs are in $UPSTREAM/kselftest.
need_upstream() {
	local log=$CACHE/log/upstream

	need_linux
	UPSTREAM=$CACHE/upstream/$LINUX_KEY
	[ ! -e "$UPSTREAM.built" ] || return 0
	mkdir -p "$UPSTREAM"
	logged "build the kernel's selftests" "$log" build_upstream "$UPSTREAM" ||
		die "the kernel's selftests do not build: $(reason_in "$log"), see $log"
	: >"$UPSTREAM.built"
}

# Print the paths of the programs of a target, without those in UPSTREAM_LEAVE.
upstream_programs() {
	local file

	for file in "$UPSTREAM/kselftest/$1"/*; do
		[ -f "$file" ] && [ -x "$file" ] || continue
		[[ " $UPSTREAM_LEAVE " = *" ${file##*/} "* ]] || echo "$file"
	done
}

# upstream_verdicts KTAP: print the verdicts. If a program was stopped by the time-out, the speed of
# the host decides how often it has failed until then, and how it ends. So print each of its
# verdicts once, and leave out how it ended.
upstream_verdicts() {
	awk '
		!/^# VERDICT / { next }
		NR == FNR { if (/: time-out$/) late[$3]; next }
		!($3 in late) { print; next }
		!/: (exit|signal) [0-9]+$/ && !seen[$0]++' "$1" "$1"
}

# upstream_run TARGET FLAVOUR: run the programs of TARGET in a guest, and set VERDICTS to the file
# with their results.
upstream_run() {
	local target=$1 kind=$2 programs

	programs=$(upstream_programs "$target" | tr '\n' ' ')
	# With SMAP, far returns in user mode fail in QEMU 7.2.
	boot "$target-$kind" kernel="$kind" config=base smp=2 cpu="$CPU,-smap" timeout=600 \
		stall=200 tools="$programs" -- upstream 60 "$UPSTREAM/kselftest/$target"
	VERDICTS=$CASE_DIR/verdicts
	upstream_verdicts "$CASE_DIR/ktap" >"$VERDICTS"
}

upstream_compare() {
	local target=$1 stock

	upstream_run "$target" stock
	stock=$VERDICTS
	upstream_run "$target" patched
	if [ ! -s "$stock" ]; then
		fail "$target.same" "no verdict came"
	elif diff "$stock" "$VERDICTS" >"$VERDICTS.diff"; then
		pass "$target.same"
	else
		fail "$target.same" "$(wc -l <"$VERDICTS.diff") lines differ, see $VERDICTS.diff"
	fi
}

group_upstream() {
	local target kind

	need_upstream
	for target in $UPSTREAM_TARGETS; do
		upstream_compare "$target"
	done
	for kind in stock patched; do
		boot "hw_breakpoint-$kind" kernel="$kind" config=kunit,upstream smp=2 \
			append=kunit.enable=1 -- kunit hw_breakpoint
	done
}
