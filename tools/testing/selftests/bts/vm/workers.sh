# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Groups that run at the same time (--at-once). Each worker is a child of vmtest.sh, and takes the
# next group from a list. All workers use one cache. So a worker works only while it holds a lock,
# and releases the lock while it waits for a guest or for a test on the host.

AT_ONCE=1

# The groups that take most time. They begin first: a long group that begins last runs alone.
LONGEST="ring0 tool silicon lbr"

# meanwhile COMMAND...: run COMMAND, and let the other workers work meanwhile.
meanwhile() {
	local status=0

	[ -n "$WORKER" ] || {
		"$@"
		return
	}
	flock -u 8
	"$@" || status=$?
	flock 8
	return "$status"
}

# worker NUMBER LIST: run the groups of the file LIST that no other worker has taken.
worker() {
	local list=$2 group

	WORKER=$1 WORKERS=()
	exec 8>>"$SCRATCH/turn"
	flock 8
	SCRATCH=$SCRATCH/worker$WORKER
	mkdir "$SCRATCH" || die "cannot write $CACHE: free some space"
	set_traps
	while [ -s "$list" ]; do
		read -r group <"$list"
		sed -i 1d "$list" || die "cannot write $list: free some space"
		run_group "$group"
	done
	echo "$PASSED $FAILED $SKIPPED" >>"$list.counts" || die "cannot write $list.counts: free some space"
}

# longest_first GROUP...: print the groups, a line each, those of LONGEST first.
longest_first() {
	local group

	for group in $LONGEST; do
		printf '%s\n' "$@" | grep -xF "$group"
	done
	for group; do
		[[ " $LONGEST " == *" $group "* ]] || echo "$group"
	done
}

# run_at_once GROUP...: run the groups by workers, and add their results to those of this process.
run_at_once() {
	local list=$SCRATCH/groups passed failed skipped over i

	longest_first "$@" >"$list"
	for ((i = 1; i <= AT_ONCE; i++)); do
		worker "$i" "$list" &
		WORKERS+=($!)
	done
	while [ ${#WORKERS[@]} -gt 0 ]; do
		wait -n -p over "${WORKERS[@]}" || {
			# A worker that was not killed has printed the reason.
			[ $? -le 128 ] || die "a worker was killed: look for its reason in the system's log"
			exit 2
		}
		for i in "${!WORKERS[@]}"; do
			[ "${WORKERS[i]}" != "$over" ] || unset "WORKERS[i]"
		done
	done
	while read -r passed failed skipped; do
		PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
	done <"$list.counts"
}
