// SPDX-License-Identifier: GPL-2.0
/*
 * With PTRACE_BTS_F_INHERIT, a child of a tracee has its own trace from its first instruction on,
 * if the fork attaches the child to the same tracer (PTRACE_O_TRACEFORK and the like), and the
 * tracer's user may lock enough memory. Other children have no trace.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/nobody.h"

#define ROOM	3000
#define WORK	300
#define THREADS	16

extern const char fork_back[];

/* fork() of 64-bit programs, with a label at the address where parent and child return. */
__attribute__((noinline, noclone))
static long fork_here(void)
{
	long ret;

	asm volatile("syscall\n"
		     ".globl fork_back\n"
		     "fork_back:"
		     : "=a" (ret) : "0" (57) : "rcx", "r11", "memory");
	return ret;
}

/* The grandchild takes more branches than the child, to tell their traces apart. */
static void fork_twice(unsigned long unused)
{
	(void)unused;
	if (fork_here())
		return;
	known_work(WORK);
	if (fork_here())
		_exit(0);
	known_work(2 * WORK);
	_exit(0);
}

static void *thread(void *arg)
{
	known_work(WORK + (unsigned long)arg);
	return NULL;
}

static void many_threads(unsigned long unused)
{
	pthread_t threads[THREADS];
	unsigned long i;

	(void)unused;
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Check the trace of a child at its first stop. Without SCHED, the trace must be empty. */
static bool starts_well(pid_t pid, uint32_t flags)
{
	struct ptrace_bts_status status;

	if (bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)) < 0)
		return false;
	return status.flags == flags && status.size == RECORDS(ROOM) &&
	       (flags & SCHED || !status.held);
}

/*
 * Let @leader execute @what, and continue all its descendants, until @leader stops itself and
 * they have ended. With PTRACE_O_TRACEEXIT, stores the trace of each descendant at its exit in
 * @ended, which has room for @max traces. Returns the number of descendants, or -1 if
 * starts_well() fails for one of them.
 */
static int follow(const struct tracee *leader, uint32_t flags, void (*what)(unsigned long),
		  struct trace *ended, int max)
{
	pid_t seen[THREADS + 2];
	int nr = 0, left = 0, status, i;
	bool back = false, good = true;
	pid_t pid;

	tracee_begin(leader, what, 0);
	ptrace(PTRACE_CONT, leader->pid, 0, 0);
	while (left || !back) {
		int signal = 0;

		pid = waitpid(-1, &status, __WALL);
		if (pid < 0)
			give_up("waitpid");
		for (i = 0; i < nr && seen[i] != pid; i++)
			;
		if (!WIFSTOPPED(status)) {
			left--;
			continue;
		}
		if (pid == leader->pid && stopped_by(status, SIGSTOP)) {
			back = true;
			continue;
		}
		if (pid != leader->pid && i == nr) {
			if (nr == max)
				give_up("more than %d children", max);
			seen[nr++] = pid;
			good &= starts_well(pid, flags);
		} else if (status >> 16 == PTRACE_EVENT_EXIT) {
			trace_drain(pid, &ended[i], ROOM);
		} else if (status >> 16) {
			/*
			 * The parent has a new child. Count the child in @left here only: its first
			 * stop may come before or after this event of the parent.
			 */
			left++;
		} else {
			signal = WSTOPSIG(status) == SIGCHLD ? SIGCHLD : 0;
		}
		ptrace(PTRACE_CONT, pid, 0, signal);
	}
	return good ? nr : -1;
}

static void options(const struct tracee *t, long more)
{
	if (ptrace(PTRACE_SETOPTIONS, t->pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT | more))
		give_up("PTRACE_SETOPTIONS");
}

static int config(const struct tracee *t, uint32_t flags)
{
	return bts_config(t->pid, flags | ALLOC, RECORDS(ROOM), 0);
}

static void must_config(const struct tracee *t, uint32_t flags)
{
	if (config(t, flags))
		give_up("PTRACE_BTS_CONFIG");
}

