#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The main program of the test bench: builds a kernel, an emulator with a Debug Store, and test
# programs; boots and measures.

# With these variables, cd, make, tar and git would use other directories or files.
# shellcheck disable=SC2046
unset CDPATH KBUILD_OUTPUT KCONFIG_CONFIG TAR_OPTIONS \
	$(git rev-parse --local-env-vars 2>/dev/null | grep -v '^GIT_CONFIG')
# Variables of this program that are read before they are set.
unset HOST_KHZ KASLR LINUX_KEY OVERLAY PATCHED ROUND SIZE STATE WARN_STATE WATCHDOG WATCHED
B=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
REPO=$(cd "$B/../../../.." && pwd -P)
export LC_ALL=C

TTY=
[ ! -t 2 ] || TTY=1
VERBOSE=
SLOW=
FLAVOUR=patched
CONFIG=base
CPU=Skylake-Client
SMP=1
GUEST_WORDS=
PTI=
CPL_RULE=after
BASE=6.12
KERNEL_DIR=
BUILT_KERNEL=
STRESS_SECONDS=600
STRESS_SEED=$((RANDOM + 1))
STRESS_REQUESTS=0
STRESS_ROUNDS=0
JOBS=$(nproc)
OUTPUT_FILE=bts-check.img

for part in "$B"/vm/*.sh; do
	# shellcheck source=/dev/null
	. "$part" || exit 2
done

usage() {
	cat <<-'END'
	usage: vmtest.sh [COMMAND] [OPTION...]

	  test [GROUP...]   run the named groups of tests, or all groups that are not slow.
	                    This is the default command.
	  demo [--plain]    show the branches before the crash of a program and before an
	                    oops, and use gdb. --plain: only the program, in Debian's
	                    emulator, without a Debug Store. This builds no emulator, no gdb.
	  measure [FIGURE...] [--tsv]  print the table of figures; exit with 1 if one misses
	                    its goal. --tsv: separate columns by tabs
	  matrix [ROW...]   run tests on each kernel of the matrix, and print a table
	  coverage [GROUP...]  print which lines of the series' kernel files the groups run
	  shell             start an interactive guest
	  image             make bts-check.img for a USB stick, which tests any PC, with or
	                    without a Debug Store
	  build             build kernel, emulator and programs, without testing
	  source            fetch the kernel's source, and print its directory
	  lint [--fast]     check the sources; --fast: without the checks that compile
	  list              list the groups and the kernel configurations
	  clean             remove the cache
	  help              print this text

	  --stock           use the unpatched kernel
	  --config NAME     kernel configuration: base, debug, ... (see list)
	  --cpu MODEL       processor model of the emulator [Skylake-Client]
	  --smp N           number of processors of the guest [1]
	  --append WORDS    add WORDS to the guest's kernel command line
	  --pti on|off      page-table isolation [as the kernel decides: on]
	  --cpl-rule RULE   privilege level that the branch filter tests: after, before, either
	  --silicon RULE    behaviour of some models: once, equal, kept, late, jitter, db,
	                    freeze, worst; vm/silicon.sh has their properties
	  --base BASE       kernel: 6.12, or newest, the newest that the series fits [6.12;
	                    image: newest, if Debian has it]
	  --kernel DIR      use the pristine kernel tree DIR, of a version that the series fits
	  --built DIR       boot the kernel built in DIR (for tests without test modules)
	  --slow            run the slow groups, too
	  --at-once N       run so many groups at the same time; a guest uses one processor [1]
	  --seconds N       approximate time for the group stress [600]
	  --seed N          seed of its random numbers [random]
	  --requests N      number of requests that its fuzzer must make in that time
	  --rounds N        number of times that each of its races must run in that time
	  -o FILE           file for the image [bts-check.img]
	  -j N              number of jobs of a build [number of processors]
	  -v                print every result, and the guest's console

	Environment: BTS_CACHE (directory of the cache), BTS_MIRROR (Debian mirror),
	QEMU_SRC (QEMU 7.2 source tree instead of Debian's), QEMU_BTS (an emulator
	that is built already), STRACE_SRC (strace 6.1 or 7.2 source tree instead of
	Debian's), STEP_PARTS, STRESS_PARTS, IMAGE_PARTS (parts of these groups, see
	groups/), CC.
	Exit status: 0 all tests passed, 1 a test failed, 2 could not run.
	END
}

# value_of OPTION VALUE: print VALUE; die if it is missing.
value_of() {
	[ $# -ge 2 ] && [ -n "$2" ] || die "$1 needs a value: see vmtest.sh help"
	printf '%s' "$2"
}

# number_of OPTION VALUE MAXIMUM: print VALUE; die if it is not a number from 1 to MAXIMUM.
number_of() {
	case $2 in
	*[!0-9]* | '' | 0*) die "$1 $2: give a number from 1: see vmtest.sh help" ;;
	esac
	[ ${#2} -lt 10 ] && [ "$2" -le "$3" ] || die "$1 $2: the maximum is $3"
	printf '%s' "$2"
}

# one_of OPTION VALUE CHOICE...: print VALUE; die if it is none of the choices.
one_of() {
	local option=$1 value=$2
	shift 2
	[[ $value != *" "* && " $* " = *" $value "* ]] || die "$option ${value:-without a value}: choose one of: $*"
	printf '%s' "$value"
}

# take_options COMMAND: die if an option, other than -j and -v, was given that the command does not
# use.
take_options() {
	local option use booted='--base --config --cpu --append --pti --cpl-rule --silicon --kernel'
	local stress='--seconds --seed --requests --rounds'

	case $1 in
	test) use="$booted $stress --stock --smp --built --slow --at-once" ;;
	demo) use='--base --cpu --cpl-rule --silicon --kernel --plain' ;;
	measure) use="$booted --tsv" ;;
	matrix) use="$stress --base --cpu --cpl-rule --kernel" ;;
	coverage) use="$booted $stress --smp" ;;
	shell) use="$booted --stock --smp --built" ;;
	image) use='--base --kernel -o' ;;
	build) use='--base --stock --config --kernel' ;;
	source) use='--base --kernel' ;;
	lint) use='--base --fast --kernel' ;;
	list | clean | help) ;;
	*) die "no command $1: see vmtest.sh help" ;;
	esac
	for option in "${GIVEN[@]}"; do
		[[ " ${use:-} " = *" $option "* ]] ||
			die "$1 does not take $option${use:+; it takes $use}: see vmtest.sh help"
	done
	[[ " ${GIVEN[*]} " != *" --base "*" --kernel "* && " ${GIVEN[*]} " != *" --kernel "*" --base "* ]] ||
		die "--base and --kernel both choose the kernel: give only one"
}

# group_names all|fast: print the names of the groups, one in each line; fast: without the slow
# ones. The second line of a group's file is '# NAME: DESCRIPTION' or '# NAME (slow): DESCRIPTION'.
group_names() {
	local file name

	for file in "$B"/groups/*.sh; do
		name=${file##*/}
		name=${name%.sh}
		[ "$1" = all ] || ! is_slow "$name" || continue
		echo "$name"
	done
}

