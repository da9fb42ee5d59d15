# SPDX-License-Identifier: GPL-2.0
# bench: the emulated Debug Store, judged by software that knows nothing of it
# shellcheck shell=bash
#
# Everything in here runs on the unpatched kernel.

# stock CASE [KEY=VALUE...] -- PROG [ARG...]
stock() {
	boot "$1" kernel=stock config=base "${@:2}"
}

# Branches that are known before they run.
known_branches() {
	stock aux pti=off -- known aux
	stock period1 pti=off -- known period1
	stock period1-pti pti=on smp=2 -- known period1
}

# What the kernel makes of the machine, as others see it.
machine() {
	stock machine pti=off -- machine nopti
	stock machine-pti pti=on -- machine pti
}

# More tracers than processors, and one processor that comes and goes.
tracers() {
	stock tracers-2 smp=2 pti=on -- tracers period1
	stock tracers-4 smp=4 pti=off -- tracers period1
	stock tracers-aux smp=2 pti=off -- tracers aux
}

# Debian's own tools.
stock_tools() {
	stock perf-gdb pti=off tools="perf gdb" -- stock
}

# A CPU that writes a line for each instruction is too slow for a clock that
# goes by real time: it would do nothing but timer interrupts. 64 ns for each
# instruction leave time for work, and make the run the same each time.
SLOW_CLOCK=("qemu=-icount shift=6,sleep=off")

# judge CASE NEED [SAY]: the oracle's word on the window just traced. SAY must
# be part of it.
judge() {
	local arguments case=$1

	read -ra arguments < <(sed -n 's/^# oracle //p' "$CASE_DIR/ktap")
	if (cd "$CASE_DIR" && "$BENCH_BIN/oracle" --log exec.log --rule "${OPT[cpl]}" \
		--need "$2" "${arguments[@]}") >"$CASE_DIR/oracle" 2>&1 &&
		grep -q "${3:-equal}" "$CASE_DIR/oracle"; then
		pass "$case.oracle"
		report "       $(tail -n 1 "$CASE_DIR/oracle")"
		rm -f "$CASE_DIR/exec.log"
	else
		fail "$case.oracle" "$(tail -n +2 "$CASE_DIR/oracle" | head -n 1) (see $CASE_DIR/oracle)"
	fi
}

# Far returns fail with SMAP on in QEMU 7.2, and with ERMS most of the log
# would be iterations of REP MOVSB.
WINDOW=("${SLOW_CLOCK[@]}" pti=off "cpu=$CPU,-smap,-erms")

# All that a user program can do to get into the kernel.
USER_NEEDS=branches=1000,irq,v0,v1,v3,v6,ve,v80,far,iret,syscall,sysret,loop,jcc,jmp,call,ret,indirect

oracle_window_user() {
	local rule

	for rule in after before either; do
		stock "window-user-$rule" "${WINDOW[@]}" cpl="$rule" -- window user
		judge "window-user-$rule" "$USER_NEEDS"
	done
}

# Branches to the next instruction: only the flags tell whether they were taken.
oracle_window_flags() {
	stock window-flags "${WINDOW[@]}" -- window flags
	judge window-flags "branches=25,jcc,loop,sysret" "0 of 0 open"
}

oracle_window_kernel() {
	stock window-kernel "${WINDOW[@]}" -- window kernel 1000000
	judge window-kernel "$USER_NEEDS,branches=1000000,v2"
}

group_bench() {
	machine
	known_branches
	tracers
	stock_tools
	check oracle-itself -- "$BENCH_BIN/oracle" --selftest
	oracle_window_user
	oracle_window_flags
	oracle_window_kernel
}
