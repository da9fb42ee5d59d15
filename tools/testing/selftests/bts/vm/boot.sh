# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the groups: boot runs a test in a guest, check runs a test on the host, pass, fail
# and skip report a result.

PASSED=0
FAILED=0
SKIPPED=0
FAILURES=()	# names and reasons of the failed tests
GROUP=
QUIET=

# Features of a processor model that the emulator (TCG) lacks. They are switched off, as the
# emulator would print a warning for each.
declare -A WITHOUT=(
	[Skylake-Client]=-pcid,-x2apic,-tsc-deadline,-hle,-invpcid,-rtm,-rdseed,-3dnowprefetch,-xsavec
)

# More options of some models. level=10: CPUID has leaf 10, which describes the PMU. vendor: some
# code of the kernel runs only on processors of Intel.
declare -A NEEDS=(
	[core2duo]=level=10
	[Penryn]=level=10
	[max]=vendor=GenuineIntel
)

# Print a message, except while groups/runner.sh makes tests fail on purpose.
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

# console_says CASE REGEX: a line of the console must match REGEX.
console_says() {
	if grep -q "$2" "$CASE_DIR/console"; then
		pass "$1.console"
	else
		fail "$1.console" "the console does not contain '$2' (see $CASE_DIR/console)"
	fi
}

# nothing_else CASE REGEX: all splats on the console must match REGEX. Here, a splat is a line that
# matches an expression of the file splats, even if it also matches an exception there.
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

# came_to_end CASE: the program must have printed its plan. Without plan(), finish() does this at
# the end of the program. With expect=splat, boot does not check that the program came to its end.
came_to_end() {
	if grep -q '^1\.\.' "$CASE_DIR/ktap"; then
		pass "$1.end"
	else
		fail "$1.end" "the program did not end its output (see $CASE_DIR/console)"
	fi
}

# cpu_argument MODEL[,OPTION...] CPL-RULE ABORT SILICON-RULE: print the argument of -cpu for the
# patched emulator. ABORT and SILICON-RULE may be empty.
cpu_argument() {
	local model=${1%%,*} more=

	[ "$model" = "$1" ] || more=,${1#*,}
	printf '%s' "$model"
	printf '%s' "${NEEDS[$model]:+,${NEEDS[$model]}}${WITHOUT[$model]:+,${WITHOUT[$model]}}"
	printf ',+ds,+dtes64,+ds-cpl,x-pmu2=on,x-bts-cpl-rule=%s' "$2"
	[ -z "$4" ] || printf ',%s' "${SILICON[$4]}"
	printf '%s' "${3:+,x-bts-abort=on}$more"
}

# Words for the kernel command line: the detector of hard lockups calls panic() after a second or two,
# or later if the host is slow. The other CPU may wait for the locked-up one in stop_machine(): that
# is a soft lockup, which must not be reported first.
NMI_WATCHDOG="nosoftlockup nmi_watchdog=1 nmi_watchdog=panic sysctl.kernel.watchdog_thresh=1"

# lbr_cpu 8|16|32|arch|amd: print the key cpu=... of boot for a processor with so many LBRs, with 32
# architectural LBRs, or with 16 LBRs of AMD. On Bonnell, Linux uses the 8 LBRs from stepping 10 on.
lbr_cpu() {
	case $1 in
	8) echo "cpu=Penryn,model=28,stepping=10,x-lbr=8,x-pmu-counts=on" ;;
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

# boot_options KEY=VALUE... -- PROG ARG...: set OPT[KEY], and ARGS to the program and its arguments.
# Three keys name files that the guest needs: with=PROGRAM..., programs of the bench; tools=TOOL...,
# commands, files and directories of this system (see tool_files); before=FILE..., files whose paths
# become the first arguments of the program. state=FILE continues a guest that has saved its state
# (see vmrun.c).
boot_options() {
	local paths

	declare -gA OPT=(
		[kernel]=$FLAVOUR [config]=$CONFIG [smp]=$SMP [pti]=$PTI [cpu]=$CPU
		[cpl]=$CPL_RULE [abort]="" [mem]="" [icount]="" [singlestep]=""
		[append]="" [qemu]="" [timeout]="" [stall]="" [expect]="" [slice]=""
		[with]="" [before]="" [tools]="" [silicon]=$SILICON_RULE [machine]=bts [state]=""
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
	[ -z "${OPT[state]}" ] || [ -s "${OPT[state]}" ] || die "boot: no guest has saved its state to ${OPT[state]}"
	# icount=slow means: use -icount for all configurations except base. Kernels with debugging
	# options are so slow that with the host's clock, they would mostly handle timer ticks. They
	# also need more time and memory.
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

# Set TSC_KHZ to the frequency of the guest's TSC: 1 GHz with -icount, otherwise that of the host.
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

# need_machine: build or find the emulator that OPT[machine] names.
need_machine() {
	case ${OPT[machine]} in
	bts) need_emulator ;;
	plain) need_plain_emulator ;;
	*) die "boot: no machine ${OPT[machine]}: choose bts or plain" ;;
	esac
}

