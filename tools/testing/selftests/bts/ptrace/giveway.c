// SPDX-License-Identifier: GPL-2.0
/*
 * A user opens intel_bts while there are traces by the Debug Store. If this user has CAP_PERFMON,
 * and all these traces are of users without it, the kernel takes the hardware from the traces. Such
 * a trace keeps its records, reports that it was revoked, and can get the hardware back by a
 * PTRACE_BTS_CONFIG when intel_bts is closed. If one of these traces is of a user with CAP_PERFMON,
 * or if the user who opens intel_bts lacks it, the kernel refuses intel_bts, and revokes no trace.
 * CAP_SYS_ADMIN has the same effect as CAP_PERFMON. intel_bts needs page-table isolation to be off.
 */
#include <signal.h>
#include <sys/wait.h>

#include "intelbts.h"
#include "../guest/nobody.h"

#define ROOM		400

static void spin(unsigned long unused)
{
	(void)unused;
	for (;;)
		known_work(1000);
}

/* The orders that the process of start_tracer() can execute: see step(). */
enum { MAKE, RUN, RUN_HANDLER, CHANGE, STATE, HELD, LOST, INSIST, LEAVE, NR_STEPS };

/*
 * Shared memory. A tracer executes the order @what. When step() returns, which it does not for
 * INSIST and LEAVE, the tracer sets @result, and then sets @what to -1.
 */
struct steps {
	volatile int what;
	volatile long result;
};

static void handler(int signal)
{
	(void)signal;
	known_work(50);
}

static void run_handler(unsigned long unused)
{
	(void)unused;
	raise(SIGUSR1);
}

/* Have the tracee raise SIGUSR1. Then deliver the signal, so that the tracee runs handler(). */
static long do_run_handler(struct tracee *t)
{
	tracee_begin(t, run_handler, 0);
	return stopped_by(tracee_continue(t->pid, 0), SIGUSR1) &&
	       stopped_by(tracee_continue(t->pid, SIGUSR1), SIGSTOP) ? 0 : -EINVAL;
}

static long lost_marks(pid_t pid)
{
	struct trace got = { };
	long n;

	trace_drain(pid, &got, ROOM);
	n = trace_count(&got, X86_BTS_LOST);
	trace_free(&got);
	return n;
}

static long step(struct tracee *t, int what)
{
	switch (what) {
	case MAKE:
		return bts_config(t->pid, TRACE | SCHED | ALLOC, RECORDS(ROOM), 0);
	case RUN:
		tracee_do(t, known_work, 50);
		return 0;
	case RUN_HANDLER:
		return do_run_handler(t);
	case CHANGE:
		return bts_config(t->pid, TRACE | SCHED, 0, 0);
	case STATE:
		return bts_status(t->pid).state;
	case HELD:
		return bts_status(t->pid).held;
	case LOST:
		return lost_marks(t->pid);
	case INSIST:
		for (;;)
			bts_config(t->pid, TRACE, 0, 0);
	case LEAVE:
		ptrace(PTRACE_SETOPTIONS, t->pid, 0, 0);
		tracee_begin(t, spin, 0);
		ptrace(PTRACE_CONT, t->pid, 0, 0);
		_exit(0);
	}
	return -EINVAL;
}

/* Start a process that traces a tracee by orders in @s, as root if @root, else as nobody. */
static pid_t start_tracer(struct steps *s, bool root)
{
	pid_t pid;

	s->what = -1;
	pid = fork();
	if (!pid) {
		struct tracee t;

		signal(SIGUSR1, handler);
		if (!root)
			become_nobody();
		t = tracee_new();
		for (;;) {
			while (s->what < 0)
				usleep(1000);
			s->result = step(&t, s->what);
			s->what = -1;
		}
	}
	return pid;
}

static long tell(struct steps *s, int what)
{
	s->what = what;
	while (s->what >= 0)
		usleep(1000);
	return s->result;
}

static void check_revoked(struct steps *s)
{
	pid_t pid = start_tracer(s, false);
	long held;
	int fd;

	ok(!tell(s, MAKE) && !tell(s, RUN) && !tell(s, STATE), "a user's trace");
	held = tell(s, HELD);
	ok(as_nobody(intel_bts_errno, NULL) == EBUSY, "another user is refused intel_bts");
	ok(tell(s, HELD) == held && !tell(s, STATE), "and nothing happens to the trace");
	fd = intel_bts_open();
	ok(fd >= 0, "root gets intel_bts: %d", fd);
	ok(tell(s, STATE) == PTRACE_BTS_S_REVOKED, "the trace says that it was revoked");
	ok(tell(s, HELD) >= held && held >= 49, "and holds what it held");
	ok(!tell(s, RUN) && tell(s, HELD) <= held + 1, "nothing is recorded any more");
	ok(!tell(s, RUN_HANDLER) && tell(s, HELD) <= held + 1, "nor is a handler marked");
	ok(tell(s, CHANGE) == -EBUSY && tell(s, MAKE) == -EBUSY, "it may try again, in vain");
	close(fd);
	ok(!tell(s, CHANGE) && !tell(s, STATE), "and with success when that is over");
	ok(!tell(s, RUN) && tell(s, HELD) >= held + 49, "it is recorded again");
	ok(tell(s, LOST) == 1, "the gap is marked once");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A user who repeats PTRACE_BTS_CONFIG in a loop must not keep root from the hardware. */
static void check_insistent(struct steps *s)
{
	pid_t pid = start_tracer(s, false);
	int i, fd, refused = 0;

	ok(!tell(s, MAKE), "a user's trace, which asks again and again");
	s->what = INSIST;
	for (i = 0; i < 300; i++) {
		fd = intel_bts_open();
		refused += fd < 0;
		if (fd >= 0)
			close(fd);
		usleep(i % 4 * 100);
	}
	ok(!refused, "root gets intel_bts each of 300 times: %d refused", refused);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check_firm(struct steps *s)
{
	pid_t pid = start_tracer(s, true);

	ok(!tell(s, MAKE), "a trace of root");
	ok(intel_bts_open() == -EBUSY, "root is refused intel_bts then");
	ok(!tell(s, STATE), "and the trace goes on");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A trace whose tracer has exited must not keep others from the hardware. */
static void check_orphan(struct steps *s)
{
	pid_t pid = start_tracer(s, false);
	int i, err = -EBUSY;

	ok(!tell(s, MAKE), "a trace whose tracer is about to exit");
	s->what = LEAVE;
	waitpid(pid, NULL, 0);
	for (i = 0; i < 100 && err; i++) {
		err = as_nobody(intel_bts_errno, NULL);
		usleep(10000);
	}
	ok(!err, "its tracee spins, and any user gets intel_bts");
}

int main(void)
{
	struct steps *s = shared_memory(sizeof(*s));

	intel_bts_for_all();
	nobody_pages = 8;
	check_revoked(s);
	check_insistent(s);
	check_firm(s);
	check_orphan(s);
	return finish();
}
