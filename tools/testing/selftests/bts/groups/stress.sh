# SPDX-License-Identifier: GPL-2.0
# stress (slow): PTRACE_BTS_* before a model: requests at random, races
# shellcheck shell=bash
#
# STRESS_SECONDS is for all of it together, STRESS_SEED where the fuzzer begins,
# STRESS_ROUNDS how many of each race there are if there is the time.

# stressed CASE SECONDS [KEY=VALUE...] -- PROG [ARG...]
stressed() {
	boot "$1" kernel=patched config="$CONFIG" abort=1 timeout=$((2 * $2 + 120)) stall=120 \
		with="fuzz fuzz_32" "${@:3}"
}

# Each run that has found something is run again.
replay() {
	local line nr=0

	while read -ra line <&3; do
		[ "${line[0]:-#}" != '#' ] || continue
		nr=$((nr + 1))
		stressed "seed-$nr" 120 smp=2 -- fuzz -t 120 "${line[@]}"
	done 3<"$B/stress/seeds"
}

fuzz() {
	local part=$1 seed=$2

	report "  seed $seed"
	stressed alone "$part" -- fuzz -t "$part" -s "$seed" -n 1
	stressed all $((2 * part)) smp=4 pti=off mem=512 -- \
		fuzz -t $((2 * part)) -s "$seed" -n 8 -x sprhk
	stressed all-32 "$part" smp=2 pti=on mem=512 -- \
		fuzz_32 -t "$part" -s "$seed" -n 8 -x sprhk
}

races() {
	local part=$1 rounds=$2 kind

	for kind in exit detach exec fork; do
		stressed "race-$kind" "$part" smp=4 mem=512 -- collide "$kind" "$rounds" "$part"
	done
}

# Each call with each of its allocations and user copies failing.
faults() {
	local names=$CONFIG

	need_kernel patched "$CONFIG"
	has_option FAULT_INJECTION_USERCOPY || names+=,deny
	boot faults kernel=patched config="$names" smp=2 abort=1 -- faults
}

group_stress() {
	local seconds=${STRESS_SECONDS:-600}

	replay
	faults
	fuzz $((seconds / 8)) "${STRESS_SEED:-$RANDOM}"
	races $((seconds / 8)) "${STRESS_ROUNDS:-100000}"
}
