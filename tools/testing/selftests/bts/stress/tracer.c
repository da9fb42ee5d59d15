// SPDX-License-Identifier: GPL-2.0
/* A tracer: makes random steps, most of them with a random one of its tracees. */
#include <grp.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tracer.h"

/* Two tracers are of user 1001, so their traces are charged to the same account. */
const struct role roles[NR_TRACERS] = {
	{ .name = "user", .uid = 1000, },
	{ .name = "root", },
	{ .name = "one of two", .uid = 1001, },
	{ .name = "two of two", .uid = 1001, },
	{ .name = "in a user namespace", .uid = 1002, .userns = true, },
	{ .name = "in a PID namespace", .uid = 1003, .pidns = true, },
	{ .name = "another user", .uid = 1004, },
	{ .name = "another root", .pidns = true, },
};

static struct tracer tracer;

static uint32_t *account_lock(uint32_t uid)
{
	return &shared->locks[uid % NR_LOCKS];
}

/*
 * Wait until no other tracer of the same user is in a step, so that no other tracer changes what is
 * charged to the user. Tracers without a limit need not wait. Sleep, do not spin: all CPUs of the
 * guest may share one CPU of the host.
 */
static void take_account(const struct tracer *me)
{
	uint32_t *lock = account_lock(me->role->uid), holder;

	if (me->who.capable)
		return;
	for (;;) {
		holder = 0;
		if (__atomic_compare_exchange_n(lock, &holder, me->number + 1, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
		syscall(SYS_futex, lock, FUTEX_WAIT, holder, NULL);
	}
}

/*
 * Let another tracer of the same user do a step. If tracer @number was killed, the main process
 * calls this after all tracees of that tracer are gone.
 */
void account_give(int number)
{
	uint32_t *lock = account_lock(roles[number].uid), holder = number + 1;

	if (__atomic_compare_exchange_n(lock, &holder, 0, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		syscall(SYS_futex, lock, FUTEX_WAKE, 1);
}

static void set_limit(struct tracer *me, unsigned long pages)
{
	struct rlimit limit = { .rlim_cur = pages * PAGE, .rlim_max = 64 * PAGE };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		give_up("RLIMIT_MEMLOCK");
	if (!me->who.capable)
		me->who.limit = pages;
}

static void take_role(struct tracer *me)
{
	uint32_t uid = me->role->uid;

	me->who = (struct who){
		.capable = !uid, .userns = me->role->userns, .limit = NO_LIMIT,
	};
	set_limit(me, 8 + rng(32));
	if (uid && (setgroups(0, NULL) || setgid(uid) || setuid(uid)))
		give_up("cannot become %u", uid);
	if (me->role->userns && unshare(CLONE_NEWUSER))
		give_up("no user namespace");
	if (prctl(PR_SET_DUMPABLE, 1))
		give_up("PR_SET_DUMPABLE");
}

/*
 * Returns the pid of another tracer's tracee, or 0. Returns 0 for a tracer in a PID namespace of
 * its own: the shared pids are of the initial one.
 */
static pid_t foreign_tracee(struct tracer *me)
{
	int other = rng(NR_TRACERS);

	if (other == me->number || me->role->pidns)
		return 0;
	return __atomic_load_n(&shared->tracers[other].tracees[rng(NR_TRACEES)].pid,
			       __ATOMIC_SEQ_CST);
}

/* Make a request for a pid that no tracee of this tracer has: it must fail with ESRCH. */
static void foreign_request(struct tracer *me)
{
	const pid_t pids[] = {
		getppid(), getpid(), 0x7fffffff, 0, -1, foreign_tracee(me), foreign_tracee(me),
	};
	pid_t pid = pids[rng(ARRAY_SIZE(pids))];
	int nr = PTRACE_BTS_CONFIG + rng(PTRACE_BTS_READ - PTRACE_BTS_CONFIG + 1);
	int ret = bts(nr, pid, NULL, rng(100));

	if (ret != -ESRCH)
		violation("request %d of %d, which is nobody's tracee: %d", nr, pid, ret);
}

static void run_something(struct tracer *me, struct child *t)
{
	switch (rng(16)) {
	case 0:
		run(me, t, DO_YIELD, 1 + rng(4));
		break;
	case 1:
		run(me, t, DO_SYSCALLS, 1 + rng(30));
		break;
	case 2:
		run(me, t, DO_FAULT, rng(8));
		break;
	case 3:
		run(me, t, DO_DUMPABLE, chance(3) ? 0 : 1);
		break;
	case 4:
		run(me, t, DO_EXEC, rng(NR_EXECS));
		break;
	case 5:
		run(me, t, DO_EXIT, 0);
		break;
	default:
		run(me, t, DO_WORK, 1 + (chance(4) ? rng(3000) : rng(200)));
	}
}

static bool has_room(const struct tracer *me)
{
	int i;

	for (i = 0; i < NR_TRACEES; i++) {
		if (!me->tracees[i].pid)
			return true;
	}
	return false;
}

static void do_step(struct tracer *me)
{
	struct child *t = &me->tracees[rng(NR_TRACEES)];
	uint32_t kind = rng(100);

	if (!t->pid)
		tracee_new_child(me, t);
	else if (kind < 12)
		run_something(me, t);
	else if (kind < 14 && has_room(me))
		run(me, t, DO_FORK, 0);
	else if (kind < 16 && t->own && t->model.dumpable)
		detach_and_attach(me, t);
	else if (kind < 17)
		tracee_kill(me, t);
	else if (kind < 18)
		foreign_request(me);
	else if (kind < 19)
		set_limit(me, rng(64));
	else if (kind < 25)
		fuzz_new_trace(me, t);
	else if (kind < 27)
		read_twice(me, t);
	else
		fuzz_request(me, t);
	/* The main process may have killed the tracee. */
	if (t->pid && tracee_was_killed(t))
		tracee_bury(me, t);
}

static void end_all(struct tracer *me)
{
	int i;

	for (i = 0; i < NR_TRACEES; i++) {
		if (me->tracees[i].pid)
			tracee_kill(me, &me->tracees[i]);
	}
}

void tracer_main(int number)
{
	struct tracer *me = &tracer;
	int i;

	my_number = number;
	me->number = number;
	me->role = &roles[number];
	me->shared = &shared->tracers[number];
	for (i = 0; i < NR_TRACEES; i++)
		me->tracees[i].shared = &me->shared->tracees[i];
	rng_seed(shared->seed, number, me->shared->incarnation, 0);
	buffers_init();
	take_role(me);

	while (!shared->stop) {
		me->shared->step++;
		rng_seed(shared->seed, number, me->shared->incarnation, me->shared->step);
		take_account(me);
		do_step(me);
		account_give(number);
	}
	end_all(me);
	_exit(0);
}
