# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Messages, progress, and the end of everything that was started.

STEP_PID=	# process group of the running step
SHELL_PID=	# the emulator of an interactive guest
SCRATCH=	# half-built things, removed whatever happens
UNFINISHED=	# the same, where it has to be made in its place
BUILDING=	# the mark of a build directory that make is writing to

# The screen, also where a step's output goes to a log.
exec {SCREEN}>&2

# What is wrong, and what to do about it: one line, exit 2.
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

# 1234 -> 1.2 s
seconds() {
	printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100))
}

# End a process group: gently, so that make removes what is half written.
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

on_exit() {
	local status=$?

	trap '' INT TERM HUP
	# A build that had to be shot leaves its mark: see build_in_place().
	if [ -n "$STEP_PID" ]; then
		end_group "$STEP_PID" && [ -n "$BUILDING" ] && rm -f "$BUILDING"
	fi
	[ -z "$SHELL_PID" ] || kill "$SHELL_PID" 2>/dev/null
	[ -z "$SCRATCH$UNFINISHED" ] || rm -rf -- ${SCRATCH:+"$SCRATCH"} ${UNFINISHED:+"$UNFINISHED"}
	clear_line
	exit "$status"
}

on_signal() {
	clear_line
	echo "vmtest.sh: interrupted; nothing half-built is kept" >&"$SCREEN"
	exit 130
}

set_traps() {
	trap on_exit EXIT
	trap on_signal INT TERM HUP
}

# Shows LABEL and the time while the step runs. On a terminal the line is
# overwritten, elsewhere (CI) it comes once and then every half minute.
show_progress() {
	local label=$1 elapsed=$2

	if [ -n "$TTY" ]; then
		[ "$elapsed" -lt 2 ] || printf '\r\033[K  ...  %s  %d s' "$label" "$elapsed" >&"$SCREEN"
	elif [ "$elapsed" -eq 2 ] || { [ "$elapsed" -gt 2 ] && [ $((elapsed % 30)) -eq 0 ]; }; then
		printf '  ...  %s  %d s\n' "$label" "$elapsed" >&"$SCREEN"
	fi
}

# step LABEL COMMAND...: run COMMAND in a process group of its own and show
# that it lives. The caller redirects its output. Returns its status.
step() {
	local label=$1 start=$SECONDS shown=0 status ticker over
	shift

	set -m
	"$@" </dev/null 9>&- &
	STEP_PID=$!
	set +m
	# Whichever comes first: the end of the step, or a second.
	while :; do
		sleep 1 9>&- &
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

# logged LABEL LOG COMMAND...: a step whose output is a file. Says how long it
# took, and on failure where to look.
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

# The lines of a log that tell why, for an error in one line.
reason_in() {
	local line

	line=$(grep -E -m1 '(^|[ :])(error|Error|ERROR|E|fatal|FAILED|\*\*\*)[: ]' "$1" || tail -n 1 "$1")
	printf '%s' "${line:0:200}"
}