is_slow() {
	sed -n 2,3p "$B/groups/$1.sh" | grep -q '^# [a-z0-9]* (slow):'
}

run_group() {
	local before=$((PASSED + FAILED + SKIPPED))

	GROUP=$1
	say "$GROUP"
	rm -f "$SCRATCH/unknown"
	# shellcheck source=/dev/null
	. "$B/groups/$GROUP.sh" || fail source "groups/$GROUP.sh has an error"
	"group_$GROUP"
	check_unknown
	[ $((PASSED + FAILED + SKIPPED)) -gt "$before" ] || fail none "no test ran"
}

# Fail if the group has called a command or function that does not exist.
check_unknown() {
	[ ! -e "$SCRATCH/unknown" ] || fail unknown "no command or function $(head -n 1 "$SCRATCH/unknown")"
}

# bash calls this for a command that it does not find, in a process of its own.
# shellcheck disable=SC2317
command_not_found_handle() {
	echo "vmtest.sh: $1: no such command" >&2
	[ -z "$SCRATCH" ] || echo "$1" >>"$SCRATCH/unknown"
	return 127
}

# run_groups GROUP...: run the groups. Sets RESULTS to the directory of their logs.
run_groups() {
	local group

	check_config_name "$CONFIG"
	for group; do
		[ -f "$B/groups/$group.sh" ] ||
			die "no group $group: there are $(group_names all | tr '\n' ' ')"
	done
	prepare build tools clang
	mkdir -p "$CACHE/results"
	keep_newest "$CACHE/results" 5
	RESULTS=$CACHE/results/$(date +%Y%m%d-%H%M%S)
	mkdir -p "$RESULTS" || die "cannot write $RESULTS: free some space"
	if [ "$AT_ONCE" -gt 1 ]; then
		# This exits with 0 if the newest kernel cannot be had. A worker that exits with 0
		# would not end the others.
		need_linux
		run_at_once "$@"
		return
	fi
	for group; do
		run_group "$group"
	done
}

