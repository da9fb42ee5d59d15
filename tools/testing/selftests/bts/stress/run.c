// SPDX-License-Identifier: GPL-2.0
/* Let tracees run, and check what their traces hold afterwards. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "noise.h"
#include "tracer.h"

#define OPTIONS	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | \
		 PTRACE_O_EXITKILL)

#define MANY_STOPS	300

#ifndef SI_KERNEL
#define SI_KERNEL	0x80
#endif

static const char *const orders[] = {
	"nothing", "work", "yield", "system calls", "fault", "dumpable", "fork", "exec",
	"exit", "wait",
};

/* A run: the state at its beginning, to be compared with the end, and what has happened since. */
struct started {
	enum what what;
	uint64_t arg;
	struct model before;
	bool compare;	/* the counts at the end can be compared with @before */
	bool careful;	/* clear the trace at each of the first MANY_STOPS full stops */
	bool dying;	/* the tracee is expected to die */
	uint64_t drained;	/* number of records that were cleared for @careful */
	unsigned int stops;	/* number of stops at a full trace */
	bool done;		/* ptrace has reported the execve() or fork of the order */
};

bool tracee_was_killed(const struct child *t)
{
	uint32_t killed = __atomic_load_n(&t->shared->killed, __ATOMIC_SEQ_CST);

	return killed && killed == __atomic_load_n(&t->shared->pid, __ATOMIC_SEQ_CST);
}

void charge(struct child *t)
{
	const struct model *m = &t->model;

	__atomic_store_n(&t->shared->firm, model_holds(m), __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->shared->pages, m->there ? model_pages(m->nr, m->flags) : 0,
			 __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->shared->pending, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->version, 1, __ATOMIC_SEQ_CST);
}

void trace_may_change(struct child *t)
{
	__atomic_store_n(&t->shared->pending, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->version, 1, __ATOMIC_SEQ_CST);
}

static void gone(struct child *t)
{
	t->model = (struct model){ };
	charge(t);
	t->pid = 0;
	t->exiting = false;
	memset(t->shared, 0, sizeof(*t->shared));
}

void tracee_bury(struct tracer *me, struct child *t)
{
	int status;

	(void)me;
	for (;;) {
		if (waitpid(t->pid, &status, __WALL) != t->pid)
			give_up("waitpid of %d", t->pid);
		if (!WIFSTOPPED(status))
			break;
		ptrace(PTRACE_CONT, t->pid, NULL, NULL);
	}
	gone(t);
}

void tracee_kill(struct tracer *me, struct child *t)
{
	trace_may_change(t);
	kill(t->pid, SIGKILL);
	ptrace(PTRACE_CONT, t->pid, NULL, NULL);
	tracee_bury(me, t);
}

/* Kill and reap all tracees of @me, also those that no event has reported. */
static void bury_all(struct tracer *me)
{
	int status, i;
	pid_t pid;

	for (i = 0; i < NR_TRACEES; i++) {
		if (me->tracees[i].pid)
			kill(me->tracees[i].pid, SIGKILL);
		ptrace(PTRACE_CONT, me->tracees[i].pid, NULL, NULL);
	}
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status))
			continue;
		kill(pid, SIGKILL);
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	for (i = 0; i < NR_TRACEES; i++)
		gone(&me->tracees[i]);
}

/* Returns whether filling the trace kills the tracee. */
static bool is_deadly(const struct model *m)
{
	return m->there && m->flags & SIGNAL && m->signal == SIGKILL;
}

static void resume(struct child *t, int signal)
{
	/* If the tracee ends, its trace ends before waitpid() reports the end of the tracee. */
	if (t->exiting || is_deadly(&t->model))
		trace_may_change(t);
	if (!ptrace(PTRACE_CONT, t->pid, NULL, (long)signal))
		return;
	if (errno != ESRCH || !tracee_was_killed(t))
		violation("PTRACE_CONT of %d: %s", t->pid, strerror(errno));
}

/*
 * A stop because the trace is full
 */

