// SPDX-License-Identifier: GPL-2.0
/*
 * Many tracees at once: each trace must have the branches of its own task only. The clocks in
 * X86_BTS_TASK_ARRIVES and X86_BTS_TASK_DEPARTS must show in which order the tracees ran.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "tracing.h"

#define ROOM		40000
#define TRACEES		12
#define THREADS		8
#define BASE		1000
#define TURNS		50

static struct x86_bts_record records[ROOM];

static void pin_task(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(pid, sizeof(set), &set))
		give_up("sched_setaffinity");
}

/* All tracees run at the same time, and may compete for the CPUs. */
TEST(processes)
{
	pid_t pid[TRACEES];
	int i, round;
	size_t nr;

	for (i = 0; i < TRACEES; i++) {
		pid[i] = start_chain();
		must_trace(pid[i], i % 3 ? TRACE : TRACE | ENTRY, ROOM, 0);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < TRACEES; i++) {
			ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, pid[i], &chain_passes,
					    (long)(50 + 20 * i)));
			ASSERT_EQ(0, ptrace(PTRACE_CONT, pid[i], NULL, NULL));
		}
		for (i = 0; i < TRACEES; i++)
			wait_stop(pid[i], SIGTRAP);
		for (i = 0; i < TRACEES; i++) {
			nr = must_drain(pid[i], records, ROOM);
			if (i % 3)
				EXPECT_TRUE(is_chain(records, nr, 50 + 20 * i, true))
					TH_LOG("tracee %d in round %d", i, round);
			EXPECT_EQ(0, bts_status(pid[i]).lost + bts_status(pid[i]).gaps +
				  bts_status(pid[i]).overwritten);
		}
	}
	for (i = 0; i < TRACEES; i++)
		end_chain(pid[i]);
}

/*
 * Threads of one process. Each takes a different number of branches, which identifies its trace.
 * Do not use pthreads: in 32-bit programs, they need system calls with 32-bit time, which some
 * kernels lack.
 */
static volatile int arrived, done;

static void meet(volatile int *count)
{
	__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
	while (*count < THREADS)
		sched_yield();
}

static int thread_work(void *arg)
{
	unsigned long nr = (unsigned long)arg;

	pin_task(0, nr);
	meet(&arrived);
	known_work(BASE + 100 * nr);
	meet(&done);
	return 0;
}

static void run_threads(unsigned long unused)
{
	static char stack[THREADS][32768] __attribute__((aligned(16)));
	unsigned long i;

	(void)unused;
	for (i = 0; i < THREADS; i++) {
		if (clone(thread_work, stack[i + 1], CLONE_VM | CLONE_FS | CLONE_FILES |
			  CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, (void *)i) < 0)
			_exit(1);
	}
	while (done < THREADS)
		sched_yield();
}

/*
 * Wait until all threads have ended and @leader has stopped itself. Returns a mask of the threads
 * whose branches were found.
 */
static unsigned int reap_threads(struct __test_metadata *_metadata, pid_t leader)
{
	unsigned int seen = 0;
	int status, ended = 0;
	bool stopped = false;

	while (ended < THREADS || !stopped) {
		pid_t pid = waitpid(-1, &status, __WALL);

		ASSERT_LT(0, pid);
		if (!WIFSTOPPED(status)) {
			ended++;
			continue;
		}
		if (pid == leader && stopped_by(status, SIGSTOP)) {
			stopped = true;
			continue;
		}
		if (stopped_by(status, SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
			size_t nr = known_count(records, must_drain(pid, records, ROOM)) + 1;

			EXPECT_EQ(0, (nr - BASE) % 100) TH_LOG("%zu branches", nr - 1);
			EXPECT_EQ(0, seen & 1u << (nr - BASE) / 100);
			seen |= 1u << (nr - BASE) / 100;
		}
		ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, NULL, NULL));
	}
	return seen;
}

