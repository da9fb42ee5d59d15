# SPDX-License-Identifier: GPL-2.0
# stress (slow): PTRACE_BTS_*: random requests compared with a model, races, injected faults
# shellcheck shell=bash
#
# --seconds is the time for the parts fuzz and races, approximately. --seed is the seed of requests
# and races. --requests adds a run of that many requests by eight tracers, without noise. That run,
# and --rounds events of each race, must complete in --seconds each.
# STRESS_PARTS selects some of the parts of this group.

# shellcheck source=shared/stress.sh
. "$B/groups/shared/stress.sh"
# shellcheck source=shared/crashes.sh
. "$B/groups/shared/crashes.sh"

# Repeat each run of the file stress/seeds: these have found bugs.
stress_seeds() {
	local line nr=0

	while read -ra line <&3; do
		[ "${line[0]:-#}" != '#' ] || continue
		nr=$((nr + 1))
		stressed "seed-$nr" 600 smp=4 mem=512 -- fuzz -t 600 "${line[@]}"
	done 3<"$B/stress/seeds"
}

# fuzzed CASE SECONDS PROG [KEY=VALUE...]: fuzz with all kinds of other activity (-x).
fuzzed() {
	stressed "$1" "$2" mem=512 slice=2000 before="$LAB" "${@:4}" -- \
		"$3" -t "$2" -s "$STRESS_SEED" -n 8 -x sprhkm
}

stress_fuzz() {
	local part=$1

	need_lab "$B/guest/labs/bts" bts_lab patched "$CONFIG"
	stressed alone "$part" -- fuzz -t "$part" -s "$STRESS_SEED" -n 1
	stressed x32 "$part" smp=2 pti=on -- fuzz_x32 -t "$part" -s "$STRESS_SEED" -n 4
	stressed perf "$part" pti=off -- fuzz -t "$part" -s "$STRESS_SEED" -n 1 -x sp
	fuzzed all $((2 * part)) fuzz smp=4 pti=off
	fuzzed all-32 "$part" fuzz_32 smp=2 pti=on
	# Use one tracer only: while it has no trace, perf can get the last branch records.
	stressed lbr "$part" smp=2 mem=512 slice=2000 before="$LAB" "$(lbr_machine 32)" -- \
		fuzz -t "$part" -s "$STRESS_SEED" -n 1 -x sprhkml
}

# Make as many requests as --requests says.
stress_many() {
	[ "$STRESS_REQUESTS" -eq 0 ] || stressed many "$STRESS_SECONDS" smp=2 pti=off mem=512 -- \
		fuzz -t "$STRESS_SECONDS" -s "$STRESS_SEED" -r "$STRESS_REQUESTS" -n 8
}

stress_races() {
	local part=$1 kind

	[ "$STRESS_ROUNDS" -eq 0 ] || part=$STRESS_SECONDS
	for kind in exit detach exec fork; do
		stressed "race-$kind" "$part" smp=4 pti=off mem=512 slice=2000 -- \
			collide "$kind" "$STRESS_SEED" "$STRESS_ROUNDS" "$part"
	done
}

# Make each allocation and user copy of the tested calls fail in turn.
stress_faults() {
	local names=$CONFIG

	need_kernel patched "$CONFIG"
	has_option FAULT_INJECTION_USERCOPY || names+=,deny
	boot faults kernel=patched config="$names" smp=2 abort=1 "$OWNERS" -- faults
}

group_stress() {
	local part

	report "  seed $STRESS_SEED"
	for part in ${STRESS_PARTS:-seeds faults fuzz many races}; do
		part=$(one_of STRESS_PARTS "$part" seeds faults fuzz many races) || exit
		"stress_$part" $(((STRESS_SECONDS + 10) / 11))
	done
}