static bool clear(struct tracer *me, struct child *t)
{
	struct request r = { .nr = PTRACE_BTS_CLEAR };

	return !make_request(me, t, &r);
}

static void careful(struct tracer *me, struct child *t, struct started *s)
{
	uint64_t held = t->model.held;

	if (t->model.known && clear(me, t))
		s->drained += held;
	else
		s->compare = false;
}

static void when_full(struct tracer *me, struct child *t, struct started *s, int signal)
{
	const struct model *m = &t->model;

	t->model.known = false;
	/* CONFIG may have changed the trace since the signal was queued, so check t->signals. */
	if (signal ? !(t->signals & 1ull << (signal - 1)) :
	    !m->there || !(m->flags & SIGNAL) || m->signal)
		violation("a stop by %d, full, without such a trace: flags %#x signal %u",
			  signal, m->flags, m->signal);
	if (m->there && look(me, t) && !signal && m->held < m->nr && !tracee_was_killed(t))
		violation("a stop, full, with %llu of %u records, flags %#x",
			  (unsigned long long)m->held, m->nr, m->flags);
	/* Each stop makes records, so a tracee with a small trace may stop endlessly. */
	if (++s->stops > MANY_STOPS) {
		s->compare = false;
		return;
	}
	if (s->careful) {
		careful(me, t, s);
		return;
	}
	/* A random request may change the counts. */
	s->compare = false;
	if (chance(2))
		fuzz_request(me, t);
}

/*
 * Children
 */

static struct child *unused_tracee(struct tracer *me)
{
	int i;

	for (i = 0; i < NR_TRACEES; i++) {
		if (!me->tracees[i].pid)
			return &me->tracees[i];
	}
	return NULL;
}

static void inherit(struct tracer *me, struct child *parent, struct child *t)
{
	struct model made[2] = { };
	struct views views;
	bool has, may[2] = { };
	long ret;
	int i;

	views_end(me, &views);
	for (i = 0; i < views.nr; i++) {
		has = model_inherit(&parent->model, &views.view[i], &t->model);
		may[has] = true;
		made[has] = t->model;
		/* While perf has the hardware, a child may lack a trace that yields. */
		if (has && views.view[i].perf && model_yields(&parent->model)) {
			may[false] = true;
			made[false] = (struct model){
				.dumpable = t->model.dumpable, .foreign = t->model.foreign,
			};
		}
	}
	ret = bts(PTRACE_BTS_SIZE, t->pid, NULL, 0);
	has = ret != -ENXIO;
	if (!may[has] && !tracee_was_killed(parent))
		violation("a child of flags %#x, %u records, limit %lu, used %lu: has %s trace",
			  parent->model.flags, parent->model.nr, parent->model.limit,
			  views.view[0].used, has ? "a" : "no");
	t->model = made[has];
	t->signals = parent->signals;
	if (!has && parent->model.there && parent->model.flags & INHERIT &&
	    parent->model.flags & (TRACE | KERNEL | SCHED))
		parent->model.not_inherited++;
	charge(t);
	look(me, t);
}

static int wait_for_tracee(struct child *t)
{
	int status;

	if (waitpid(t->pid, &status, __WALL) != t->pid)
		give_up("waitpid of %d", t->pid);
	return status;
}

static void new_child(struct tracer *me, struct child *parent)
{
	struct child *t = unused_tracee(me);
	unsigned long msg;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &msg))
		return;
	t->pid = msg;
	t->own = false;
	t->signals = 0;
	status = wait_for_tracee(t);
	if (!stopped_by(status, SIGSTOP) &&
	    !stopped_by(status, SIGTRAP | PTRACE_EVENT_STOP << 8)) {
		violation("a new child has status %#x", status);
		return;
	}
	inherit(me, parent, t);
}

/*
 * The records that a run makes
 */

static uint64_t total(const struct model *m)
{
	return m->held + m->lost + m->overwritten;
}

/* Returns whether something may make gaps in the trace: times in which nothing is recorded. */
static bool gaps_come(const struct model *was)
{
	return (shared->noise & NOISE_GAPS && model_by_hardware(was)) ||
	       (shared->noise & NOISE_PERF && model_yields(was));
}

