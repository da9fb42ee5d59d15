// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "nth.h"

#define STOP_CLONE	(SIGTRAP | PTRACE_EVENT_CLONE << 8)

struct nth_fork *nth_forked;

static int nth = -1;
static pid_t owner;

void nth_open(void)
{
	if (nth >= 0)
		close(nth);
	nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth < 0)
		give_up("fail-nth: has this kernel fault injection?");
	owner = getpid();
}

void nth_arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	/* A failure that was armed earlier may hit this write. Then the second write succeeds. */
	if (pwrite(nth, text, len, 0) != len && pwrite(nth, text, len, 0) != len)
		give_up("cannot have calls fail");
}

bool nth_out_of_reach(void)
{
	char text[16] = "";
	ssize_t len = pread(nth, text, sizeof(text) - 1, 0);

	nth_arm(0);
	return len <= 0 || atoi(text);
}

struct tracee nth_forking_tracee(uint32_t flags, uint32_t size)
{
	struct tracee t;

	if (!nth_forked)
		nth_forked = shared_memory(sizeof(*nth_forked));
	t = tracee_new();
	if (ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE) ||
	    bts_config(t.pid, flags | INHERIT | ALLOC, size, 0))
		give_up("no tracee");
	return t;
}

void nth_fork(unsigned long n)
{
	/* A file that the tracee has inherited would affect the tracer: open its own file. */
	if (owner != getpid())
		nth_open();
	nth_arm(n);
	nth_forked->ret = syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!nth_forked->ret)
		_exit(0);
	if (nth_forked->ret < 0)
		nth_forked->ret = -errno;
	nth_forked->out_of_reach = nth_out_of_reach();
}

static void end_now(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

int nth_let_fork(const struct tracee *t, void (*what)(unsigned long), unsigned long arg)
{
	unsigned long child;
	int status, held;

	tracee_begin(t, what, arg);
	status = tracee_continue(t->pid, 0);
	if (stopped_by(status, SIGSTOP))
		return -1;
	if (!stopped_by(status, STOP_CLONE) || ptrace(PTRACE_GETEVENTMSG, t->pid, 0, &child) ||
	    waitpid(child, &status, __WALL) != (pid_t)child || !stopped_by(status, SIGSTOP))
		give_up("a fork: status %#x", status);
	held = bts(PTRACE_BTS_SIZE, child, NULL, 0);
	end_now(child);
	status = tracee_continue(t->pid, 0);
	if (!stopped_by(status, SIGSTOP) || (held < 0 && held != -ENXIO))
		give_up("after a fork: status %#x, %d", status, held);
	return held >= 0;
}
