// SPDX-License-Identifier: GPL-2.0
/*
 * Tracers and tracees end in different orders. The kernel must uncharge the memory of a trace from
 * the tracer's user exactly once. A later tracer of the same task must not see the trace. Also
 * test RLIMIT_MEMLOCK.
 *
 *   orphans [ROUNDS]	number of rounds of check_race()
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/traced.h"
#include "../guest/system.h"
#include "../guest/nobody.h"

#define PAGES	4
/* The size of a trace that fills PAGES pages, and of a trace with one record more */
#define FITS	RECORDS(PAGES * PAGE / (unsigned int)sizeof(struct x86_bts_record))
#define EXCEEDS	(FITS + RECORDS(1))
#define PILE	3000
/* The file that sets on which CPUs the kernel's unbound workers run */
#define WORKERS	"/sys/devices/virtual/workqueue/cpumask"

static int limits(void *unused)
{
	struct tracee t = tracee_new(), other = tracee_new();
	struct ptrace_bts_status status;

	(void)unused;
	if (bts_config(t.pid, TRACE | ALLOC, EXCEEDS, 0) != -ENOMEM)
		return 1;
	if (bts(PTRACE_BTS_SIZE, t.pid, NULL, 0) != -ENXIO)
		return 2;
	if (bts_config(t.pid, TRACE | ALLOC, FITS, 0))
		return 3;
	if (bts_config(other.pid, TRACE | ALLOC, RECORDS(1), 0) != -ENOMEM)
		return 4;
	/* A request for a larger ring that fails must not change the trace. */
	tracee_do(&t, known_work, 100);
	if (bts_config(t.pid, TRACE | ALLOC, EXCEEDS, 0) != -ENOMEM)
		return 5;
	status = bts_status(t.pid);
	if (status.size != FITS || status.held < 99)
		return 6;
	if (bts_end(t.pid) || bts_config(other.pid, TRACE | ALLOC, FITS, 0))
		return 7;
	tracee_end(&other);
	if (bts_config(t.pid, TRACE | ALLOC, FITS, 0))
		return 8;
	tracee_end(&t);
	return 0;
}

static void check_limits(void)
{
	int step = as_nobody(limits, NULL);

	ok(!step, "RLIMIT_MEMLOCK to the page, step %d", step);
	ok(all_given_back(), "the memory of killed tracees is freed");
}

static void spin(unsigned long unused)
{
	(void)unused;
	for (;;)
		known_work(1000);
}

static void sleep_on(unsigned long unused)
{
	(void)unused;
	for (;;)
		pause();
}

static void end(unsigned long unused)
{
	(void)unused;
	_exit(0);
}

enum { LEAVE_RUNNING = 1, LEAVE_IN_EXIT = 2, LEAVE_ZOMBIE = 4, LEAVE_IN_GROUP_STOP = 8 };

static const struct state {
	const char *name;
	void (*what)(unsigned long arg);
	int how;
} states[] = {
	{ "spins", spin, LEAVE_RUNNING, },
	{ "sleeps", sleep_on, LEAVE_RUNNING, },
	{ "is stopped", NULL, 0, },
	{ "is in a group stop", NULL, LEAVE_IN_GROUP_STOP, },
	{ "is about to end", end, LEAVE_IN_EXIT, },
	{ "is a zombie", end, LEAVE_ZOMBIE, },
};

/* Run as the tracer: trace a new tracee, bring it into @state, and store its pid in *@pid. */
static void tracer(const struct state *state, volatile pid_t *pid)
{
	long options = state->how & LEAVE_IN_EXIT ? PTRACE_O_TRACEEXIT : 0;
	struct tracee t;

	become_nobody();
	t = tracee_new();
	if (ptrace(PTRACE_SETOPTIONS, t.pid, 0, options) ||
	    bts_config(t.pid, TRACE | ALLOC, FITS, 0))
		give_up("a tracer cannot begin");
	tracee_do(&t, known_work, 100);
	if (state->how & LEAVE_IN_GROUP_STOP) {
		if (!stopped_by(tracee_continue(t.pid, SIGSTOP), SIGSTOP))
			give_up("no group stop");
	} else if (state->how) {
		siginfo_t info;

		tracee_begin(&t, state->what, 0);
		if (ptrace(PTRACE_CONT, t.pid, 0, 0))
			give_up("PTRACE_CONT");
		if (!(state->how & LEAVE_RUNNING))
			waitid(P_PID, t.pid, &info, WSTOPPED | WEXITED | WNOWAIT);
		usleep(20000);
	}
	*pid = t.pid;
	for (;;)
		pause();
}

