# SPDX-License-Identifier: GPL-2.0
# lbr: the branch flight recorder with last branch records
# shellcheck shell=bash

# shellcheck source=shared/crashes.sh
. "$B/groups/shared/crashes.sh"
# shellcheck source=shared/jump.sh
. "$B/groups/shared/jump.sh"

# Print the number of LBRs of a machine.
lbr_depth() {
	case $1 in
	16* | amd) echo 16 ;;
	8 | arch-8) echo 8 ;;
	*) echo 32 ;;
	esac
}

# lbr_boot CASE MACHINE KEY=VALUE... -- PROG ARG...: boot. MACHINE is for lbr_machine.
lbr_boot() {
	local word=()

	# Without this, Linux warns of speculative return stack overflow on this model.
	[ "$2" != amd ] || word=(append="spec_rstack_overflow=off")
	strict "$1" "$(lbr_machine "$2")" smp=2 "${word[@]}" "${@:3}"
}

lbr_files() {
	local machine

	for machine in 32 16 16-no-smap 8 arch arch-8 amd; do
		lbr_boot "files-$machine" "$machine" -- lastbranch files "$(lbr_depth $machine)"
	done
	strict refused -- lastbranch refused
	for machine in 32 arch amd; do
		lbr_boot "ignored-$machine" $machine "$(lbr_machine $machine),x-lbr-ignored=on" -- \
			lastbranch refused
	done
	for machine in 32 arch; do
		lbr_boot "booted-$machine" $machine append=hw_branches=lbr -- lastbranch booted
	done
	lbr_boot booted-amd amd append="hw_branches=lbr spec_rstack_overflow=off" -- \
		lastbranch booted
	lbr_boot booted-list 32 append=hw_branches=lbr,0-1 -- lastbranch booted
	lbr_boot booted-bad 32 append="hw_branches hw_branches=lbrs" -- files booted -
	console_says booted-bad "lbrs is no source and no list of CPUs"
	# With KCSAN, suspend is not tested: its checks in restore_processor_state() need %gs before
	# it is restored.
	for machine in 32 arch amd; do
		lbr_boot "offline-$machine" $machine -- lastbranch offline
		[ "$CONFIG" = kcsan ] || lbr_boot "suspend-$machine" $machine -- lastbranch suspend
	done
}

# perf_around MACHINE: run the stock tool's perf record -b before the recorder is on, while it is
# on, and after it was on.
perf_around() {
	lbr_boot "around-$1" "$1" tools=perf with="victim stock" timeout=600 stall=300 -- \
		lastbranch around /bt/stock lbr "$(lbr_depth "$1")"
}

# perf has priority over the recorder, so perf must work with the recorder on. The tests that need
# samples of perf, around-*, reset and perf-kept-*, do not run on AMD, as the counters of the
# emulated AMD processor do not count.
lbr_perf() {
	local machine

	for machine in 32 16 8 arch arch-8 amd; do
		lbr_boot "perf-$machine" $machine -- lastbranch perf "$(lbr_depth $machine)"
		lbr_boot "migrated-$machine" $machine -- lastbranch migrated
	done
	perf_around 32
	lbr_boot reset "$(lbr_machine 32),x-pmu-stuck=on" expect=splat -- lastbranch reset
	nothing_else reset 'irq loop stuck|WARNING: .* intel_pmu_handle_irq'
	came_to_end reset
	lbr_boot perf-kept-32 32 append=hw_branches=lbr -- lbr kept
	lbr_boot perf-kept-16 16 append=hw_branches=lbr -- lbr kept
}

# The addresses of page faults that the tests cause, besides that in CRASH.
LBR_ADDRESSES='address: (0000000000000000|ffffffffffffffff|ffffe90000001000)'

# lbr_program CASE MACHINE KEY=VALUE... -- ARG...: run lastbranch with the module bts_crash. If
# STATE is set, continue a guest from this state.
lbr_program() {
	local case=$1 machine=$2 keys=()
	shift 2

	while [ "$1" != -- ]; do
		keys+=("$1")
		shift
	done
	shift
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	if [ -n "${STATE:-}" ]; then
		keys+=(state="$STATE" qemu="-name continue:$(IFS=: && echo "$*")")
		set -- saved
	fi
	lbr_boot "$case" "$machine" before="$LAB" expect=splat "${keys[@]}" -- lastbranch "$@"
}

# lbr_crash MACHINE KIND FUNCTION LEAST [TIMES]: make TIMES (1 by default) crashes of this KIND,
# which the guest survives. Each must print at least LEAST branches, with FUNCTION on top.
lbr_crash() {
	lbr_program "$2-$1${ROUND:-}" "$1" timeout=900 -- crash "$2" "$3" "$4" "${5:-1}"
	nothing_else "$2-$1${ROUND:-}" "$CRASH"
	came_to_end "$2-$1${ROUND:-}"
}