TEST(threads)
{
	struct tracee t = tracee_new();

	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, t.pid, NULL,
			    PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL));
	must_trace(t.pid, TRACE | INHERIT, ROOM, 0);
	tracee_begin(&t, run_threads, 0);
	ASSERT_EQ(0, ptrace(PTRACE_CONT, t.pid, NULL, NULL));
	EXPECT_EQ((1u << THREADS) - 1, reap_threads(_metadata, t.pid));
	EXPECT_EQ(0, bts_status(t.pid).not_inherited);
	EXPECT_EQ(0, known_count(records, must_drain(t.pid, records, ROOM)));
	end_chain(t.pid);
}

/* File descriptors of a process that takes turns: it reads a byte from @in, and writes to @out. */
struct turns {
	int in;
	int out;
};

static struct turns turns;

static void run_turns(unsigned long unused)
{
	int i;
	char c;

	(void)unused;
	for (i = 0; i < TURNS; i++) {
		if (read(turns.in, &c, 1) != 1)
			_exit(1);
		known_work(2);
		if (write(turns.out, &c, 1) != 1)
			_exit(1);
	}
}

/* The clocks of X86_BTS_TASK_ARRIVES before a turn, and of X86_BTS_TASK_DEPARTS after it. */
struct interval {
	uint64_t begin;
	uint64_t end;
};

static unsigned int find_turns(const struct x86_bts_record *rec, size_t nr, uint32_t cpu,
			       struct interval *when)
{
	unsigned int turn = 0, last = 0;
	uint64_t arrived = 0, clock = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (rec[i].type == X86_BTS_TASK_ARRIVES || rec[i].type == X86_BTS_TASK_DEPARTS) {
			if (rec[i].event.clock < clock || rec[i].event.cpu != cpu)
				return 0;
			clock = rec[i].event.clock;
		}
		if (rec[i].type == X86_BTS_TASK_ARRIVES)
			arrived = clock;
		for (; rec[i].type == X86_BTS_TASK_DEPARTS && last < turn; last++)
			if (last < TURNS)
				when[last].end = clock;
		if (!known_count(rec + i, 1))
			continue;
		if (turn < TURNS)
			when[turn].begin = arrived;
		turn++;
	}
	return last == turn ? turn : 0;
}

/* Two processes take turns, each on its own CPU if there are two. Clocks must show the order. */
TEST(order_on_two_cpus)
{
	struct interval when[2][TURNS];
	int pipes[2][2], i, sure = 0;
	struct tracee t[2];
	char c = 0;

	ASSERT_EQ(0, pipe(pipes[0]) | pipe(pipes[1]));
	for (i = 0; i < 2; i++) {
		turns = (struct turns) { pipes[i][0], pipes[1 - i][1] };
		t[i] = tracee_new();
		pin_task(t[i].pid, i);
		must_trace(t[i].pid, TRACE | SCHED, ROOM, 0);
		tracee_begin(&t[i], run_turns, 0);
		ASSERT_EQ(0, ptrace(PTRACE_CONT, t[i].pid, NULL, NULL));
	}
	ASSERT_EQ(1, write(pipes[0][1], &c, 1));
	for (i = 0; i < 2; i++) {
		wait_stop(t[i].pid, SIGSTOP);
		ASSERT_EQ(TURNS, find_turns(records, must_drain(t[i].pid, records, ROOM),
					    i % sysconf(_SC_NPROCESSORS_ONLN), when[i]));
		end_chain(t[i].pid);
	}
	for (i = 1; i < 2 * TURNS; i++) {
		const struct interval *a = &when[(i - 1) & 1][(i - 1) / 2];
		const struct interval *b = &when[i & 1][i / 2];

		EXPECT_LT(a->begin, b->end) TH_LOG("turn %d", i);
		sure += a->begin < b->begin;
	}
	/*
	 * If a process does not sleep before its turn, it may have arrived before the other process
	 * arrived for the previous turn. Allow that in fewer than half of the turns.
	 */
	EXPECT_LT(TURNS, sure);
}

TEST_HARNESS_MAIN