/*
 * Returns whether the next gap may stay uncounted. The kernel marks a gap by a record of type
 * X86_BTS_LOST. The kernel does not count another gap while the mark of the last one is the newest
 * record, or waits for room in a full trace.
 */
static bool gap_waits(const struct model *was)
{
	return gaps_come(was) &&
	       (was->gaps || (was->flags & STOP_FULL && was->held >= model_room(was)));
}

static bool recorded_everything(const struct started *s, const struct model *now)
{
	return s->what == DO_WORK && s->before.flags & TRACE && now->gaps == s->before.gaps &&
	       !gap_waits(&s->before);
}

/*
 * Returns whether the order is DO_WORK, and the trace records branches in user mode, but none in or
 * to the kernel, and no task switches.
 */
static bool only_work(const struct started *s)
{
	return s->what == DO_WORK && (s->before.flags & (TRACE | KERNEL | ENTRY | SCHED)) == TRACE;
}

/*
 * Returns the most records that a run may add if only_work() is true: its branches, and returns
 * from interrupts and stops.
 */
static uint64_t most_records(const struct started *s)
{
	return s->arg + s->arg / 2 + 1000 + 4 * s->stops;
}

/*
 * Returns whether the tracee should have stopped, but has not: its trace became full, and then more
 * records came than SKID allows. Returns false without STOP_FULL: the tracee may then stop later,
 * when the hardware's buffer is full.
 */
static bool stop_missing(const struct started *s, uint64_t more)
{
	const struct model *was = &s->before;

	return only_work(s) && was->flags & SIGNAL && was->flags & STOP_FULL && !s->stops &&
	       was->held < was->nr && more > was->nr - was->held + SKID + 1;
}

static void compare_work(const struct started *s, const struct model *now, uint64_t more)
{
	if (recorded_everything(s, now) && more + 1 < s->arg)
		violation("%llu branches, flags %#x: %llu more records", (unsigned long long)s->arg,
			  now->flags, (unsigned long long)more);
	if (only_work(s) && more > most_records(s))
		violation("%llu branches, %u stops, flags %#x: %llu more records",
			  (unsigned long long)s->arg, s->stops, now->flags,
			  (unsigned long long)more);
	if (only_work(s) && now->gaps != s->before.gaps && !gaps_come(&s->before))
		violation("%u gaps, and nobody who makes them", now->gaps - s->before.gaps);
	if (stop_missing(s, more))
		violation("full, and no stop: %llu more records, flags %#x",
			  (unsigned long long)more, now->flags);
}

static void compare_run(const struct started *s, const struct model *now)
{
	const struct model *was = &s->before;
	uint64_t more = total(now) + s->drained - total(was);

	if (now->lost < was->lost || now->overwritten < was->overwritten ||
	    now->gaps < was->gaps)
		violation("counts went back: %llu/%llu/%u to %llu/%llu/%u",
			  (unsigned long long)was->lost, (unsigned long long)was->overwritten,
			  was->gaps, (unsigned long long)now->lost,
			  (unsigned long long)now->overwritten, now->gaps);
	if (now->flags & STOP_FULL ? now->overwritten : now->lost)
		violation("flags %#x: %llu lost, %llu overwritten", now->flags,
			  (unsigned long long)now->lost, (unsigned long long)now->overwritten);
	compare_work(s, now, more);
	if (!(was->flags & (TRACE | KERNEL | SCHED)) && s->what != DO_EXEC && more)
		violation("a trace that pauses has %llu more records by %s",
			  (unsigned long long)more, orders[s->what]);
	if (s->careful && (was->flags & (TRACE | SIGNAL | STOP_FULL | KERNEL | ENTRY)) ==
	    (TRACE | SIGNAL | STOP_FULL) && !was->signal && now->lost != was->lost)
		violation("%llu records lost by %s, though it was drained in time",
			  (unsigned long long)(now->lost - was->lost), orders[s->what]);
}

static void begin_run(struct tracer *me, struct child *t, struct started *s)
{
	s->careful = chance(2) && t->model.there && clear(me, t);
	s->compare = t->model.there && look(me, t);
	s->before = t->model;
}

