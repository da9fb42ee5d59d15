// SPDX-License-Identifier: GPL-2.0
/*
 * Make requests while their tracee exits, is detached, calls execve(), or forks. Several workers do
 * so at once. Requests may fail with ESRCH if the tracee is gone or not stopped, with ENXIO if it
 * has no trace, and GET with EINVAL if the trace does not have the record.
 *
 *   collide exit|detach|exec|fork [SEED [TIMES [SECONDS [WORKERS]]]]
 *
 * The test ends when the event has happened TIMES times, and fails if SECONDS pass before. If TIMES
 * is 0, it ends after SECONDS. A worker does rounds, each of which has its own tasks.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "memory.h"
#include "stress.h"

#define ROOM		100
/* The number of new threads of a tracee. A tracer attaches up to 2 * FAMILY times. */
#define FAMILY		6
#define STACK		16384

struct shared *shared;
int my_number = -1;

static struct table {
	uint64_t seed;
	uint64_t rounds;	/* rounds begun */
	uint64_t times;		/* number of events */
	uint64_t requests;
	uint64_t hits;		/* requests that did not fail with ESRCH */
	uint32_t stop;
	uint32_t wrong;
} *table;

static struct x86_bts_record records[ROOM];

void violation(const char *fmt, ...)
{
	char head[40] = "";
	va_list ap;

	if (my_number >= 0)
		snprintf(head, sizeof(head), "worker %d: ", my_number);
	va_start(ap, fmt);
	say_violation(head, fmt, ap);
	va_end(ap);
	table->wrong = 1;
	table->stop = 1;
}

/*
 * One random request
 */

static int request(pid_t pid, int nr, bool new)
{
	static struct ptrace_bts_status status;
	struct ptrace_bts_read read;

	switch (nr) {
	case PTRACE_BTS_CONFIG:
		if (!new)
			return bts_end(pid);
		return bts_config(pid, ALLOC | TRACE | (chance(2) ? INHERIT : 0) |
				  (chance(2) ? SCHED : 0), RECORDS(1 + rng(200)), 0);
	case PTRACE_BTS_STATUS:
		return bts(nr, pid, &status, sizeof(status));
	case PTRACE_BTS_GET:
		return bts(nr, pid, records, rng(4));
	case PTRACE_BTS_DRAIN:
		return bts(nr, pid, records, RECORDS(1 + rng(ROOM)));
	case PTRACE_BTS_READ:
		read = (struct ptrace_bts_read){
			.records = (uintptr_t)records, .count = rng(ROOM),
			.flags = chance(2) ? PTRACE_BTS_READ_CONSUME : 0,
		};
		return bts(nr, pid, &read, sizeof(read));
	}
	return bts(nr, pid, NULL, 0);
}

/*
 * Returns whether a result is valid: the tracee may be gone or not stopped, may have a trace or
 * not, and may have no record with the index that GET asks for.
 */
static bool may_be(int ret, int nr, bool new)
{
	return ret >= 0 || ret == -ESRCH || (ret == -ENXIO && !new) ||
	       (ret == -EINVAL && nr == PTRACE_BTS_GET);
}

static void hammer(pid_t pid, int times)
{
	while (times-- && !table->stop) {
		int nr = PTRACE_BTS_CONFIG + rng(PTRACE_BTS_READ - PTRACE_BTS_CONFIG + 1);
		bool new = nr == PTRACE_BTS_CONFIG && !chance(4);
		int ret = request(pid, nr, new);

		__atomic_add_fetch(&table->requests, 1, __ATOMIC_RELAXED);
		if (ret != -ESRCH)
			__atomic_add_fetch(&table->hits, 1, __ATOMIC_RELAXED);
		if (!may_be(ret, nr, new))
			violation("request %d: %d", nr, ret);
	}
}

static void begin_trace(pid_t pid, uint32_t flags)
{
	int ret = bts_config(pid, flags | TRACE | ALLOC, RECORDS(ROOM), 0);

	if (ret && ret != -ESRCH)
		violation("a new trace, flags %#x: %d", flags, ret);
}

static pid_t child_of(void (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		give_up("fork");
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		what();
		_exit(0);
	}
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		violation("a child that was to stop has status %#x", status);
	return pid;
}

static void happened(void)
{
	__atomic_add_fetch(&table->times, 1, __ATOMIC_RELAXED);
}

static bool is_fork(int event)
{
	return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	       event == PTRACE_EVENT_CLONE;
}