# Set COMMAND to the emulator's command line.
emulator_command() {
	# The kernel must not check the timer interrupt and the TSC: on a busy host, these checks may
	# fail.
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
	# Without this, the kernel may warn on EPYC that the processor's microcode is too old.
	[ "${OPT[machine]}" != plain ] || append+=" spec_rstack_overflow=off"
	append+=" $GUEST_WORDS ${OPT[append]} --"
	for arg in "${ARGS[@]}"; do
		append+=$(quote "$arg") || exit 2
	done
	# Run all CPUs in one thread, in turns. With a thread for each CPU, QEMU 7.2 may translate
	# code while another CPU patches it, and keep the old code: some boots died of a
	# breakpoint that the kernel had put there itself. If OPT[slice] is set, turns have
	# random lengths of at most so many microseconds.
	COMMAND=("${machine[@]}" -no-user-config -nodefaults -display none
		-no-reboot -machine pc -accel "tcg,thread=single${OPT[slice]:+,x-slice-us=${OPT[slice]}}"
		-m "${OPT[mem]}" -smp "${OPT[smp]}"
		-kernel "$KERNEL" -initrd "$INITRD" -append "$append")
	[ -z "${OPT[icount]}" ] || COMMAND+=(-icount shift=0,sleep=off)
	[ -z "${OPT[singlestep]}" ] || COMMAND+=(-singlestep)
	[ -z "${OPT[state]}" ] || COMMAND+=(-incoming "exec:cat '${OPT[state]}'")
	read -ra arg <<<"${OPT[qemu]}"
	COMMAND+=("${arg[@]}")
}

# count_ktap CASE FILE: report the results in a KTAP file. Sets RUN to their number, and BAD to the
# number of failures.
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

# count_status CASE STATUS: report the exit status of a program after count_ktap. Status 0 is a
# result only if the KTAP has no result. Another status is a failure. But if the KTAP has a failure,
# report only a program that was killed or could not run.
count_status() {
	local case=$1 status=$2 what="exit status $2"

	[ "$status" -le 128 ] || what="killed by signal $((status - 128))"
	if [ "$status" -ne 0 ]; then
		[ "$BAD" -gt 0 ] && [ "$status" -lt 127 ] || fail "$case" "$what"
	elif [ "$RUN" -eq 0 ]; then
		pass "$case"
	fi
}

# count_run CASE: report all results of a guest that has ended.
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

# boot CASE [KEY=VALUE...] -- PROG [ARG...]: run PROG in a guest, and report its results. Their
# names begin with CASE. For the keys see boot_options.
boot() {
	local case=$1 runner own tools
	shift

	boot_options "$@"
	need_machine
	need_kernel "${OPT[kernel]}" "${OPT[config]}"
	need_programs
	read -ra own <<<"${OPT[with]}"
	read -ra tools <<<"${OPT[before]} ${OPT[tools]}"
	# Other programs are among the tools. If a program does not exist at all, PID 1 reports that.
	[ ! -e "$PROGRAMS/out/guest/${ARGS[0]}" ] || own+=("${ARGS[0]}")
	initrd_of "${own[@]}"
	add_tools "${tools[@]}"
	new_case "$case"
	emulator_command
	printf '%q ' "${COMMAND[@]}" >"$CASE_DIR/command"
	runner=("$BENCH_BIN/vmrun" -d "$CASE_DIR" -S "$B/splats" -t "${OPT[timeout]}"
		-s "${OPT[stall]}" ${VERBOSE:+-v} -- "${COMMAND[@]}")
	if [ -n "$VERBOSE" ]; then
		meanwhile step "$GROUP.$case" "${runner[@]}"
	else
		meanwhile step "$GROUP.$case" "${runner[@]}" >"$CASE_DIR/runner" 2>&1
	fi
	[ -f "$CASE_DIR/result" ] || die "the runner failed: $(tail -n 1 "$CASE_DIR/runner" 2>/dev/null): see $CASE_DIR"
	count_run "$case"
}

# check CASE -- COMMAND...: run a test on the host, and report its results.
check() {
	local case=$1 status=0 before=$FAILED start
	shift 2

	new_case "$case"
	start=$(now_ms)
	meanwhile step "$GROUP.$case" "$@" >"$CASE_DIR/ktap" 2>"$CASE_DIR/stderr" || status=$?
	count_ktap "$case" "$CASE_DIR/ktap"
	count_status "$case" "$status"
	if [ "$FAILED" -gt "$before" ]; then
		say "       log: $CASE_DIR/ktap $CASE_DIR/stderr"
	else
		say "  ok   $GROUP.$case ($(seconds $(($(now_ms) - start))))"
	fi
}
