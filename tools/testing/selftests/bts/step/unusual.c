// SPDX-License-Identifier: GPL-2.0
/*
 * A program for `twice` to trace. In each run, it takes the same branches, also those of signals,
 * faults, traps, and far transfers.
 *
 *   unusual [ROUNDS [TASKS]]	ROUNDS: how often to call workload_faults(), by default once;
 *				TASKS: how many tasks share its memory, at most 15, by default none
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../guest/workload.h"

static int work(void *rounds)
{
	volatile long i = (long)rounds;

	while (i--)
		;
	return 0;
}

/*
 * Start tasks that share this task's memory, and wait for their ends. The tasks do not wait for
 * each other in user mode: otherwise, their branches would depend on time.
 */
static int share(int tasks)
{
	static char stacks[16][16384];
	int i;

	for (i = 0; i < tasks && i < 15; i++) {
		if (clone(work, stacks[i + 1], CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
			  (void *)(100L * (i + 1))) < 0)
			return 1;
	}
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	workload_prepare();
	while (rounds-- > 0) {
		if (!workload_faults(WORKLOAD_FORK))
			return 1;
	}
	return share(argc > 2 ? atoi(argv[2]) : 0);
}