static void end_run(struct tracer *me, struct child *t, struct started *s)
{
	t->changing = false;
	if (!t->pid)
		return;
	if (s->what == DO_DUMPABLE)
		t->model.dumpable = s->arg;
	if ((s->what == DO_EXEC || s->what == DO_FORK) && !s->done && !tracee_was_killed(t))
		violation("nothing was told of %s", orders[s->what]);
	/* The tracee has made an unknown number of records. look() reads the counts. */
	t->model.known = false;
	if (!t->model.there || !look(me, t) || !s->compare || tracee_was_killed(t))
		return;
	compare_run(s, &t->model);
}

/*
 * The run itself
 */

static void will_be(struct child *t, bool dumpable, bool foreign)
{
	t->changing = true;
	t->dumpable = dumpable;
	t->foreign = foreign;
}

static bool into_secret(const struct tracer *me, const struct started *s)
{
	return s->arg == EXEC_SECRET && !me->who.capable;
}

static void executed(struct tracer *me, struct child *t, const struct started *s)
{
	bool secret = into_secret(me, s);

	t->model.secret |= t->model.there && !model_readable(&t->model, &me->who);
	t->model.dumpable = !secret;
	t->model.foreign = secret;
	t->model.known = false;
}

static bool may_die(const struct child *t, const struct started *s)
{
	return tracee_was_killed(t) || s->what == DO_EXIT || is_deadly(&t->model);
}

static void in_last_stop(struct tracer *me, struct child *t, struct started *s)
{
	int n = rng(4);

	t->exiting = true;
	s->dying = may_die(t, s);
	/* If the tracee was killed during execve(), it may have the old memory or the new one. */
	if (s->what == DO_EXEC)
		will_be(t, !into_secret(me, s), into_secret(me, s));
	t->model.known = false;
	if (t->model.there)
		look(me, t);
	while (n-- && !tracee_was_killed(t))
		fuzz_request(me, t);
}

static void has_died(struct tracer *me, struct child *t, const struct started *s, int status)
{
	if (!s->dying && !may_die(t, s))
		violation("%d died, status %#x, when it was to do %s", t->pid, status,
			  orders[s->what]);
	if (WIFEXITED(status) ? WEXITSTATUS(status) != 7 || s->what != DO_EXIT :
	    WTERMSIG(status) != SIGKILL)
		violation("%d ended with status %#x by %s", t->pid, status, orders[s->what]);
	gone(t);
	if (s->what == DO_FORK)
		bury_all(me);
}

