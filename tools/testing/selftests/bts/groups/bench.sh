# SPDX-License-Identifier: GPL-2.0
# bench: the emulated Debug Store, with the stock kernel, perf, gdb, an oracle, and without a kernel
# shellcheck shell=bash
#
# Without --built, all guests of this group run the unpatched kernel, except those of metal(), which
# run no kernel.

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"
# shellcheck source=shared/oracle.sh
. "$B/groups/shared/oracle.sh"

# Record branches that are known in advance.
known_branches() {
	stock aux pti=off -- known aux
	stock period1 pti=off -- known period1
	stock period1-pti pti=on smp=2 -- known period1
}

# Check what the stock kernel detects.
machine() {
	stock machine pti=off -- machine nopti
	stock machine-pti pti=on -- machine pti
}

# Known branches with other processors, and other options of the emulator. On Nehalem and Haswell,
# perf refuses the event with period 1, so use intel_bts. Core 2 and Penryn are models on which perf
# acknowledges a PMI before it handles the overflow, not after (late ACK).
matrix() {
	stock core2duo cpu=core2duo pti=on -- known period1 20000
	stock icount cpu=Penryn icount=1 pti=on -- known period1 20000
	stock singlestep cpu=max pti=on -- known period1 20000 singlestep
	stock rule-before cpu=Nehalem cpl=before pti=off -- known aux 20000
	stock rule-either cpu=Haswell cpl=either pti=off -- known aux 20000
}

# Run programs on the machine without an operating system, to use it in ways that Linux does not.
metal() {
	need_emulator
	check metal -- env QEMU_L="${QEMU_L[*]}" "$B/metal/all.sh" "$QEMU" "$JOBS"
}

# More tracers than CPUs, while one CPU goes offline and online.
tracers() {
	stock tracers-2 smp=2 pti=on -- tracers period1
	stock tracers-4 smp=4 pti=off -- tracers period1
	stock tracers-aux smp=2 pti=off -- tracers aux
}

# Debian's own perf and gdb.
stock_tools() {
	local depth

	stock perf-gdb pti=off tools="perf gdb" with=victim -- stock
	for depth in 8 16 32; do
		stock "perf-lbr$depth" "$(lbr_cpu "$depth")" tools=perf with=victim -- \
			stock lbr "$depth"
	done
}

# finds CASE SAY [ARGUMENT...]: pass if the oracle finds an error in the records of the file
# planted, and prints SAY. ARGUMENT is for the oracle.
finds() {
	local status=0

	consult --records planted "${@:3}" || status=$?
	if [ "$status" -eq 1 ] && grep -q "$2" "$CASE_DIR/oracle"; then
		pass "$1"
	else
		fail "$1" "the oracle said: $(tail -n 1 "$CASE_DIR/oracle")"
	fi
}

# plant_errors CASE: remove, repeat and change the middle record of the last case. The oracle must
# find each of these errors.
plant_errors() {
	local case=$1 records=$CASE_DIR/records planted=$CASE_DIR/planted middle

	middle=$(($(stat -c %s "$records") / 24 / 2))
	{ head -c $((middle * 24)) "$records"; tail -c +$((middle * 24 + 25)) "$records"; } >"$planted"
	finds "$case.missing" "record $middle: 1 missing"
	{ head -c $((middle * 24 + 24)) "$records"; tail -c +$((middle * 24 + 1)) "$records"; } >"$planted"
	finds "$case.extra" "1 extra"
	{ head -c $((middle * 24)) "$records"; printf '\x90'; tail -c +$((middle * 24 + 2)) "$records"; } >"$planted"
	finds "$case.wrong" "record $middle: wrong"
}

# NEED of judge() for the program window. v and a hexadecimal number is an entry into the kernel by
# this vector, irq an entry by any vector from 32 on.
USER_NEEDS=branches=1000,irq,v0,v1,v3,v6,ve,v80,far,iret,syscall,sysret,loop,jcc,jmp,call,ret,indirect

oracle_window_user() {
	local rule
	local -A other=([after]=before [before]=either [either]=after)

	for rule in after before either; do
		stock "window-user-$rule" "${WINDOW[@]}" cpl="$rule" -- window user
		judge "window-user-$rule" "$USER_NEEDS"
		# If the oracle assumes another rule of the filter, it must find the records wrong.
		cp "$CASE_DIR/records" "$CASE_DIR/planted"
		finds "window-user-$rule.rule" "first difference" --rule "${other[$rule]}"
	done
}

# Trace with the registers in the emulator's log. If the target of a conditional branch is the next
# instruction, the oracle needs the registers to know whether the branch was taken.
oracle_window_flags() {
	stock window-flags "${WINDOW[@]}" -- window flags
	judge window-flags "branches=25,jcc,loop,sysret" "0 of 0 open"
	plant_errors window-flags
}

oracle_window_kernel() {
	local before=$FAILED

	# The guest prints nothing for a long time, as the emulator logs each instruction.
	stock window-kernel "${WINDOW[@]}" timeout=400 stall=300 -- window kernel 1000000
	judge window-kernel "$USER_NEEDS,branches=1000000,v2"
	# The log is large: keep it only if a test failed.
	[ "$FAILED" -gt "$before" ] || rm -f "$CASE_DIR/exec.log"
}

group_bench() {
	machine
	metal
	known_branches
	matrix
	tracers
	stock_tools
	check oracle-itself -- "$BENCH_BIN/oracle" --selftest
	oracle_window_user
	oracle_window_flags
	oracle_window_kernel
}
