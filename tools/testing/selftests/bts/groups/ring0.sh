# SPDX-License-Identifier: GPL-2.0
# ring0: the branch flight recorder: its files, what it prints, and when
# shellcheck shell=bash

# shellcheck source=../vm/lab.sh
. "$B/vm/lab.sh"

# flight CASE KEY=VALUE... -- PROG [ARG...]
flight() {
	boot "$1" kernel=patched config="$CONFIG" abort=1 "${@:2}"
}

ring0_files() {
	flight files smp=1 -- files all
	flight files-2 smp=2 pti=off -- files all
	flight files-no-cpl smp=2 cpu="$CPU,-ds-cpl" -- files all
	flight missing cpu="$CPU,-ds,-dtes64,-ds-cpl" -- files missing
	flight booted smp=2 append=hw_branches -- files booted 01
	flight booted-list smp=3 append=hw_branches=1-2 -- files booted 12
	flight booted-bad smp=1 append=hw_branches=x -- files booted -
}

# scrubbed CASE KEY=VALUE...: another trace keeps the buffers in use.
scrubbed() {
	need_lab "$B/layer/lab" bts_lab patched "$CONFIG"
	flight "$1" smp=2 tools="$LAB" "${@:2}" -- scrub "$LAB"
}

# crashing CASE KEY=VALUE... -- KIND TIMES | die KIND: any splat is what it is for.
crashing() {
	need_lab "$B/ring0/lab" bts_crash patched "$CONFIG"
	local case=$1 keys=()
	shift

	while [ "$1" != -- ]; do
		keys+=("$1")
		shift
	done
	flight "$case" tools="$LAB" expect=splat "${keys[@]}" -- crash "$LAB" "${@:2}"
}

# fatal KIND FUNCTION KEY=VALUE...: the trace is on the console, the crashing
# CPU's first, FUNCTION among its 32 and on top if that is where the fault was.
fatal() {
	local kind=$1 wrong

	crashing "$kind" "${@:3}" -- die "$kind"
	wrong=$(awk -v function_name="$2" -v kind="$kind" -f "$B/ring0/dump.awk" "$CASE_DIR/console")
	if [ -z "$wrong" ]; then
		pass "$kind.trace"
	else
		fail "$kind.trace" "$wrong (see $CASE_DIR/console)"
	fi
}

ring0_crashes() {
	crashing task smp=2 -- task 4
	crashing console smp=2 -- console 1
	crashing meet smp=2 -- meet 1
	crashing recursive smp=2 -- recursive 1
	flight sysrq smp=2 tools="$LAB" -- crash "$LAB" sysrq 1
	fatal irq bts_crash_fault smp=2
	fatal nmi bts_crash_fault smp=2 pti=off
	fatal double bts_crash_double_fault smp=2
	fatal panic bts_crash_panic smp=2
}

group_ring0() {
	ring0_files
	scrubbed scrub
	ring0_crashes
}