/* Handle a stop by @signal. Returns whether the order is completed. */
static bool signal_stop(struct tracer *me, struct child *t, struct started *s, int signal)
{
	siginfo_t info = { };

	if (ptrace(PTRACE_GETSIGINFO, t->pid, NULL, &info)) {
		resume(t, 0);
		return false;
	}
	/* The tracee was killed, and is now in its last stop, which the next waitpid() reports. */
	if (info.si_code == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
		return false;
	if (signal == SIGSTOP && info.si_code == SI_TKILL &&
	    t->shared->done == t->shared->serial)
		return true;
	if (signal == SIGSEGV || signal == SIGBUS) {
		if (s->what != DO_FAULT)
			violation("signal %d when it was to do %s", signal, orders[s->what]);
		resume(t, signal);
		return false;
	}
	if (info.si_code == SI_KERNEL)
		when_full(me, t, s, signal);
	else if (signal != SIGCHLD && signal != SIGSTOP && signal != SIGTRAP)
		violation("signal %d, code %d, when it was to do %s", signal, info.si_code,
			  orders[s->what]);
	resume(t, 0);
	return false;
}

static bool event_stop(struct tracer *me, struct child *t, struct started *s, int event)
{
	switch (event) {
	case PTRACE_EVENT_BTS:
		when_full(me, t, s, 0);
		break;
	case PTRACE_EVENT_FORK:
		s->done = true;
		new_child(me, t);
		break;
	case PTRACE_EVENT_EXEC:
		s->done = true;
		executed(me, t, s);
		break;
	case PTRACE_EVENT_EXIT:
		in_last_stop(me, t, s);
		break;
	case PTRACE_EVENT_STOP:
		break;
	default:
		violation("event %d when it was to do %s", event, orders[s->what]);
	}
	resume(t, 0);
	return false;
}

/* Wait for one stop, and handle it. Returns whether the order is completed, or the tracee dead. */
static bool next_stop(struct tracer *me, struct child *t, struct started *s)
{
	int status = wait_for_tracee(t);

	if (!WIFSTOPPED(status)) {
		has_died(me, t, s, status);
		return true;
	}
	if (status >> 16)
		return event_stop(me, t, s, status >> 16);
	return signal_stop(me, t, s, WSTOPSIG(status));
}

static void go_to_the_end(struct tracer *me, struct child *t, struct started *s)
{
	resume(t, 0);
	while (!shared->violations && !next_stop(me, t, s))
		;
}

void run(struct tracer *me, struct child *t, enum what what, uint64_t arg)
{
	struct child *child = what == DO_FORK ? unused_tracee(me) : NULL;
	struct started s = { .what = what, .arg = arg, };

	t->shared->arg = child ? (uint64_t)((char *)child->shared - (char *)shared) : arg;
	if (child)
		trace_may_change(child);
	begin_run(me, t, &s);
	t->shared->what = what;
	if (what == DO_DUMPABLE)
		will_be(t, arg, t->model.foreign);
	views_begin(me);
	__atomic_add_fetch(&t->shared->serial, 1, __ATOMIC_SEQ_CST);
	go_to_the_end(me, t, &s);
	end_run(me, t, &s);
	if (child && child->pid) {
		struct started first = { .what = DO_NOTHING, };

		go_to_the_end(me, child, &first);
		end_run(me, child, &first);
	} else if (child) {
		gone(child);
	}
}

void tracee_new_child(struct tracer *me, struct child *t)
{
	struct started first = { .what = DO_NOTHING, };
	pid_t pid;

	memset(t->shared, 0, sizeof(*t->shared));
	t->model = (struct model){ .dumpable = true, .foreign = true, };
	t->own = true;
	t->signals = 0;
	pid = fork();
	if (!pid)
		tracee_run(t->shared);
	if (pid < 0)
		give_up("fork");
	t->pid = pid;
	while (!shared->violations && !next_stop(me, t, &first))
		;
	if (t->pid && ptrace(PTRACE_SETOPTIONS, t->pid, NULL, OPTIONS) && !tracee_was_killed(t))
		violation("PTRACE_SETOPTIONS: %s", strerror(errno));
}

/* Detach from a tracee, and attach again. The detach ends its trace. */
void detach_and_attach(struct tracer *me, struct child *t)
{
	struct started s = { .what = DO_WAIT, };
	int status;

	t->shared->what = DO_WAIT;
	t->shared->release = 0;
	__atomic_add_fetch(&t->shared->serial, 1, __ATOMIC_SEQ_CST);
	trace_may_change(t);
	if (ptrace(PTRACE_DETACH, t->pid, NULL, NULL)) {
		if (errno != ESRCH || !tracee_was_killed(t))
			violation("PTRACE_DETACH: %s", strerror(errno));
		/* After a violation, the tracee may still be alive. */
		tracee_kill(me, t);
		return;
	}
	t->model.there = false;
	charge(t);
	if (ptrace(PTRACE_SEIZE, t->pid, NULL, OPTIONS)) {
		if (!tracee_was_killed(t))
			violation("PTRACE_SEIZE: %s", strerror(errno));
		tracee_kill(me, t);
		return;
	}
	ptrace(PTRACE_INTERRUPT, t->pid, NULL, NULL);
	status = wait_for_tracee(t);
	if (!WIFSTOPPED(status)) {
		has_died(me, t, &s, status);
		return;
	}
	fuzz_request(me, t);
	t->shared->release = 1;
	go_to_the_end(me, t, &s);
	end_run(me, t, &s);
}
