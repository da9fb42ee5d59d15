// SPDX-License-Identifier: GPL-2.0
/*
 * Trace very many threads of one program at the same time. Each has its own trace with its
 * own branches.
 *
 *   many [THREADS]
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "threads.h"

#define ROOM	100

static bool traced_alone(pid_t group, pid_t pid)
{
	struct trace got = { };
	int status;
	bool good;

	/* Do not use SIGSTOP: for each SIGSTOP, the kernel would visit all threads of the group. */
	syscall(SYS_tgkill, group, pid, SIGUSR1);
	if (waitpid(pid, &status, __WALL) != pid || !stopped_by(status, SIGUSR1))
		give_up("a thread does not stop: %#x", status);
	trace_drain(pid, &got, ROOM);
	good = count_known_in_row(&got) == THREADS_WORK - 1 && trace_leak(&got) < 0;
	trace_free(&got);
	return good;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? atoi(argv[1]) : 10000, right = 0, i;
	struct tracee t;
	pid_t *pids = calloc(nr, sizeof(*pids));

	t = threads_new(ROOM);
	if (!pids)
		give_up("memory");
	ok(threads_run(&t, pids, nr) == nr, "%u threads, all traced at once", nr);
	ok(!bts_status(t.pid).not_inherited, "none went without");
	for (i = 0; i < nr; i++)
		right += traced_alone(t.pid, pids[i]);
	ok(right == nr, "%u have their own branches and nobody else's", right);
	/* Reap each thread: a traced thread stays a zombie until its tracer waits for it. */
	kill(t.pid, SIGKILL);
	for (i = 0; i < nr; i++)
		waitpid(pids[i], NULL, __WALL);
	tracee_end(&t);
	return finish();
}
