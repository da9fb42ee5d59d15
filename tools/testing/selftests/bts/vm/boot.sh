# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the groups: boot, check, pass, fail, skip.

PASSED=0
FAILED=0
SKIPPED=0
FAILURES=()	# their names and reasons
GROUP=
QUIET=

# Features of a model that TCG lacks: without them, it prints no warnings.
declare -A WITHOUT=(
	[Skylake-Client]=-pcid,-x2apic,-tsc-deadline,-hle,-invpcid,-rtm,-rdseed,-3dnowprefetch,-xsavec
)

# Options that a model needs for the CPUID leaf of the PMU, or for Intel's drivers.
declare -A NEEDS=(
	[core2duo]=level=10
	[Penryn]=level=10
	[max]=vendor=GenuineIntel
)

# Print, unless the group tests the runner with planted failures.
report() {
	[ -n "$QUIET" ] || say "$@"
}

pass() {
	PASSED=$((PASSED + 1))
	[ -z "$VERBOSE" ] || report "  ok   $GROUP.$1"
}

fail() {
	FAILED=$((FAILED + 1))
	FAILURES+=("$*")
	report "  FAIL $GROUP.$1: ${*:2}"
}

skip() {
	SKIPPED=$((SKIPPED + 1))
	report "  skip $GROUP.$1: ${*:2}"
}

# console_says CASE TEXT: the console must contain TEXT, for guests that die in the test.
console_says() {
	if grep -q "$2" "$CASE_DIR/console"; then
		pass "$1.console"
	else
		fail "$1.console" "the console does not contain '$2' (see $CASE_DIR/console)"
	fi
}

# nothing_else CASE REGEX: all splats on the console must match REGEX.
nothing_else() {
	local other

	other=$(tr -d '\r' <"$CASE_DIR/console" | grep -Ef <(sed '/^[#!]/d; /^$/d' "$B/splats") |
		grep -Ev -m 1 "$2")
	if [ -z "$other" ]; then
		pass "$1.nothing-else"
	else
		fail "$1.nothing-else" "$other (see $CASE_DIR/console)"
	fi
}

# came_to_end CASE: the test must have ended, for a case with an expected splat.
came_to_end() {
	if grep -q '^1\.\.' "$CASE_DIR/ktap"; then
		pass "$1.end"
	else
		fail "$1.end" "the program did not end its output (see $CASE_DIR/console)"
	fi
}

# Print the -cpu argument for MODEL[,OPTION...], CPL rule, abort, and SILICON rule.
cpu_argument() {
	local model=${1%%,*} more=

	[ "$model" = "$1" ] || more=,${1#*,}
	printf '%s' "$model"
	printf '%s' "${NEEDS[$model]:+,${NEEDS[$model]}}${WITHOUT[$model]:+,${WITHOUT[$model]}}"
	printf ',+ds,+dtes64,+ds-cpl,x-pmu2=on,x-bts-cpl-rule=%s' "$2"
	[ -z "$4" ] || printf ',%s' "${SILICON[$4]}"
	printf '%s' "${3:+,x-bts-abort=on}$more"
}

# Print a key of boot: a processor with this number of last branch records, with 32 architectural
# ones, or with 16 of AMD.
lbr_cpu() {
	case $1 in
	16) echo "cpu=SandyBridge,x-lbr=16,x-pmu-counts=on" ;;
	32) echo "cpu=Skylake-Client,x-lbr=32,x-pmu-counts=on" ;;
	arch) echo "cpu=Skylake-Client,model=143,x-lbr=32,x-lbr-kind=arch,x-pmu-counts=on" ;;
	amd) echo "cpu=EPYC,-ds,-dtes64,-ds-cpl,x-pmu2=off,x-lbr=16,x-lbr-kind=amd" ;;
	esac
}

# Print an argument of PID 1, quoted for the kernel command line.
quote() {
	case $1 in
	*'"'*) die "boot: $1: the kernel command line cannot contain a double quote in an argument" ;;
	*[[:space:]]* | '') printf ' "%s"' "$1" ;;
	*) printf ' %s' "$1" ;;
	esac
}

