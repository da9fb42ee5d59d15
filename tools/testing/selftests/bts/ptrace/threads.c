// SPDX-License-Identifier: GPL-2.0
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "threads.h"

static unsigned int *started;

static void *thread(void *unused)
{
	known_work(THREADS_WORK);
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

struct tracee threads_new(unsigned int room)
{
	struct tracee t;

	started = shared_memory(sizeof(*started));
	t = tracee_new();
	if (ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE) ||
	    bts_config(t.pid, TRACE | INHERIT | ALLOC, RECORDS(room), 0))
		give_up("no tracee");
	return t;
}

unsigned int threads_run(const struct tracee *t, pid_t *pids, unsigned int nr)
{
	unsigned int seen = 0;
	unsigned long pid;
	int status;

	tracee_begin(t, start_threads, nr);
	/* Wait for one pid at a time: to wait for any child, the kernel may scan all of them. */
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
