// SPDX-License-Identifier: GPL-2.0
/* Step a tracee through the walk of walk.S, and check where it stops. */
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "debugctl.h"
#include "walk.h"

#ifdef __x86_64__
#define user_ip		rip
#else
#define user_ip		eip
#endif

static void run_walk(void *arg)
{
	(void)arg;
	walk();
	_exit(walk_result != WALK_RESULT);
}

unsigned long tracee_ip(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.user_ip), 0);
}

/* Start a tracee, and let it run to the first INT3 of the walk. */
pid_t start_walk(void)
{
	pid_t pid = start_traced(run_walk, NULL);

	ptrace(PTRACE_CONT, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	if (tracee_ip(pid) != (unsigned long)walk_begin)
		give_up("the tracee is not at the walk's begin");
	return pid;
}

/* Step with @request to the second INT3. Store the stops before it, those of REP MOVSB as one. */
void step_through(pid_t pid, int request, struct stops *stops)
{
	unsigned long ip;

	stops->n = 0;
	for (;;) {
		if (ptrace(request, pid, 0, 0))
			give_up("step request %d", request);
		wait_stop(pid, SIGTRAP);
		ip = tracee_ip(pid);
		if (ip == (unsigned long)walk_end + 1)
			break;
		if (stops->n == WALK_LONGEST)
			give_up("the walk does not end");
		/* Each iteration of REP MOVSB may be a step: count all of them as one. */
		if (ip == (unsigned long)walk_rep && stops->n &&
		    stops->ip[stops->n - 1] == ip)
			continue;
		stops->ip[stops->n++] = ip;
	}
}

bool finish_walk(pid_t pid)
{
	int status;

	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

unsigned int nr_branches(void)
{
	unsigned int n = 0;

	while (walk_targets[n])
		n++;
	return n;
}

/*
 * Check that the stops are exactly the targets of all taken branches, in order. If @extra is not 0,
 * one more stop must be at that address.
 */
bool only_branch_targets(const struct stops *stops, unsigned long extra)
{
	unsigned int i, want = 0;

	for (i = 0; i < stops->n; i++) {
		if (extra && stops->ip[i] == extra) {
			extra = 0;
		} else if (stops->ip[i] == walk_targets[want]) {
			want++;
		} else {
			printf("# stop %u at walk+%#lx, expected walk+%#lx\n", i,
			       stops->ip[i] - (unsigned long)walk,
			       walk_targets[want] - (unsigned long)walk);
			return false;
		}
	}
	if (walk_targets[want] || extra)
		printf("# %u stops are too few\n", stops->n);
	return !walk_targets[want] && !extra;
}