/* Start a tracer that brings its tracee into @state, kill the tracer, return the tracee. */
static pid_t orphan(const struct state *state)
{
	volatile pid_t *pid = shared_memory(sizeof(*pid));
	pid_t child, tracer_pid = fork();

	if (!tracer_pid)
		tracer(state, pid);
	while (!*pid)
		usleep(1000);
	kill(tracer_pid, SIGKILL);
	waitpid(tracer_pid, NULL, 0);
	child = *pid;
	munmap((void *)pid, sizeof(*pid));
	return child;
}

static void check_orphans(const struct state *state)
{
	long long records;
	pid_t pid = orphan(state);

	ok(all_given_back(), "tracer dies while its tracee %s: the memory is freed", state->name);
	if (bts_hardware()) {
		usleep(20000);
		records = bts_counter("records");
		usleep(100000);
		ok(records >= 0 && bts_counter("records") == records,
		   "tracee %s: hardware is off", state->name);
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) != pid && errno != ECHILD)
		;
}

/* A second tracer attaches when the first one has died, and must not see the first one's trace. */
static void check_second_tracer(const struct state *state)
{
	pid_t pid = orphan(state);
	struct x86_bts_record rec;
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid)
		give_up("the second tracer");
	ok(bts(PTRACE_BTS_GET, pid, &rec, 0) == -ENXIO &&
	   bts(PTRACE_BTS_SIZE, pid, NULL, 0) == -ENXIO,
	   "tracee %s: a second tracer finds nothing", state->name);
	ok(bts_config(pid, TRACE | ALLOC, RECORDS(1000), 0) == 0 &&
	   bts(PTRACE_BTS_SIZE, pid, NULL, 0) == 0, "tracee %s: and starts anew", state->name);
	ok(all_given_back(), "tracee %s: the memory of its first trace is freed", state->name);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

/* Return a buffer. An access to its pages blocks until the accessing process is killed. */
static void *waiting_buffer(size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	reg.range.start = (uintptr_t)mem;
	reg.range.len = size;
	if (fd < 0 || mem == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &reg))
		give_up("userfaultfd");
	return mem;
}

/* Kill a tracer while it is blocked in PTRACE_BTS_DRAIN. */
static void check_killed_drain(void)
{
	volatile pid_t *pid = shared_memory(sizeof(*pid));
	pid_t tracer_pid;

	write_file("/proc/sys/vm/unprivileged_userfaultfd", "1");
	tracer_pid = fork();
	if (!tracer_pid) {
		void *buffer = waiting_buffer(2 * PAGE);
		struct tracee t;

		become_nobody();
		t = tracee_new();
		ptrace(PTRACE_SETOPTIONS, t.pid, 0, 0);
		if (bts_config(t.pid, TRACE | ALLOC, FITS, 0))
			give_up("PTRACE_BTS_CONFIG");
		tracee_do(&t, known_work, 1000);
		*pid = t.pid;
		bts(PTRACE_BTS_DRAIN, t.pid, buffer, 2 * PAGE);
		/* The request was not blocked: end the tracee, and report that by -1. */
		kill(t.pid, SIGKILL);
		*pid = -1;
		pause();
	}
	while (!*pid)
		usleep(1000);
	usleep(50000);
	ok(*pid > 0 && as_nobody(configure_all, NULL) == ENOMEM, "a tracer waits in its DRAIN");
	kill(tracer_pid, SIGKILL);
	ok(waitpid(tracer_pid, NULL, 0) == tracer_pid && all_given_back(),
	   "a tracer killed in its DRAIN: the memory is freed");
	if (*pid > 0)
		kill(*pid, SIGKILL);
	munmap((void *)pid, sizeof(*pid));
}

/*
 * Delay the kernel's unbound workers: let them run on CPU 0 only, where this process and its
 * children have priority (SCHED_FIFO). A worker can run when these processes sleep to wait for it.
 */