# Set OPT from the keys of boot, and ARGS to the program and its arguments. Keys for files in the
# guest: with=PROGRAM... of the bench, tools=COMMAND... of this system, and before=FILE..., whose
# paths go before the program's own arguments.
boot_options() {
	local paths

	declare -gA OPT=(
		[kernel]=$FLAVOUR [config]=$CONFIG [smp]=$SMP [pti]=$PTI [cpu]=$CPU
		[cpl]=$CPL_RULE [abort]="" [mem]="" [icount]="" [singlestep]=""
		[append]="" [qemu]="" [timeout]="" [stall]="" [expect]="" [slice]=""
		[with]="" [before]="" [tools]="" [silicon]=$SILICON_RULE [machine]=bts
	)
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		case $1 in
		*=*) [ -n "${OPT[${1%%=*}]+known}" ] || die "boot: unknown key ${1%%=*}: the keys are ${!OPT[*]}" ;;
		*) die "boot: $1 is not KEY=VALUE: put -- before the program" ;;
		esac
		OPT[${1%%=*}]=${1#*=}
		shift
	done
	read -ra paths <<<"${OPT[before]}"
	ARGS=("${@:2:1}" "${paths[@]}" "${@:3}")
	[ ${#ARGS[@]} -le 30 ] || die "boot: ${#ARGS[@]} arguments: the kernel passes at most 30 to PID 1"
	# Kernels with debugging options are slower, and some tools need memory. icount=slow
	# selects -icount for them: with the host's clock, a slow kernel does little but handle
	# ticks.
	[ "${OPT[icount]}" != slow ] || OPT[icount]=$([ "${OPT[config]}" = base ] || echo 1)
	case ${OPT[config]} in
	base) : "${OPT[timeout]:=120}" "${OPT[stall]:=60}" ;;
	*) OPT[timeout]=$((${OPT[timeout]:-120} * 5)) OPT[stall]=$((${OPT[stall]:-60} * 5)) ;;
	esac
	if [ -z "${OPT[mem]}" ]; then
		OPT[mem]=256
		[ "${OPT[config]}" = base ] && [ -z "${OPT[tools]}" ] || OPT[mem]=1024
	fi
}

# Set TSC_KHZ: the frequency of the host's TSC, or of the clock that counts instructions.
need_tsc_khz() {
	[[ ${OPT[icount]} = "" && ${OPT[qemu]} != *-icount* ]] || {
		TSC_KHZ=1000000
		return
	}
	[ -n "${HOST_KHZ:-}" ] || HOST_KHZ=$("$BENCH_BIN/tsckhz") ||
		die "$BENCH_BIN/tsckhz failed: the host has no usable time stamp counter"
	TSC_KHZ=$HOST_KHZ
}

# Print the -cpu argument for MODEL[,OPTION...] of Debian's emulator.
plain_cpu_argument() {
	local model=${1%%,*} more=

	[ "$model" = "$1" ] || more=,${1#*,}
	printf '%s%s%s' "$model" "${WITHOUT[$model]:+,${WITHOUT[$model]}}" "$more"
}

# need_machine: build or find the emulator for the key machine.
need_machine() {
	case ${OPT[machine]} in
	bts) need_emulator ;;
	plain) need_plain_emulator ;;
	*) die "boot: no machine ${OPT[machine]}: choose bts or plain" ;;
	esac
}

# Set COMMAND to the emulator's command line.
emulator_command() {
	# On a busy host, the kernel's checks of timer interrupt and TSC fail.
	local append="console=ttyS0,115200 panic=-1 nmi_watchdog=0 no_timer_check tsc=reliable"
	local arg machine

	if [ "${OPT[machine]}" = plain ]; then
		machine=("$PLAIN_QEMU" -cpu "$(plain_cpu_argument "${OPT[cpu]}")")
	else
		machine=("$QEMU" "${QEMU_L[@]}"
			-cpu "$(cpu_argument "${OPT[cpu]}" "${OPT[cpl]}" "${OPT[abort]}" "${OPT[silicon]}")")
	fi
	need_tsc_khz
	append+=" tsc_early_khz=$TSC_KHZ"

	case ${OPT[pti]} in
	on) append+=" pti=on" ;;
	off) append+=" pti=off" ;;
	esac
	# Keep EPYC from warning that it lacks the microcode for this.
	[ "${OPT[machine]}" != plain ] || append+=" spec_rstack_overflow=off"
	append+=" $GUEST_WORDS ${OPT[append]} --"
	for arg in "${ARGS[@]}"; do
		append+=$(quote "$arg") || exit 2
	done
	# Run all CPUs in one thread, in turns. With a thread for each, QEMU 7.2 may translate
	# code while another CPU patches it, and keep the old code: one boot in twelve died of one
	# of the kernel's own breakpoints. That is not slower. With a slice, turns end at random
	# times within it.
	COMMAND=("${machine[@]}" -no-user-config -nodefaults -display none
		-no-reboot -machine pc -accel "tcg,thread=single${OPT[slice]:+,x-slice-us=${OPT[slice]}}"
		-m "${OPT[mem]}" -smp "${OPT[smp]}"
		-kernel "$KERNEL" -initrd "$INITRD" -append "$append")
	[ -z "${OPT[icount]}" ] || COMMAND+=(-icount shift=0,sleep=off)
	[ -z "${OPT[singlestep]}" ] || COMMAND+=(-singlestep)
	read -ra arg <<<"${OPT[qemu]}"
	COMMAND+=("${arg[@]}")
}

