# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Messages, steps (commands with a progress display), and the cleanup at exit.

STEP_PID=	# process group of the running step
SHELL_PID=	# an emulator that runs in the background
SCRATCH=	# directory for unfinished files, removed at exit
UNFINISHED=	# unfinished directory at its final place in the cache, removed at exit
WORKER=		# number of this worker: see workers.sh
WORKERS=()	# process IDs of the workers, in their parent
OWNER=		# the process that set the traps
BUILDING=	# file that exists while make writes to a build directory: see build_in_place()

# A copy of standard error, for messages while the output of a step goes to a log
exec {SCREEN}>&2

# die MESSAGE...: print what is wrong and what to do about it, and exit with 2.
die() {
	clear_line
	echo "vmtest.sh: $*" >&"$SCREEN"
	exit 2
}

say() {
	clear_line
	printf '%s\n' "$*"
}

clear_line() {
	[ -z "$TTY" ] || printf '\r\033[K' >&"$SCREEN"
}

now_ms() {
	local t=$EPOCHREALTIME

	t=${t/[.,]/}
	printf '%s' "${t%???}"
}

# seconds MS: print milliseconds as seconds, e.g. 1234 as 1.2 s.
seconds() {
	printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100))
}

# end_group PID: end a process group. First use SIGTERM, so that make removes unfinished files.
# Return 1 if the group had to be killed.
end_group() {
	local pid=$1 i

	kill -TERM -- "-$pid" 2>/dev/null || return 0
	for ((i = 0; i < 300; i++)); do
		kill -0 -- "-$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -KILL -- "-$pid" 2>/dev/null
	return 1
}

# Bash may run the traps in a child, too, if a signal arrives before the child has reset them. The
# child must not remove what its parent uses.
on_exit() {
	local status=$? pid

	[ "$BASHPID" = "$OWNER" ] || exit "$status"
	trap '' INT TERM HUP
	for pid in "${WORKERS[@]}"; do
		kill "$pid" 2>/dev/null
	done
	[ ${#WORKERS[@]} -eq 0 ] || wait "${WORKERS[@]}" 2>/dev/null
	# If a build had to be killed, keep the file $BUILDING: see build_in_place().
	if [ -n "$STEP_PID" ]; then
		end_group "$STEP_PID" && [ -n "$BUILDING" ] && rm -f "$BUILDING"
	fi
	[ -z "$SHELL_PID" ] || kill "$SHELL_PID" 2>/dev/null
	[ -z "$SCRATCH$UNFINISHED" ] || rm -rf -- ${SCRATCH:+"$SCRATCH"} ${UNFINISHED:+"$UNFINISHED"}
	clear_line
	exit "$status"
}

on_signal() {
	[ "$BASHPID" = "$OWNER" ] && [ -z "$WORKER" ] || exit 130
	clear_line
	echo "vmtest.sh: interrupted; the next run continues with what is complete" >&"$SCREEN"
	exit 130
}

set_traps() {
	OWNER=$BASHPID
	trap on_exit EXIT
	trap on_signal INT TERM HUP
}

# Show LABEL and the time while the step runs, from 2 s on: on a terminal in one line that is
# overwritten, elsewhere (CI) after 2 s and then every half minute.
show_progress() {
	local label=$1 elapsed=$2

	if [ -n "$TTY" ]; then
		[ "$elapsed" -lt 2 ] || printf '\r\033[K  ...  %s  %d s' "$label" "$elapsed" >&"$SCREEN"
	elif [ "$elapsed" -eq 2 ] || { [ "$elapsed" -gt 2 ] && [ $((elapsed % 30)) -eq 0 ]; }; then
		printf '  ...  %s  %d s\n' "$label" "$elapsed" >&"$SCREEN"
	fi
}

# step LABEL COMMAND...: run COMMAND in its own process group, and show progress. Returns the status
# of COMMAND.
step() {
	local label=$1 start=$SECONDS shown=0 status ticker over
	shift

	set -m
	"$@" </dev/null 8>&- 9>&- &
	STEP_PID=$!
	set +m
	# Wait for the end of the step, and show progress each second.
	while :; do
		sleep 1 8>&- 9>&- &
		ticker=$!
		status=0
		wait -n -p over "$STEP_PID" "$ticker" || status=$?
		[ "$over" = "$ticker" ] || break
		if [ $((SECONDS - start)) -ne "$shown" ]; then
			shown=$((SECONDS - start))
			show_progress "$label" "$shown"
		fi
	done
	kill "$ticker" 2>/dev/null
	STEP_PID=
	clear_line
	return "$status"
}

# logged LABEL LOG COMMAND...: a step with its output in LOG. On success, prints the time it took,
# if at least 2 s. On failure, returns 1, or dies if there is no space left.
logged() {
	local label=$1 log=$2 start
	shift 2

	start=$(now_ms)
	mkdir -p "$(dirname "$log")"
	if step "$label" "$@" >"$log" 2>&1; then
		[ $(($(now_ms) - start)) -lt 2000 ] ||
			say "       $label: $(seconds $(($(now_ms) - start)))"
		return 0
	fi
	if grep -q 'No space left on device' "$log"; then
		die "no space left for $label in $CACHE: free 6 GB, or set BTS_CACHE to a larger disk"
	fi
	return 1
}

# reason_in LOG: print the first line of LOG that names an error, or else the last line; at most 200
# characters.
reason_in() {
	local line

	line=$(grep -E -m1 '(^|[ :])(error|Error|ERROR|E|fatal|FAILED|\*\*\*)[: ]' "$1" || tail -n 1 "$1")
	printf '%s' "${line:0:200}"
}
