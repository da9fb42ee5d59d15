# SPDX-License-Identifier: GPL-2.0
# lbr: the branch flight recorder with last branch records
# shellcheck shell=bash

# shellcheck source=ring0.sh
. "$B/groups/ring0.sh"

# Print the key of a machine with 32 LBRs, with 16, or with 16 and no SMAP.
lbr_machine() {
	case $1 in
	16) echo "cpu=Broadwell,x-lbr=16,x-pmu-counts=on" ;;
	16-no-smap) lbr_cpu 16 ;;
	32) lbr_cpu 32 ;;
	*) echo "$1" ;;
	esac
}

# lasts CASE MACHINE KEY=VALUE... -- PROG ARG...
lasts() {
	flight "$1" "$(lbr_machine "$2")" smp=2 "${@:3}"
}

lbr_files() {
	local machine

	for machine in 32 16 16-no-smap; do
		lasts "files-$machine" "$machine" -- lastbranch files "${machine%%-*}"
	done
	flight refused -- lastbranch refused
	lasts booted 32 append=hw_branches=lbr -- lastbranch booted
	lasts booted-list 32 append=hw_branches=lbr,0-1 -- lastbranch booted
	lasts booted-bad 32 append=hw_branches=lbrs -- files booted -
	console_says booted-bad "lbrs is no source and no list of CPUs"
	# Not the state of BTS, nor that of a CPU that goes offline and comes back
	lasts offline 32 -- lastbranch offline
	[ "$CONFIG" = kcsan ] || lasts suspend 32 -- lastbranch suspend
}

# perf has priority over the recorder. These are perf's tests, with the recorder on.
lbr_perf() {
	lasts perf-32 32 -- lastbranch perf
	lasts perf-16 16 -- lastbranch perf
	lasts reset "$(lbr_machine 32),x-pmu-stuck=on" expect=splat -- lastbranch reset
	nothing_else reset 'irq loop stuck|WARNING: .* intel_pmu_handle_irq'
	came_to_end reset
	lasts perf-kept-32 32 append=hw_branches=lbr -- lbr kept
	lasts perf-kept-16 16 append=hw_branches=lbr -- lbr kept
}

# left MACHINE KIND FUNCTION LEAST: a crash that is survived must print at least LEAST branches,
# with FUNCTION on top.
left() {
	need_lab "$B/ring0/lab" bts_crash patched "$CONFIG"
	lasts "$2-$1" "$1" before="$LAB" expect=splat -- lastbranch crash "$2" "$3" "$4"
	nothing_else "$2-$1" "$CRASH"
	came_to_end "$2-$1"
}

# last_words MACHINE KIND FUNCTION LEAST TOP KEY=VALUE...: the same for a fatal crash, with
# FUNCTION among the TOP newest branches.
last_words() {
	local wrong name=$2-$1

	need_lab "$B/ring0/lab" bts_crash patched "$CONFIG"
	lasts "$name" "$1" before="$LAB" expect=splat "${@:6}" -- lastbranch die "$2"
	nothing_else "$name" "$CRASH"
	wrong=$(awk -v function_name="$3" -v least="$4" -v top="$5" \
		-f "$B/ring0/lastbranch.awk" "$CASE_DIR/console")
	echo "$wrong" >"$CASE_DIR/left"
	wrong=$(grep -v '^#' <<<"$wrong")
	if [ -z "$wrong" ]; then
		pass "$name.trace"
	else
		fail "$name.trace" "$wrong (see $CASE_DIR/console)"
	fi
}

lbr_crashes() {
	local CRASH="$CRASH|address: (0000000000000000|ffffffffffffffff|ffffe90000001000)" machine

	need_lab "$B/ring0/lab" bts_crash patched "$CONFIG"
	left 32 task bts_crash_fault 20
	left 32 kernel bts_crash_at 20
	left 32 null 0x0 20
	left 32 jump 0xb75 20
	left 32 error 0xffffffffffffffff 20
	left 32 protection bts_crash_at 20
	left 32 interrupted bts_crash_divide 20
	left 32 bug bts_crash_bug 20
	last_words 32 double bts_crash_double_fault 20 1
	last_words 32 panic bts_crash_panic 20 1
	# The branches before the NMI
	last_words 32 nmipanic send_nmi 20 12
	CRASH="$CRASH|WARNING:.*bts_crash_warn|panic_on_warn" \
		last_words 32 warn bts_crash_warn 20 1 append=panic_on_warn=1
	for machine in 16 16-no-smap; do
		left $machine task bts_crash_fault 4
		left $machine null 0x0 4
		left $machine protection bts_crash_at 4
	done
	need_lab "$B/ring0/lab" bts_crash patched "$CONFIG"
	for machine in 32 16-no-smap; do
		lasts "fixup-$machine" "$machine" before="$LAB" -- lastbranch fixup
	done
}

group_lbr() {
	lbr_files
	lbr_perf
	lbr_crashes
}