# lbr_fatal MACHINE KIND FUNCTION LEAST TOP [WORD]: as lbr_crash, but the crash is fatal, and
# FUNCTION must be among the TOP newest branches. WORD is for the kernel command line. The name of
# the case ends with $ROUND.
lbr_fatal() {
	local wrong name=$2-$1${ROUND:-} append=$6

	[ "$1" != amd ] || append+=" spec_rstack_overflow=off"
	lbr_program "$name" "$1" append="$append" -- die "$2"
	nothing_else "$name" "$CRASH"
	wrong=$(awk -v function_name="$3" -v least="$4" -v top="$5" \
		-f "$B/lbr/lastbranch.awk" "$CASE_DIR/console")
	echo "$wrong" >"$CASE_DIR/left"
	wrong=$(grep -v '^#' <<<"$wrong")
	if [ -z "$wrong" ]; then
		pass "$name.trace"
	else
		fail "$name.trace" "$wrong (see $CASE_DIR/console)"
	fi
}

# kinds_survived MACHINE LEAST TIMES: TIMES crashes of each of these kinds, which the guest
# survives.
kinds_survived() {
	lbr_crash "$1" task bts_crash_fault "$2" "$3"
	lbr_crash "$1" kernel bts_crash_at "$2" "$3"
	lbr_crash "$1" null 0x0 "$2" "$3"
	lbr_crash "$1" jump 0xb75 "$2" "$3"
	lbr_crash "$1" error 0xffffffffffffffff "$2" "$3"
	lbr_crash "$1" protection bts_crash_at "$2" "$3"
	lbr_crash "$1" bug bts_crash_bug "$2" "$3"
}

# handled MACHINE LEAST: moved: the handler of a #GP migrates and crashes. passed: BUG() after a #GP
# that was not fatal. passedmoved: the same, and the handler of the #GP has migrated. BUG() must not
# print the branches before the #GP.
handled() {
	# A boot can make only one crash `moved`: the killed task leaves its die notifier registered.
	lbr_crash "$1" moved bts_crash_raise "$2"
	lbr_crash "$1" passed bts_crash_bug "$2"
	lbr_crash "$1" passedmoved bts_crash_bug "$2"
}

# interrupted MACHINE LEAST: a crash whose handler is interrupted. A boot can make one only.
interrupted() {
	lbr_crash "$1" interrupted bts_crash_divide "$2"
}

# kinds_fatal MACHINE LEAST: a crash of each of these kinds, which are fatal.
kinds_fatal() {
	local sender=send_nmi

	# 16 LBRs do not reach back to send_nmi(): name the function in which the NMI arrives.
	[ "$(lbr_depth "$1")" = 32 ] || sender=default_send_IPI_single_phys
	lbr_fatal "$1" double bts_crash_double_fault "$2" 1
	lbr_fatal "$1" panic bts_crash_panic "$2" 1
	# Branches from $sender to the NMI handler are newer: accept $sender among the newest 12.
	lbr_fatal "$1" nmipanic $sender "$2" 12
	CRASH="$CRASH|WARNING:.*bts_crash_warn|panic_on_warn" STATE=${WARN_STATE:-} \
		lbr_fatal "$1" warn bts_crash_warn "$2" 1 panic_on_warn=1
	# The counters of AMD's processors do not count in the emulator.
	[ "$1" = amd ] || CRASH="$CRASH|[Hh]ard LOCKUP" STATE=${STUCK_STATE:-} \
		lbr_fatal "$1" stuck bts_crash_stuck "$2" 1 "$NMI_WATCHDOG"
}

# lbr_folded MACHINE: the branches of a fatal crash are folded.
lbr_folded() {
	lbr_program "folded-$1" "$1" -- die panic folded
	nothing_else "folded-$1" "$CRASH"
	judge_folded "folded-$1" bts_crash_panic 1
}

lbr_crashes() {
	local CRASH="$CRASH|$LBR_ADDRESSES" machine case

	kinds_survived 32 20 1
	kinds_survived arch 20 1
	kinds_survived amd 4 1
	for machine in 32 arch; do
		interrupted $machine 20
		handled $machine 20
		kinds_fatal $machine 20
	done
	lbr_folded 32
	interrupted amd 4
	kinds_fatal amd 4
	for machine in 16 16-no-smap; do
		lbr_crash $machine task bts_crash_fault 4
		lbr_crash $machine null 0x0 4
		lbr_crash $machine protection bts_crash_at 4
	done
	lbr_crash 8 task bts_crash_fault 1
	lbr_crash arch-8 task bts_crash_fault 1
	for case in given reborn-victim reborn-left; do
		# KASAN keeps freed memory from being used again.
		[ "$case" = given ] || ! has_option KASAN || continue
		# shellcheck disable=SC2086 # for example: reborn left
		lbr_program "$case-32" 32 -- ${case/-/ }
		nothing_else "$case-32" "$CRASH"
		came_to_end "$case-32"
	done
	lbr_boot watched-32 32 before="$LAB" -- lastbranch watched
	for machine in 32 16-no-smap arch amd; do
		lbr_boot "fixup-$machine" "$machine" before="$LAB" -- lastbranch fixup
	done
}

# After kexec or a crash, the second kernel must find the LBRs disabled. Leave out model-specific
# LBRs: the second kernel clears DEBUGCTL.LBR at boot, before the test reads it.
lbr_jump() {
	local machine way words

	for machine in arch amd; do
		words=crashkernel=256M
		[ $machine != amd ] || words+=" spec_rstack_overflow=off"
		for way in kexec crash; do
			jump_boot patched "$CONFIG" "$way-$machine" append="$words" \
				"$(lbr_machine $machine)" -- jump $way lbr
		done
	done
}

group_lbr() {
	lbr_files
	lbr_perf
	lbr_crashes
	lbr_jump
}