/* Without PTRACE_O_TRACEEXEC, a SIGTRAP reports an execve(). */
static bool is_exec(int status)
{
	return status >> 16 == PTRACE_EVENT_EXEC || status >> 8 == SIGTRAP;
}

static bool is_end(int status)
{
	return !WIFSTOPPED(status);
}

/* Returns the signal to continue a tracee with: that of a crash, which must end the tracee. */
static long crash_of(int status)
{
	switch (status >> 8) {
	case SIGILL:
	case SIGABRT:
	case SIGBUS:
	case SIGSEGV:
		return status >> 8;
	}
	return 0;
}

static bool is_birth(int status)
{
	return WIFSTOPPED(status) && is_fork(status >> 16);
}

/*
 * Handle stops until all tracees have ended, with requests in between. Count the statuses of
 * waitpid() for which @is_it returns true.
 */
static void see_through(pid_t first, bool (*is_it)(int status))
{
	pid_t pid, last = first;
	int status;

	for (;;) {
		/* Make requests while the tracee is about to stop again or to end. */
		hammer(last, rng(4));
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0)
			return;
		if (is_it(status))
			happened();
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			violation("%d ended with status %#x", pid, status);
		if (!WIFSTOPPED(status))
			continue;
		last = pid;
		hammer(pid, rng(3));
		ptrace(PTRACE_CONT, pid, NULL, crash_of(status));
		if (chance(64))
			kill(first, SIGKILL);
	}
}

/*
 * exit
 */

static char stacks[FAMILY][STACK] __attribute__((aligned(16)));

static void threads(int (*run)(void *))
{
	int i;

	for (i = 0; i < FAMILY; i++)
		clone(run, stacks[i] + STACK, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL);
}

static int work_and_end(void *unused)
{
	(void)unused;
	known_work(1 + rng(300));
	syscall(SYS_exit, 0);
	return 0;
}

static void work_and_exit(void)
{
	threads(work_and_end);
	known_work(1 + rng(300));
	syscall(chance(2) ? SYS_exit : SYS_exit_group, 3);
}

static void race_exit(void)
{
	pid_t pid = child_of(work_and_exit);

	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE |
	       (chance(2) ? PTRACE_O_TRACEEXIT : 0));
	begin_trace(pid, INHERIT | (chance(2) ? SCHED : 0));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	if (chance(8))
		kill(pid, SIGKILL);
	see_through(pid, is_end);
}

/*
 * detach: several tracers compete for a tracee, and may exit while attached
 */

static void spin(void)
{
	for (;;)
		known_work(100);
}

static bool take(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return false;
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

static void read_anew(pid_t pid)
{
	int ret = bts(PTRACE_BTS_SIZE, pid, NULL, 0);

	if (ret != -ENXIO)
		violation("another tracer's trace is there: %d", ret);
	begin_trace(pid, chance(2) ? SCHED : 0);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	hammer(pid, rng(3));
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, NULL, __WALL);
	hammer(pid, rng(5));
}

/*
 * Attach and detach @times times, and exit; in half of the cases, without the last detach.
 */
static void have_and_leave(pid_t pid, int times)
{
	bool dies = chance(2);

	while (times && !table->stop) {
		if (!take(pid)) {
			usleep(rng(300));
			continue;
		}
		read_anew(pid);
		happened();
		if (!--times && dies)
			_exit(0);
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	}
	_exit(0);
}

static void race_detach(void)
{
	int i, status, nr = 2 + rng(2);
	pid_t victim = fork(), tracer[4];

	if (!victim)
		spin();
	for (i = 0; i < nr; i++) {
		uint64_t seed = rng_next();

		tracer[i] = fork();
		if (!tracer[i]) {
			rng_seed(seed, 0, 0, 0);
			have_and_leave(victim, 1 + rng(2 * FAMILY));
		}
	}
	for (i = 0; i < nr; i++) {
		if (waitpid(tracer[i], &status, 0) != tracer[i] || status)
			violation("a tracer ended with status %#x", status);
	}
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
}

/*
 * exec, by the only thread, or by one that takes over the leader's pid
 */

#define EXECS	24	/* most times that /bt/again executes itself in a round */

