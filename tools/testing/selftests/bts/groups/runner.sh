# SPDX-License-Identifier: GPL-2.0
# runner: failures in guests are reported; wrong commands and wrong lists of splats are refused
# shellcheck shell=bash

# must_fail CASE REASON [KEY=VALUE...] -- PROG [ARG...]: boot must report a failure that matches
# REASON.
must_fail() {
	local case=$1 reason=$2 passed=$PASSED failed=$FAILED skipped=$SKIPPED
	local before=("${FAILURES[@]}") planted
	shift 2

	FAILURES=()
	QUIET=1
	boot "$case" smp=1 "$@"
	QUIET=
	PASSED=$passed FAILED=$failed SKIPPED=$skipped
	planted=("${FAILURES[@]}")
	FAILURES=("${before[@]}")
	if [ ${#planted[@]} -eq 0 ]; then
		fail "$case" "was not noticed, see $CASE_DIR"
	elif ! printf '%s\n' "${planted[@]}" | grep -Eq "$reason"; then
		fail "$case" "expected '$reason', but: ${planted[*]}"
	else
		pass "$case"
	fi
}

# must_refuse CASE MESSAGE COMMAND...: the command must exit with 2, and print one line, which
# contains MESSAGE.
must_refuse() {
	local case=$1 message=$2 output status=0
	shift 2

	output=$("$@" 2>&1) || status=$?
	if [ "$status" -eq 2 ] && [[ $output = *"$message"* && $output != *$'\n'* ]]; then
		pass "$case"
	else
		fail "$case" "expected exit 2 and '$message', but: $status '$output'"
	fi
}

faulty_guests() {
	must_fail splat 'splat: .*WARNING: planted' -- misbehave splat
	must_fail panic 'splat: .*Kernel panic' -- misbehave panic
	must_fail taint 'splat: kernel tainted' -- misbehave taint
	must_fail stall 'stall: no output for 4 s' stall=4 -- misbehave stall
	must_fail time-out 'time-out: not over after 8 s' timeout=8 -- misbehave endless
	must_fail not-ok '^not-ok\.planted Expected false to be true' -- misbehave not-ok
	must_fail not-ok-hidden '^not-ok-hidden\.planted ' -- misbehave not-ok-hidden
	must_fail plan '^plan\.plan 3 results planned, 1 came' -- misbehave plan
	must_fail exit '^exit exit status 3' -- misbehave exit
	must_fail signal '^signal killed by signal 11' -- misbehave signal
	must_fail restart 'reboot: the guest reset itself' -- misbehave restart
	must_fail off 'lost: no word of PID 1' -- misbehave off
	must_fail quit 'lost: no word of PID 1' -- misbehave quit
	must_fail save '^save saved: to ' -- misbehave save
	must_fail no-program 'exit status 127' -- no-such-program
	must_fail no-machine 'emulator: exit status 1' qemu="-device no-such-device" -- misbehave exit
	must_fail no-abort 'it ended: emulator exit' expect=abort qemu="-device no-such-device" -- misbehave exit
	must_fail not-expected 'it ended: ok' expect=splat -- hello 1 on
}

faulty_lists() {
	local list=$CASE_DIR/list vmrun=$BENCH_BIN/vmrun

	printf '# SPDX-License-Identifier: GPL-2.0\n\nWARNING:\n! harmless\n' >"$list"
	must_refuse splats.no-reason "without its reason" "$vmrun" -d "$CASE_DIR" -S "$list" -- true
	printf 'WARNING: (\n' >"$list"
	must_refuse splats.bad-pattern "correct the pattern" "$vmrun" -d "$CASE_DIR" -S "$list" -- true
	: >"$list"
	must_refuse splats.empty "holds no pattern" "$vmrun" -d "$CASE_DIR" -S "$list" -- true
}

faulty_commands() {
	local vmtest=$B/vmtest.sh

	must_refuse option "no option --frob" "$vmtest" --frob
	must_refuse command "no command frob" "$vmtest" frob
	must_refuse group "no group frob" "$vmtest" test frob
	must_refuse config "no configuration frob" "$vmtest" build --config frob
	must_refuse value "choose one of: on off" "$vmtest" --pti maybe
	must_refuse number "give a number from 1" "$vmtest" --smp 0
	must_refuse image-where "no directory /none" "$vmtest" image -o /none/x.img
	must_refuse image-directory "/ is not a file" "$vmtest" image -o /
	must_refuse image-option "image does not take --stock" "$vmtest" image --stock
	must_refuse locked "another run (process $$)" "$vmtest" build
	must_refuse no-tree "is not a Linux source tree" \
		env BTS_CACHE="$CASE_DIR/cache" "$vmtest" build --kernel "$B"
	must_refuse no-cache "set BTS_CACHE" env BTS_CACHE=/proc/none "$vmtest" build
	mkdir -p "$CASE_DIR/others/x"
	must_refuse cache-of-others "has other files" env BTS_CACHE="$CASE_DIR/others" "$vmtest" build
	must_refuse cache-in-clone "is in the clone" env BTS_CACHE="$REPO/none" "$vmtest" build
	must_refuse cache-name "the path /a,b has" env BTS_CACHE=/a,b "$vmtest" build
}

# A group that calls a function of the wrong name must fail.
# shellcheck disable=SC2153
unknown_function() {
	local passed=$PASSED failed=$FAILED skipped=$SKIPPED before=("${FAILURES[@]}") found

	QUIET=1
	(no_such_function) 2>/dev/null
	check_unknown
	QUIET=
	found=${FAILURES[*]:${#before[@]}}
	PASSED=$passed FAILED=$failed SKIPPED=$skipped FAILURES=("${before[@]}")
	rm -f "$SCRATCH/unknown"
	if [[ $found = *"no command or function no_such_function"* ]]; then
		pass unknown-function
	else
		fail unknown-function "the call of a function that does not exist was not noticed"
	fi
}

# A child that is killed before it has reset the traps must not remove the scratch directory.
killed_children() {
	local scratch=$CASE_DIR/scratch

	mkdir "$scratch"
	bash -c '. "$1/vm/base.sh"
		TTY= SCRATCH=$2
		set_traps
		for i in {1..100}; do
			sleep 1 &
			kill $!
			wait $!
		done
		SCRATCH=' - "$B" "$scratch" 2>"$CASE_DIR/stderr"
	if [ -d "$scratch" ]; then
		pass killed-children
	else
		fail killed-children "a child removed $scratch"
	fi
}

# A row of the matrix runs vmtest.sh test, which cannot start: this run holds the lock of the cache.
refused_row() {
	local output status=0

	output=$("$B/vmtest.sh" matrix off 2>&1) || status=$?
	if [ "$status" -eq 1 ] && [[ $output = *"FAIL off "*"another run (process $$)"* ]]; then
		pass matrix-row
	else
		fail matrix-row "expected exit 1 and 'another run', but: $status '$output'"
	fi
}

group_runner() {
	new_case killed-children
	killed_children
	check at-once -- "$B/vm/workers-selftest"
	faulty_guests
	new_case faulty-lists
	faulty_lists
	new_case faulty-commands
	faulty_commands
	unknown_function
	check unfit-newest -- "$B/vm/source-selftest" "$SCRATCH/unfit"
	new_case matrix-row
	refused_row
}