static void check_forks(const struct tracee *t)
{
	struct trace ended[2] = { };
	size_t first, second;
	int nr;

	options(t, PTRACE_O_TRACEFORK);
	must_config(t, TRACE | INHERIT);
	nr = follow(t, TRACE | INHERIT, fork_twice, ended, 2);
	ok(nr == 2, "child and grandchild start with an empty trace");
	first = count_known_in_row(&ended[0]);
	second = count_known_in_row(&ended[1]);
	ok(first == WORK - 1 && second == 2 * WORK - 1, "each has its own branches: %zu and %zu",
	   first, second);
	ok(ended[0].nr && ended[0].rec[0].type == X86_BTS_LEAVE &&
	   ended[0].rec[0].branch.to == (uintptr_t)fork_back &&
	   ended[1].nr && ended[1].rec[0].branch.to == (uintptr_t)fork_back,
	   "from the first instruction on");
	ok(bts_status(t->pid).not_inherited == 0, "none went without");
	trace_free(&ended[0]);
	trace_free(&ended[1]);
}

static void check_threads(const struct tracee *t)
{
	struct trace ended[THREADS] = { };
	unsigned long right = 0, i, k;
	int nr;

	options(t, PTRACE_O_TRACECLONE);
	must_config(t, TRACE | SCHED | INHERIT);
	nr = follow(t, TRACE | SCHED | INHERIT, many_threads, ended, THREADS);
	for (i = 0; i < THREADS; i++) {
		for (k = 0; k < THREADS; k++)
			right += count_known_in_row(&ended[i]) == WORK + k - 1;
		trace_free(&ended[i]);
	}
	ok(nr == THREADS && right == THREADS, "%d threads, %lu traced alone and completely",
	   nr, right);
}

static volatile pid_t *forked;

static void fork_and_wait(unsigned long unused)
{
	/* This clone() has no exit signal: the parent gets no SIGCHLD when the child ends. */
	pid_t child = syscall(SYS_clone, 0, 0, 0, 0, 0);

	(void)unused;
	if (child)
		return;
	/* When check_stranger() sees the pid, the child has run: its tracer attaches too late. */
	*forked = syscall(SYS_getpid);
	for (;;)
		pause();
}

/* A child of @t that is attached only after its start must have no trace. */
static void check_stranger(const struct tracee *t, uint32_t flags)
{
	int status;
	pid_t pid;

	*forked = 0;
	options(t, 0);
	must_config(t, flags);
	tracee_begin(t, fork_and_wait, 0);
	ptrace(PTRACE_CONT, t->pid, 0, 0);
	while (!*forked)
		usleep(100);
	pid = *forked;
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid)
		give_up("no child");
	ok(bts(PTRACE_BTS_SIZE, pid, NULL, 0) == -ENXIO,
	   "flags %#x: a child attached to later has no trace", flags);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	waitpid(t->pid, NULL, __WALL);
}

static void fork_once(unsigned long unused)
{
	(void)unused;
	if (fork_here())
		return;
	known_work(WORK);
	_exit(0);
}

/*
 * For as_nobody(): trace a tracee that forks once. *@inherits: the child must have a trace;
 * otherwise, it must have none. Returns 0 if that is so, else 1.
 */
static int poor(void *inherits)
{
	bool has_trace = *(bool *)inherits;
	struct trace ended[1] = { };
	struct tracee t = tracee_new();
	int nr, err;

	options(&t, PTRACE_O_TRACEFORK);
	err = config(&t, TRACE | INHERIT);
	if (err)
		give_up("PTRACE_BTS_CONFIG of nobody: %d", err);
	/*
	 * Turn off PTRACE_O_TRACEEXIT: at that event, follow() would drain the child's trace,
	 * which may not exist.
	 */
	ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK);
	nr = follow(&t, TRACE | INHERIT, fork_once, ended, 1);
	if (nr != (has_trace ? 1 : -1) || bts_status(t.pid).not_inherited != !has_trace)
		return 1;
	tracee_end(&t);
	return 0;
}

/* RLIMIT_MEMLOCK alternately allows one trace and two. If a round leaks, the next round fails. */
static void check_refusal(void)
{
	int i, good = 0;

	let_nobody_trace();
	for (i = 0; i < 6; i++) {
		bool inherits = i & 1;

		nobody_pages = inherits ? 36 : 35;
		good += !as_nobody(poor, &inherits);
	}
	ok(good == 6, "a child inherits if there is memory, or its tracer is told: %d of 6", good);
}

int main(void)
{
	struct tracee t;

	forked = shared_memory(sizeof(*forked));
	t = tracee_new();
	check_forks(&t);
	check_threads(&t);
	check_stranger(&t, TRACE);
	check_stranger(&t, TRACE | INHERIT);
	tracee_end(&t);
	check_refusal();
	return finish();
}