static void work_and_exec(void)
{
	static char names[EXECS + 1][3];
	char *argv[EXECS + 2] = { };
	unsigned int i, nr = 1 + rng(EXECS);

	for (i = 0; i <= nr; i++) {
		names[i][0] = 1 + rng(100);
		names[i][1] = chance(2) ? 't' : 's';
		argv[i] = names[i];
	}
	known_work(1 + rng(100));
	execv("/bt/again", argv);
	/* Die by a signal after an error: the tracer ignores an exit status. */
	abort();
}

static void race_exec(void)
{
	pid_t pid = child_of(work_and_exec);

	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE |
	       (chance(2) ? PTRACE_O_TRACEEXEC : 0) | (chance(2) ? PTRACE_O_TRACEEXIT : 0));
	begin_trace(pid, chance(2) ? INHERIT : 0);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	see_through(pid, is_exec);
}

/*
 * fork, vfork and threads of a tracee whose trace is inherited
 */

static void work_and_fork(void)
{
	signal(SIGCHLD, SIG_IGN);
	threads(work_and_end);
	if (!fork()) {
		known_work(20);
		_exit(0);
	}
	if (!vfork())
		_exit(0);
	known_work(200);
	_exit(0);
}

static void race_fork(void)
{
	pid_t pid = child_of(work_and_fork);

	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE |
	       PTRACE_O_TRACEFORK | (chance(2) ? PTRACE_O_TRACEVFORK : 0) |
	       (chance(2) ? PTRACE_O_TRACEEXIT : 0));
	begin_trace(pid, INHERIT | (chance(2) ? SCHED : 0));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	see_through(pid, is_birth);
}

static const struct race {
	const char *name;
	void (*round)(void);
} races[] = {
	{ "exit", race_exit },
	{ "detach", race_detach },
	{ "exec", race_exec },
	{ "fork", race_fork },
};

static void worker(const struct race *race, int number, uint64_t times)
{
	uint64_t n;

	my_number = number;
	/* Adopt descendants whose parent has died, to reap them. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	while (!table->stop && (!times || table->times < times)) {
		n = __atomic_add_fetch(&table->rounds, 1, __ATOMIC_SEQ_CST);
		rng_seed(table->seed, n, number, 0);
		race->round();
	}
	_exit(0);
}

/*
 * If @on, hold a trace, so that the hardware stays claimed between the rounds. If not, end that
 * trace. Claiming the hardware interrupts all CPUs and takes long, so it should not happen often.
 */
static void hold_hardware(struct tracee *t, bool on)
{
	if (on && !t->pid) {
		*t = tracee_new();
		begin_trace(t->pid, 0);
	} else if (!on && t->pid) {
		tracee_end(t);
		t->pid = 0;
	}
}

static void run(const struct race *race, uint64_t times, int seconds, int workers)
{
	time_t end = time(NULL) + seconds, told = time(NULL);
	struct tracee holder = { };
	int i, status, left = workers;

	hold_hardware(&holder, true);
	for (i = 0; i < workers; i++) {
		if (!fork())
			worker(race, i, times);
	}
	while (left) {
		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			left--;
			if (status)
				violation("a worker ended with status %#x", status);
		}
		usleep(50000);
		hold_hardware(&holder, time(NULL) % 8);
		if (time(NULL) > end)
			table->stop = 1;
		if (time(NULL) - told > 20) {
			printf("# %llu times\n", (unsigned long long)table->times);
			told = time(NULL);
		}
	}
	hold_hardware(&holder, false);
}

int main(int argc, char **argv)
{
	const uint32_t users[] = { 0 };
	const struct race *race = races;
	uint64_t times = argc > 3 ? strtoull(argv[3], NULL, 0) : 1000;
	long slabs;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (race < races + ARRAY_SIZE(races) && (argc < 2 || strcmp(argv[1], race->name)))
		race++;
	if (race == races + ARRAY_SIZE(races))
		give_up("no race %s: there are exit, detach, exec, fork", argc < 2 ? "" : argv[1]);
	table = shared_memory(sizeof(*table));
	table->seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	slabs = memory_begin();
	run(race, times, argc > 4 ? atoi(argv[4]) : 60, argc > 5 ? atoi(argv[5]) : 4);
	ok(!table->wrong && table->hits && table->times && table->times >= times,
	   "%s, seed %llu: %llu times, %llu requests, %llu of them in time", race->name,
	   (unsigned long long)table->seed, (unsigned long long)table->times,
	   (unsigned long long)table->requests, (unsigned long long)table->hits);
	memory_end(slabs, users, 1);
	return finish();
}