# Count the results in a KTAP file. Sets RUN and BAD.
count_ktap() {
	local case=$1 file=$2 kind name reason

	RUN=0 BAD=0
	while read -r kind name reason; do
		RUN=$((RUN + 1))
		case $kind in
		pass) pass "$case.$name" ;;
		skip) skip "$case.$name" "$reason" ;;
		fail)
			BAD=$((BAD + 1))
			fail "$case.$name" "$reason"
			;;
		esac
	done < <(awk -f "$B/vm/ktap.awk" "$file")
}

# Count the end of a program: as a result of its own if there was no KTAP, otherwise only a
# failure that the KTAP does not show.
count_status() {
	local case=$1 status=$2 what="exit status $2"

	[ "$status" -le 128 ] || what="killed by signal $((status - 128))"
	if [ "$status" -ne 0 ]; then
		[ "$BAD" -gt 0 ] && [ "$status" -lt 127 ] || fail "$case" "$what"
	elif [ "$RUN" -eq 0 ]; then
		pass "$case"
	fi
}

count_run() {
	local case=$1 outcome detail status before=$FAILED

	{ read -r outcome detail && read -r _ status && read -r _ MS; } <"$CASE_DIR/result" ||
		die "the runner stored no result in $CASE_DIR: see $CASE_DIR/runner"
	count_ktap "$case" "$CASE_DIR/ktap"
	if [ -n "${OPT[expect]}" ]; then
		if [ "$outcome" = "${OPT[expect]}" ]; then
			pass "$case.${OPT[expect]}"
		else
			fail "$case.${OPT[expect]}" "the guest should end by ${OPT[expect]}; it ended: $outcome $detail"
		fi
	elif [ "$outcome" != ok ]; then
		fail "$case" "$outcome: $detail"
	fi
	[ "$status" -lt 0 ] || count_status "$case" "$status"
	if [ "$FAILED" -gt "$before" ]; then
		report "       log: $CASE_DIR/console"
	else
		report "  ok   $GROUP.$case ($(seconds "$MS"))"
	fi
}

new_case() {
	CASE_DIR=$RESULTS/$GROUP/$1
	rm -rf "$CASE_DIR"
	mkdir -p "$CASE_DIR" || die "cannot write $CASE_DIR: free some space"
}

boot() {
	local case=$1 runner own tools
	shift

	boot_options "$@"
	need_machine
	need_kernel "${OPT[kernel]}" "${OPT[config]}"
	need_programs
	read -ra own <<<"${OPT[with]}"
	read -ra tools <<<"${OPT[before]} ${OPT[tools]}"
	# If the program does not exist, PID 1 reports that.
	[ ! -e "$PROGRAMS/out/guest/${ARGS[0]}" ] || own+=("${ARGS[0]}")
	initrd_of "${own[@]}"
	add_tools "${tools[@]}"
	new_case "$case"
	emulator_command
	printf '%q ' "${COMMAND[@]}" >"$CASE_DIR/command"
	runner=("$BENCH_BIN/vmrun" -d "$CASE_DIR" -S "$B/splats" -t "${OPT[timeout]}"
		-s "${OPT[stall]}" ${VERBOSE:+-v} -- "${COMMAND[@]}")
	if [ -n "$VERBOSE" ]; then
		step "$GROUP.$case" "${runner[@]}"
	else
		step "$GROUP.$case" "${runner[@]}" >"$CASE_DIR/runner" 2>&1
	fi
	[ -f "$CASE_DIR/result" ] || die "the runner failed: $(tail -n 1 "$CASE_DIR/runner" 2>/dev/null): see $CASE_DIR"
	count_run "$case"
}

# check CASE -- COMMAND...: run a test on the host.
check() {
	local case=$1 status=0 before=$FAILED start
	shift 2

	new_case "$case"
	start=$(now_ms)
	step "$GROUP.$case" "$@" >"$CASE_DIR/ktap" 2>"$CASE_DIR/stderr" || status=$?
	count_ktap "$case" "$CASE_DIR/ktap"
	count_status "$case" "$status"
	if [ "$FAILED" -gt "$before" ]; then
		say "       log: $CASE_DIR/ktap $CASE_DIR/stderr"
	else
		say "  ok   $GROUP.$case ($(seconds $(($(now_ms) - start))))"
	fi
}
