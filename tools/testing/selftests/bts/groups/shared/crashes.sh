# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Boots with the flight recorder: machines with LBRs, crashes, and checks of the printed branches.

# shellcheck source=boots.sh
. "$B/groups/shared/boots.sh"

# Print the key cpu=MODEL of boot for a machine: 32, 16 or 8 LBRs, 16 and no SMAP, architectural LBRs
# (arch; arch-8 has 8), or LBRs of AMD. Another argument is printed as it is.
lbr_machine() {
	case $1 in
	16) echo "cpu=Broadwell,x-lbr=16,x-pmu-counts=on" ;;
	16-no-smap) lbr_cpu 16 ;;
	arch-8) lbr_cpu arch | sed 's/x-lbr=32/x-lbr=8/' ;;
	8 | 32 | arch | amd) lbr_cpu "$1" ;;
	*) echo "$1" ;;
	esac
}

# Messages of the crashes that the module bts_crash causes.
CRASH='address: 0000000000000b75|kernel BUG at .*bts_crash|Oops: |double fault|'
CRASH+='not syncing: (Fatal exception|Attempted to kill init|Oopsed too often|as asked for)'

# crashing CASE KEY=VALUE... -- PROGRAM ARG...: boot with the module bts_crash. The console must
# have a splat, and no splat but the messages in CRASH.
crashing() {
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	strict "$1" before="$LAB" expect=splat "${@:2}"
	nothing_else "$1" "$CRASH"
}

# survived CASE KEY=VALUE... -- PROGRAM ARG...: as crashing, but the kernel must survive.
survived() {
	crashing "$@"
	came_to_end "$1"
}

# judge_trace CASE FUNCTION NUMBER [1]: the console must have NUMBER traces of 32 branches, the
# first one of CPU 0, with FUNCTION on top. 1: all CPUs crashed, so FUNCTION must be on top of each.
judge_trace() {
	local wrong

	wrong=$(awk -v function_name="$2" -v cpus="$3" -v all="${4:-0}" -f "$B/groups/shared/dump.awk" "$CASE_DIR/console")
	if [ -z "$wrong" ]; then
		pass "$1.trace"
	else
		fail "$1.trace" "$wrong (see $CASE_DIR/console)"
	fi
}

# fatal CASE KIND FUNCTION CPUS KEY=VALUE...: the console must show 32 branches of each CPU, those
# of the crashing CPU first, with FUNCTION on top.
fatal() {
	crashing "$1" smp="$4" "${@:5}" -- crash die "$2"
	judge_trace "$1" "$3" "$4"
}

# judge_folded CASE FUNCTION WITHIN: check the folded branches on the console of the last guest, see
# ring0/folded.awk.
judge_folded() {
	local wrong

	wrong=$(awk -v function_name="$2" -v within="$3" -f "$B/ring0/folded.awk" "$CASE_DIR/console")
	if [ -z "$wrong" ]; then
		pass "$1.trace"
	else
		fail "$1.trace" "$wrong (see $CASE_DIR/console)"
	fi
}
