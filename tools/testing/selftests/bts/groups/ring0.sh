# SPDX-License-Identifier: GPL-2.0
# ring0: the branch flight recorder: its files, what it prints, and when
# shellcheck shell=bash

# shellcheck source=../vm/lab.sh
. "$B/vm/lab.sh"
# shellcheck source=ds.sh
. "$B/groups/ds.sh"

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

# fatal CASE KIND FUNCTION CPUS KEY=VALUE...: the trace is on the console, the
# crashing CPU's first, FUNCTION on top of its 32.
fatal() {
	local case=$1 wrong

	crashing "$case" smp="$4" "${@:5}" -- die "$2"
	wrong=$(awk -v function_name="$3" -v cpus="$4" -f "$B/ring0/dump.awk" "$CASE_DIR/console")
	if [ -z "$wrong" ]; then
		pass "$case.trace"
	else
		fail "$case.trace" "$wrong (see $CASE_DIR/console)"
	fi
}

ring0_crashes() {
	crashing task smp=2 -- task 4
	crashing console smp=2 -- console 1
	crashing meet smp=2 -- meet 1
	crashing recursive smp=2 -- recursive 1
	flight sysrq smp=2 tools="$LAB" -- crash "$LAB" sysrq 1
	fatal irq irq bts_crash_fault 2
	fatal nmi nmi bts_crash_fault 2 pti=off
	fatal double double bts_crash_double_fault 1
	fatal panic panic bts_crash_panic 4
}

ring0_marks() {
	need_lab "$B/ring0/lab" bts_crash patched "$CONFIG"
	flight marks smp=2 tools="$LAB" -- marks "$LAB" all
	flight warn smp=2 tools="$LAB" expect=splat -- marks "$LAB" warn
	flight watch smp=2 tools="$LAB" -- watch "$LAB"
}

# The buffers in the dump, and no store after the jump.
ring0_kdump() {
	jump_boot patched "$CONFIG" kdump -- jump crash recorder
}

group_ring0() {
	ring0_files
	scrubbed scrub
	ring0_crashes
	ring0_marks
	ring0_kdump
}
