// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces by the Debug Store and perf's events with LBRs exclude each other. While one is in
 * use, the kernel refuses the other with EBUSY. But if only unprivileged users have traces, and
 * root opens an event, the kernel revokes the traces.
 */
#include <signal.h>
#include <sys/wait.h>

#include "../guest/system.h"
#include "../guest/nobody.h"

#define ROOM	1000
#define PERIOD	1000

/* For as_nobody(): open an event with LBRs. Returns 0 or a positive errno. */
static int lbr_errno(void *unused)
{
	int fd = open_lbr(0, -1, PERIOD, false);

	(void)unused;
	return fd < 0 ? -fd : 0;
}

static bool traces(const struct tracee *t)
{
	uint32_t held = bts_status(t->pid).held;

	tracee_do(t, known_work, 50);
	return bts_status(t->pid).held >= held + 49;
}

static void check_second(void)
{
	struct tracee t = tracee_new();
	int fd = open_lbr(0, -1, PERIOD, false), err;

	ok(fd >= 0, "an event with LBRs: %d", fd);
	err = bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0);
	ok(err == -EBUSY, "a trace is refused beside it: %d", err);
	close(fd);
	err = bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0);
	ok(!err && traces(&t), "and made when it is gone: %d", err);
	fd = open_lbr(0, -1, PERIOD, false);
	ok(fd == -EBUSY, "an event with LBRs is refused beside a trace of root: %d", fd);
	err = as_nobody(lbr_errno, NULL);
	ok(err == EBUSY, "and to a user: %d", err);
	ok(traces(&t), "the trace goes on");
	ok(!bts_end(t.pid), "it ends");
	fd = open_lbr(0, -1, PERIOD, false);
	ok(fd >= 0, "and an event with LBRs is granted at once: %d", fd);
	close(fd);
	tracee_end(&t);
}

/*
 * Memory that check_taken() shares with user_tracer(), a process of an unprivileged user. They
 * take turns: each waits until @step has some value, acts, and sets @step to the next value.
 * @state and @good are results of user_tracer().
 */
struct shared {
	volatile int step;
	volatile int state;
	volatile bool good;
};

static void user_tracer(struct shared *s)
{
	struct tracee t;
	int err;

	become_nobody();
	t = tracee_new();
	err = bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM / 4), 0);
	s->good = !err && traces(&t);
	s->step = 1;
	while (s->step != 2)
		usleep(1000);
	s->state = bts_status(t.pid).state;
	tracee_do(&t, known_work, 50);
	s->good = bts_config(t.pid, TRACE, 0, 0) == -EBUSY;
	s->step = 3;
	while (s->step != 4)
		usleep(1000);
	err = bts_config(t.pid, TRACE, 0, 0);
	s->good = !err && traces(&t) && bts_status(t.pid).gaps;
	s->step = 5;
	pause();
}

static void wait_for(struct shared *s, int step)
{
	while (s->step != step)
		usleep(1000);
}

static void check_taken(void)
{
	struct shared *s = shared_memory(sizeof(*s));
	pid_t pid = fork();
	int fd;

	if (!pid) {
		user_tracer(s);
		_exit(0);
	}
	wait_for(s, 1);
	ok(s->good, "a user's trace");
	fd = open_lbr(0, -1, PERIOD, false);
	ok(fd >= 0, "root gets an event with LBRs: %d", fd);
	s->step = 2;
	wait_for(s, 3);
	ok(s->state == PTRACE_BTS_S_REVOKED && s->good, "the trace says that it was revoked");
	close(fd);
	s->step = 4;
	wait_for(s, 5);
	ok(s->good, "and goes on, with a gap, when that is over");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	write_file("/proc/sys/kernel/perf_event_paranoid", "-1");
	nobody_pages = 8;
	check_second();
	check_taken();
	return finish();
}