cmd_test() {
	local groups=("$@")

	[ $# -gt 0 ] || mapfile -t groups < <(group_names "${SLOW:-fast}")
	run_groups "${groups[@]}"
	if [ "$FAILED" -eq 0 ]; then
		# Large logs of executed instructions are needed only after a failure.
		find "$RESULTS" -type f -size +4M -delete
	else
		say "logs: $RESULTS"
	fi
	say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ]
}

# prepare PURPOSE...: open the cache, and install the packages for these purposes.
prepare() {
	[[ $REPO != *[[:space:]:]* ]] ||
		die "the path $REPO has a space or a colon, which make does not support: move the clone"
	[ -x "$REPO/series/apply" ] ||
		die "$REPO has no series/apply: run vmtest.sh from a clone of the repository, not from a kernel tree"
	check_kernel_dir
	check_built
	open_cache
	set_traps
	need_packages "$@"
}

cmd_build() {
	check_config_name "$CONFIG"
	prepare build
	need_kernel "$FLAVOUR" "$CONFIG"
	need_emulator
	need_programs
	say "kernel    $KERNEL"
	say "emulator  $QEMU"
	say "programs  $PROGRAMS"
}

cmd_source() {
	prepare build
	need_linux
	echo "$LINUX"
}

cmd_shell() {
	local all

	check_config_name "$CONFIG"
	prepare build shell
	boot_options kernel="$FLAVOUR" tools=busybox --
	need_emulator
	need_kernel "$FLAVOUR" "$CONFIG"
	need_programs
	mapfile -t all < <(ls "$PROGRAMS/out/guest")
	initrd_of "${all[@]}"
	need_btstrace
	add_tools busybox "$BTSTRACE/btstrace"
	emulator_command
	say "the guest has btstrace and busybox; the test programs are in /bt"
	say "ctrl-a x ends the guest, ctrl-a c switches to the emulator's monitor"
	# Run the emulator in the background: bash handles signals only after a foreground job
	# ends.
	"${COMMAND[@]}" -serial mon:stdio <&0 &
	SHELL_PID=$!
	wait "$SHELL_PID"
}

cmd_list() {
	local name

	echo "groups:"
	for name in $(group_names all); do
		sed -n 's/^# \([a-z0-9]*\( (slow)\)\?: .*\)/  \1/p' "$B/groups/$name.sh" | head -n 1
	done
	echo "configurations:"
	echo "  base"
	for name in "$B"/config.*; do
		case $name in
		*.base | *.series) ;;
		*) echo "  ${name##*/config.}" ;;
		esac
	done
}

# Remove only the entries that vmtest.sh makes.
cmd_clean() {
	local name

	[ -e "$CACHE/lock" ] || {
		say "no cache at $CACHE"
		return
	}
	open_cache
	set_traps
	for name in apt apt-newest build checkpatch fixed fragments gdb initrd kselftest lab linux log patched programs \
		qemu qemu-source results strace strace-source upstream image holder; do
		step "remove $name" rm -rf "${CACHE:?}/$name"
	done
	rm -f "$CACHE"/linux-source-*.tar.xz
	say "the cache $CACHE is empty now"
}