static void hold_workers(void)
{
	const struct sched_param param = { .sched_priority = 1 };
	cpu_set_t cpu0;

	CPU_ZERO(&cpu0);
	CPU_SET(0, &cpu0);
	write_file(WORKERS, "1");
	if (sched_setaffinity(0, sizeof(cpu0), &cpu0) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		give_up("no priority over the workers");
}

static int late_worker(void)
{
	static const struct state stopped = { .name = "is stopped" };
	pid_t pid;
	int err;

	hold_workers();
	pid = orphan(&stopped);
	err = as_nobody(configure_all, NULL);
	kill(pid, SIGKILL);

	return err;
}

/*
 * When a tracer has died, a worker of the kernel frees its traces. If the worker is late and
 * the user's limit is reached, the next PTRACE_BTS_CONFIG must wait for the worker.
 */
static void check_late_worker(void)
{
	char cpus[64] = "";
	int status = -1, fd = open(WORKERS, O_RDONLY | O_CLOEXEC);
	pid_t pid;

	if (fd < 0 || read(fd, cpus, sizeof(cpus) - 1) < 0)
		give_up("%s", WORKERS);
	close(fd);
	pid = fork();
	if (!pid)
		_exit(late_worker());
	waitpid(pid, &status, 0);
	write_file(WORKERS, cpus);
	ok(!status, "the worker is late: the next tracer has the memory nevertheless");
}

static void *trace_and_die(void *arg)
{
	pid_t pid = *(pid_t *)arg;
	int tries;

	/* The previous tracer may still be exiting. */
	for (tries = 0; tries < 1000 && ptrace(PTRACE_SEIZE, pid, 0, 0); tries++)
		sched_yield();
	while (tries++ < 1000 && bts_config(pid, TRACE | ALLOC, RECORDS(1), 0) == -ESRCH)
		sched_yield();
	return NULL;
}

static long kmalloc_objects(void)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	long sum = 0, active;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "kmalloc-%*s %ld", &active) == 1)
			sum += active;
	}
	if (!f || !sum)
		give_up("/proc/slabinfo");
	fclose(f);
	return sum;
}

static int trace_often(void *arg)
{
	pid_t *pid = arg;
	int i;

	for (i = 0; i < PILE; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, trace_and_die, pid))
			give_up("pthread_create");
		pthread_join(thread, NULL);
	}
	return 0;
}

/*
 * Many tracers trace the same task, one after the other, and die while the task is in a group
 * stop. Their traces must not pile up in the kernel's memory.
 */
static void check_pile(void)
{
	long before, more;
	pid_t pid = fork();

	if (!pid) {
		become_nobody();
		for (;;)
			raise(SIGSTOP);
	}
	waitpid(pid, NULL, WUNTRACED);
	shrink_slabs();
	before = kmalloc_objects();
	as_nobody(trace_often, &pid);
	shrink_slabs();
	more = kmalloc_objects() - before;
	printf("# %ld objects more\n", more);
	ok(more < PILE / 2, "%d tracers of a stopped task leave nothing there", PILE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(all_given_back(), "the memory of their traces is freed");
}

/* Tracer and tracee end at about the same time. */
static void check_race(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		pid_t tracer_pid = fork();

		if (!tracer_pid) {
			struct tracee t;

			become_nobody();
			t = tracee_new();
			/* the previous tracee may still be exiting */
			while (bts_config(t.pid, TRACE | ALLOC, FITS, 0) == -ENOMEM)
				sched_yield();
			ptrace(PTRACE_SETOPTIONS, t.pid, 0, 0);
			tracee_begin(&t, i & 1 ? spin : end, 0);
			ptrace(PTRACE_CONT, t.pid, 0, 0);
			known_work(1 + i * 97 % 20000);
			kill(t.pid, SIGKILL);
			if (i & 2)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		waitpid(tracer_pid, NULL, 0);
		/* Reap the tracees: as their tracer has ended, this process is their parent. */
		while (waitpid(-1, NULL, __WALL | WNOHANG) > 0)
			;
	}
	ok(all_given_back(), "%u times both end at once", rounds);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? atoi(argv[1]) : 300;
	size_t i;

	nobody_pages = PAGES;
	let_nobody_trace();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	ok(all_given_back(), "nothing is charged at first");
	check_limits();
	for (i = 0; i < ARRAY_SIZE(states); i++)
		check_orphans(&states[i]);
	for (i = 0; i < 4; i++)
		check_second_tracer(&states[i]);
	check_killed_drain();
	check_late_worker();
	check_pile();
	check_race(rounds);
	return finish();
}
