// SPDX-License-Identifier: GPL-2.0
/*
 * Very many threads of one program, all traced at once, each with a trace of its
 * own branches.
 *
 *   many [THREADS]
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"

#define ROOM	100
#define WORK	60

static unsigned int *started;

static void *thread(void *unused)
{
	known_work(WORK);
	__atomic_fetch_add(started, 1, __ATOMIC_SEQ_CST);
	for (;;)
		syscall(SYS_pause);
	return unused;
}

static void start_threads(unsigned long nr)
{
	pthread_attr_t attr;
	pthread_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	while (nr--) {
		if (pthread_create(&id, &attr, thread, NULL))
			_exit(1);
	}
}

/* Start them all, each from its first stop; returns how many there are. */
static unsigned int run_all(const struct tracee *t, pid_t *pids, unsigned int nr)
{
	unsigned int seen = 0;
	unsigned long pid;
	int status;

	tracee_begin(t, start_threads, nr);
	/* Who waits for anybody would look through all of them, each time. */
	for (;;) {
		status = tracee_continue(t->pid, 0);
		if (!stopped_by(status, SIGTRAP | PTRACE_EVENT_CLONE << 8))
			break;
		if (seen == nr || ptrace(PTRACE_GETEVENTMSG, t->pid, 0, &pid) ||
		    waitpid(pid, &status, __WALL) != (pid_t)pid || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_CONT, pid, 0, 0))
			give_up("%u threads, then status %#x", seen, status);
		pids[seen++] = pid;
	}
	if (!stopped_by(status, SIGSTOP))
		give_up("%u threads, then status %#x", seen, status);
	while (__atomic_load_n(started, __ATOMIC_SEQ_CST) < nr)
		usleep(10000);
	return seen;
}

static bool traced_alone(pid_t group, pid_t pid)
{
	struct trace got = { };
	int status;
	bool good;

	/* SIGSTOP would have the kernel look at all the others. */
	syscall(SYS_tgkill, group, pid, SIGUSR1);
	if (waitpid(pid, &status, __WALL) != pid || !stopped_by(status, SIGUSR1))
		give_up("a thread does not stop: %#x", status);
	trace_drain(pid, &got, ROOM);
	good = known_in_row(&got) == WORK - 1 && trace_leak(&got) < 0;
	trace_free(&got);
	return good;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? atoi(argv[1]) : 10000, right = 0, i;
	struct tracee t;
	pid_t *pids = calloc(nr, sizeof(*pids));

	started = shared_memory(sizeof(*started));
	t = tracee_new();
	if (!pids || ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE) ||
	    bts_config(t.pid, TRACE | INHERIT | ALLOC, RECORDS(ROOM), 0))
		give_up("no tracee");
	ok(run_all(&t, pids, nr) == nr, "%u threads, all traced at once", nr);
	ok(!bts_status(t.pid).not_inherited, "none went without");
	for (i = 0; i < nr; i++)
		right += traced_alone(t.pid, pids[i]);
	ok(right == nr, "%u have their own branches and nobody else's", right);
	/* None is gone before its tracer has seen its end. */
	kill(t.pid, SIGKILL);
	for (i = 0; i < nr; i++)
		waitpid(pids[i], NULL, __WALL);
	tracee_end(&t);
	return finish();
}
