# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The oracle, which compares records of branches with what the emulator has executed.

# shellcheck source=boots.sh
. "$B/groups/shared/boots.sh"

# The emulator is slow while it logs each instruction. With a clock that follows real time, the
# guest would mostly handle timer interrupts. With 64 ns for each instruction, there is time for
# work, however slow the host is.
SLOW_CLOCK=("qemu=-icount shift=6,sleep=off")

# consult ARGUMENT...: run the oracle for the last case, with the arguments that the guest has
# printed, and with ARGUMENT. The output goes to the file oracle of that case.
consult() {
	local arguments

	read -ra arguments < <(sed -n 's/^# oracle //p' "$CASE_DIR/ktap")
	(cd "$CASE_DIR" && "$BENCH_BIN/oracle" --log exec.log "${arguments[@]}" \
		--rule "${OPT[cpl]}" "$@") >"$CASE_DIR/oracle" 2>&1
}

# judge CASE NEED [SAY [ARGUMENT...]]: pass if the oracle finds no error in the last case, prints
# SAY, and finds the branches that NEED lists (the oracle's option --need).
judge() {
	local case=$1

	if consult --need "$2" "${@:4}" && grep -q "${3:-equal}" "$CASE_DIR/oracle"; then
		pass "$case.oracle"
		report "       $(tail -n 1 "$CASE_DIR/oracle")"
	else
		fail "$case.oracle" "$(tail -n +2 "$CASE_DIR/oracle" | head -n 1) (see $CASE_DIR/oracle)"
	fi
}

# Keys of boot for a trace that the oracle checks. With SMAP, far returns in user mode fail in QEMU
# 7.2. With ERMS, the kernel uses REP MOVSB and REP STOSB, and the log would have each iteration.
WINDOW=("${SLOW_CLOCK[@]}" pti=off "cpu=$CPU,-smap,-erms")

# judged_long user|kernel[-sampled] RECORDS NEED [ARGUMENT...]: the oracle compares a trace with
# the emulator's log. The guest prints nothing for a long time, as the emulator logs each
# instruction. NEED and ARGUMENT are for judge.
judged_long() {
	local before=$FAILED whose=${1%-sampled} sampled=() cpu=${WINDOW[-1]}

	[ "$whose" = "$1" ] || sampled=(sampled) cpu+=,x-pmu-counts=on
	traced "judged-$1" "${WINDOW[@]}" "$cpu" timeout=3000 stall=1500 -- \
		judged "$whose" "$2" "${sampled[@]}"
	judge "judged-$1" "branches=$2,$3" equal "${@:4}"
	# The log is large: keep it only if a test failed.
	[ "$FAILED" -gt "$before" ] || rm -f "$CASE_DIR/exec.log"
}