parse_options() {
	while [ $# -gt 0 ]; do
		[[ $1 != --* ]] || GIVEN+=("$1")
		case $1 in
		--stock) FLAVOUR=stock ;;
		--config) CONFIG=$(value_of "$@") || exit ; shift ;;
		--cpu) CPU=$(value_of "$@") || exit ; shift ;;
		--append) GUEST_WORDS=$(value_of "$@") || exit ; shift ;;
		--smp) SMP=$(number_of "$1" "$2" 8) || exit ; shift ;;
		--pti) PTI=$(one_of "$1" "$2" on off) || exit ; shift ;;
		--cpl-rule) CPL_RULE=$(one_of "$1" "$2" after before either) || exit ; shift ;;
		--silicon) SILICON_RULE=$(one_of "$1" "$2" "${!SILICON[@]}") || exit ; shift ;;
		--base) BASE=$(one_of "$1" "$2" 6.12 newest) || exit ; shift ;;
		--kernel) KERNEL_DIR=$(value_of "$@") || exit ; shift ;;
		--built) BUILT_KERNEL=$(value_of "$@") || exit ; shift ;;
		-o) OUTPUT_FILE=$(value_of "$@") || exit ; GIVEN+=(-o) ; shift ;;
		-j) JOBS=$(number_of "$1" "$2" 1024) || exit ; shift ;;
		-j[0-9]*) JOBS=$(number_of -j "${1#-j}" 1024) || exit ;;
		-v) VERBOSE=1 ;;
		--slow) SLOW=all ;;
		--at-once) AT_ONCE=$(number_of "$1" "$2" 64) || exit ; shift ;;
		--seconds) STRESS_SECONDS=$(number_of "$1" "$2" 1000000) || exit ; shift ;;
		--seed) STRESS_SEED=$(number_of "$1" "$2" 999999999) || exit ; shift ;;
		--requests) STRESS_REQUESTS=$(number_of "$1" "$2" 999999999) || exit ; shift ;;
		--rounds) STRESS_ROUNDS=$(number_of "$1" "$2" 999999999) || exit ; shift ;;
		--fast) FAST=--fast ;;
		--plain) MACHINE=plain ;;
		--tsv) TSV=1 ;;
		-h | --help) GIVEN=() ARGUMENTS=(help) ; break ;;
		-*) die "no option $1: see vmtest.sh help" ;;
		*) ARGUMENTS+=("$1") ;;
		esac
		shift
	done
}

plain() {
	[ ${#ARGUMENTS[@]} -eq 0 ] || die "$1 takes no ${ARGUMENTS[0]}: see vmtest.sh help"
}

main() {
	local name

	ARGUMENTS=() GIVEN=()
	FAST='' TSV='' MACHINE=bts
	parse_options "$@"
	name=${ARGUMENTS[0]:-test}
	ARGUMENTS=("${ARGUMENTS[@]:1}")
	take_options "$name"
	[ $# -gt 0 ] || say "vmtest.sh runs the tests now; 'vmtest.sh help' lists all commands"
	case $name in
	test) cmd_test "${ARGUMENTS[@]}" ;;
	demo) plain demo && cmd_demo ;;
	measure) cmd_measure "${ARGUMENTS[@]}" ;;
	matrix) cmd_matrix "${ARGUMENTS[@]}" ;;
	coverage) cmd_coverage "${ARGUMENTS[@]}" ;;
	lint) cmd_lint $FAST "${ARGUMENTS[@]}" ;;
	shell) plain shell && cmd_shell ;;
	image) plain image && cmd_image "$OUTPUT_FILE" ;;
	build) plain build && cmd_build ;;
	source) plain source && cmd_source ;;
	list) plain list && cmd_list ;;
	clean) plain clean && cmd_clean ;;
	help) plain help && usage ;;
	esac
}

# bash has read the whole file before main runs, so that editing the file does not disturb a run.
main "$@"; exit
