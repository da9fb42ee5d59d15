#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The main program of the test bench: builds a kernel, an emulator with a Debug Store, and test
# programs; boots and measures.

B=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
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
	. "$part"
done

usage() {
	cat <<-'END'
	usage: vmtest.sh [COMMAND] [OPTION...]

	  test [GROUP...]   boot and test: the named groups, or all but the slow ones; the
	                    command if none is given
	  demo [--plain]    the branches that led to a program's crash, and to an oops; then
	                    in gdb. --plain: the program's only, in Debian's emulator, which
	                    has no Debug Store: no emulator and no gdb is built
	  measure [FIGURE...] [--tsv]  the table of figures; exits 1 if a goal is missed;
	                    --tsv: in columns behind tabs
	  matrix [ROW...]   test on each kernel of the matrix: a table
	  coverage [GROUP...]  which lines of the series' kernel files the groups run
	  shell             an interactive guest
	  image             bts-check.img, for a USB stick: finds out on any PC, from a Debug Store
	                    or without one, how it records branches
	  build             kernel, emulator and programs, without a test
	  source            fetch the kernel's source, and print its directory
	  lint [--fast]     check the sources; --fast: without the checks that compile
	  list              the groups, and the kernel configurations
	  clean             remove the cache
	  help              this text

	  --stock           the unpatched kernel
	  --config NAME     kernel configuration: base, debug, ... (see list)
	  --cpu MODEL       processor model of the emulator [Skylake-Client]
	  --smp N           processors of the guest [1]
	  --append WORDS    more for the guest's kernel command line
	  --pti on|off      page-table isolation [as the kernel decides: on]
	  --cpl-rule RULE   CPL that the branch filter goes by: after, before, either
	  --silicon RULE    what models do differently: once, equal, kept, late, db, worst
	  --base BASE       the kernel: 6.12, or the newest that the series fits (newest) [6.12]
	  --kernel DIR      a pristine kernel tree instead, of a version that the series fits
	  --built DIR       boot what was built in DIR (tests that load no module of ours)
	  --slow            the slow groups too
	  --seconds N       how long the group stress may take, about [600]
	  --seed N          where its random numbers begin [each time elsewhere]
	  --requests N      so many requests of its fuzzer must come, in that time
	  --rounds N        so often each of its races must happen, in that time
	  -o FILE           where the image goes [bts-check.img]
	  -j N              jobs of a build [number of processors]
	  -v                every result, and the guest's console as it comes

	Environment: BTS_CACHE (directory of the cache), BTS_MIRROR (Debian mirror),
	QEMU_SRC (QEMU 7.2 source tree instead of Debian's), QEMU_BTS (an emulator
	that is built), STRACE_SRC (strace source tree, 6.1 or 7.2, instead of Debian's),
	STEP_PARTS, STRESS_PARTS (some parts of these groups: see groups/), CC.
	Exit status: 0 passed, 1 a test failed, 2 could not run.
	END
}

# Print the value of an option.
value_of() {
	[ $# -ge 2 ] && [ -n "$2" ] || die "$1 needs a value: see vmtest.sh help"
	printf '%s' "$2"
}

number_of() {
	case $2 in
	*[!0-9]* | '' | 0) die "$1 $2: give a number from 1: see vmtest.sh help" ;;
	esac
	[ ${#2} -lt 10 ] && [ "$2" -le "$3" ] || die "$1 $2: $3 at most"
	printf '%s' "$2"
}

one_of() {
	local option=$1 value=$2
	shift 2
	[[ " $* " = *" $value "* ]] || die "$option ${value:-without a value}: choose one of: $*"
	printf '%s' "$value"
}

# take_options COMMAND: die if an option was given that the command does not use.
take_options() {
	local option use booted='--base --config --cpu --append --pti --cpl-rule --silicon --kernel'
	local stress='--seconds --seed --requests --rounds'

	case $1 in
	test) use="$booted $stress --stock --smp --built --slow" ;;
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
			die "$1 has no use for $option${use:+: it takes $use}: see vmtest.sh help"
	done
	[[ " ${GIVEN[*]} " != *" --base "*" --kernel "* && " ${GIVEN[*]} " != *" --kernel "*" --base "* ]] ||
		die "--base and --kernel both name the kernel: give one"
}

# Print the groups, one in each line. The second line of a group's file is '# NAME: DESCRIPTION'
# or '# NAME (slow): DESCRIPTION'.
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
	# shellcheck source=/dev/null
	. "$B/groups/$GROUP.sh"
	"group_$GROUP"
	[ $((PASSED + FAILED + SKIPPED)) -gt "$before" ] || fail none "no test ran"
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
	for group; do
		run_group "$group"
	done
}

cmd_test() {
	local groups=("$@")

	[ $# -gt 0 ] || mapfile -t groups < <(group_names "${SLOW:-fast}")
	run_groups "${groups[@]}"
	if [ "$FAILED" -eq 0 ]; then
		# Large logs of executed instructions are of no use after a success.
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
		die "$REPO has a space or a colon, which make cannot take: move the clone"
	[ -x "$REPO/series/apply" ] ||
		die "$REPO holds no series/apply: run me from a clone of the series, not from a kernel tree"
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
	say "btstrace is there, and busybox; /bt has the programs of the tests"
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
		[ ! -f "$name" ] || [ "$name" = "$B/config.series" ] || echo "  ${name##*/config.}"
	done
}

# Remove only what the bench has made: BTS_CACHE may name a directory with other files.
cmd_clean() {
	local name

	[ -e "$CACHE/lock" ] || {
		say "no cache at $CACHE"
		return
	}
	open_cache
	set_traps
	for name in apt apt-newest build checkpatch fixed fragments gdb initrd lab linux log patched programs \
		qemu qemu-source results strace strace-source upstream image holder; do
		step "remove $name" rm -rf "${CACHE:?}/$name"
	done
	rm -f "$CACHE"/linux-source-*.tar.xz
	say "$CACHE is empty"
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

# bash has read the file up to here before main runs, so that editing it does not disturb a run.
main "$@"
exit
