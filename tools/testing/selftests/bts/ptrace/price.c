// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of branch traces for a debugger, in instructions. vm/measure.sh runs this.
 * The first argument selects what to measure:
 *
 *   price capture	a branch of user mode: recording it, and PTRACE_BTS_DRAIN
 *   price read		the same with PTRACE_BTS_READ, which leaves records in the trace
 *   price switch	a round trip between two processes: what tracing one of them adds
 *   price first	a run of few branches to the next stop, and a drain: what both cost
 *			more than with a paused trace
 *   price drain N	a PTRACE_BTS_DRAIN of N records
 *   price threads N	as switch, while N traced threads sleep
 *   price step N	a branch in a loop of N instructions (2 or 8), by the software source
 *   price sequential	an instruction that is no branch, by the software source
 *   price singlestep N	a branch in a loop of N instructions (2 or 8), by PTRACE_SINGLESTEP
 */
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../guest/measure.h"
#include "threads.h"

#define BRANCHES	100000u
#define ROOM		(BRANCHES + 1000)
#define ROUNDS		5
#define TRIPS		2000

static struct x86_bts_record records[ROOM];

/* Execute a loop of three instructions @count times. The last of them branches. */
static void branches(unsigned long count)
{
	asm volatile("1: nop; dec %0; jnz 1b" : "+r" (count) : : "cc");
}

static void must_config(pid_t pid, uint32_t flags, unsigned int room)
{
	int err = bts_config(pid, flags, RECORDS(room), 0);

	if (err)
		fail("PTRACE_BTS_CONFIG: %s", strerror(-err));
}

static int collect_drain(const struct tracee *t)
{
	return bts(PTRACE_BTS_DRAIN, t->pid, records, sizeof(records));
}

/* Read the new records. They stay in the trace. */
static int collect_read(const struct tracee *t)
{
	static uint64_t seen;
	struct ptrace_bts_read arg = {
		.first = seen, .records = (uintptr_t)records, .count = ROOM,
	};
	int n = bts(PTRACE_BTS_READ, t->pid, &arg, sizeof(arg));

	if (n < 0 || arg.first != seen)
		fail("PTRACE_BTS_READ: %d from %llu", n, (unsigned long long)seen);
	seen += n;
	return n;
}

static int (*collect)(const struct tracee *t) = collect_drain;

/*
 * Let the tracee execute branches(@count), and collect the records. Stores the number of records in
 * *@got. Returns the number of instructions that all of this took.
 */
static uint64_t round_of(const struct tracee *t, unsigned long count, int *got)
{
	uint64_t begin = instructions();

	tracee_do(t, branches, count);
	*got = collect(t);
	return instructions() - begin;
}

static double capture(void)
{
	struct tracee t = tracee_new();
	double values[ROUNDS];
	uint64_t plain;
	int i, got;

	must_config(t.pid, TRACE | ALLOC, ROOM);
	/* Round -1 takes the page faults. It does not count: round 0 overwrites its value. */
	for (i = -1; i < ROUNDS; i++) {
		must_config(t.pid, 0, 0);
		plain = round_of(&t, BRANCHES, &got);
		if (got)
			fail("%d records while it is paused", got);
		must_config(t.pid, TRACE, 0);
		values[i < 0 ? 0 : i] = ((double)round_of(&t, BRANCHES, &got) - plain) / BRANCHES;
		if (got < (int)BRANCHES)
			fail("%d of %u branches", got, BRANCHES);
	}
	tracee_end(&t);
	return median(values, ROUNDS);
}

static double first(void)
{
	struct tracee t = tracee_new();
	double values[ROUNDS];
	uint64_t plain;
	int i, got;

	must_config(t.pid, TRACE | ALLOC, ROOM);
	for (i = -1; i < ROUNDS; i++) {
		must_config(t.pid, 0, 0);
		plain = round_of(&t, 2, &got);
		must_config(t.pid, TRACE, 0);
		values[i < 0 ? 0 : i] = (double)round_of(&t, 2, &got) - plain;
	}
	tracee_end(&t);
	return median(values, ROUNDS);
}

static double drain(unsigned int nr)
{
	struct tracee t = tracee_new();
	double values[ROUNDS];
	int i, got;

	must_config(t.pid, TRACE | ALLOC, ROOM);
	for (i = -1; i < ROUNDS; i++) {
		uint64_t begin;

		tracee_do(&t, branches, BRANCHES);
		begin = instructions();
		got = bts(PTRACE_BTS_DRAIN, t.pid, records, RECORDS(nr));
		values[i < 0 ? 0 : i] = instructions() - begin;
		if (got != (int)nr || bts(PTRACE_BTS_CLEAR, t.pid, NULL, 0))
			fail("%d of %u records", got, nr);
	}
	tracee_end(&t);
	return median(values, ROUNDS);
}

/*
 * A loop of two and a loop of eight instructions, for traces by the trap flag and for
 * PTRACE_SINGLESTEP. In both, only the last instruction is a branch.
 */

#define STEPS	2000u

static void loop2(unsigned long count)
{
	asm volatile("1: dec %0; jnz 1b" : "+r" (count) : : "cc");
}

static void loop8(unsigned long count)
{
	asm volatile("1: nop; nop; nop; nop; nop; nop; dec %0; jnz 1b"
		     : "+r" (count) : : "cc");
}

/* Returns what a trace by the trap flag adds to each pass of a loop of @length instructions. */
static double stepped(unsigned int length)
{
	struct ptrace_bts_config config = {
		.size = RECORDS(ROOM),
		.flags = TRACE | ALLOC,
		.source = PTRACE_BTS_SOURCE_STEP,
	};
	void (*loop)(unsigned long) = length == 2 ? loop2 : loop8;
	struct tracee t = tracee_new();
	double values[ROUNDS];
	uint64_t plain, begin;
	int i, got;

	if (bts(PTRACE_BTS_CONFIG, t.pid, &config, sizeof(config)))
		fail("PTRACE_BTS_SOURCE_STEP");
	for (i = -1; i < ROUNDS; i++) {
		must_config(t.pid, 0, 0);
		begin = instructions();
		tracee_do(&t, loop, STEPS);
		plain = instructions() - begin;
		must_config(t.pid, TRACE, 0);
		begin = instructions();
		tracee_do(&t, loop, STEPS);
		got = collect_drain(&t);
		values[i < 0 ? 0 : i] = ((double)(instructions() - begin) - plain) / STEPS;
		if (got < (int)STEPS)
			fail("%d of %u branches", got, STEPS);
	}
	tracee_end(&t);
	return median(values, ROUNDS);
}

/*
 * Returns the cost of each pass of a loop of @length instructions, for a tracer that uses
 * PTRACE_SINGLESTEP and reads the address of each instruction.
 */
static double singlestepped(unsigned int length)
{
	static double values[STEPS];
	struct tracee t = tracee_new();
	uint64_t begin;
	int i, status;

	tracee_begin(&t, length == 2 ? loop2 : loop8, BRANCHES);
	for (i = -1000; i < (int)STEPS; i++) {
		begin = instructions();
		if (ptrace(PTRACE_SINGLESTEP, t.pid, 0, 0) || waitpid(t.pid, &status, 0) != t.pid ||
		    !WIFSTOPPED(status))
			fail("PTRACE_SINGLESTEP");
		errno = 0;
		ptrace(PTRACE_PEEKUSER, t.pid, offsetof(struct user_regs_struct, rip), 0);
		if (errno)
			fail("PTRACE_PEEKUSER");
		if (i >= 0)
			values[i] = instructions() - begin;
	}
	tracee_end(&t);
	return length * median(values, STEPS);
}

static double trip(const int *pipes)
{
	static double trips[TRIPS];
	char c = 0;
	int i;

	for (i = -TRIPS / 10; i < TRIPS; i++) {
		uint64_t begin = instructions();

		if (write(pipes[1], &c, 1) != 1 || read(pipes[2], &c, 1) != 1)
			fail("pipe: %s", strerror(errno));
		if (i >= 0)
			trips[i] = instructions() - begin;
	}
	return median(trips, TRIPS);
}

static void answer(const int *pipes)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(pipes[0], &c, 1) == 1 && write(pipes[3], &c, 1) == 1)
		;
	_exit(0);
}

static double switches(void)
{
	double plain, traced;
	int pipes[4];
	pid_t pid;

	if (pipe(pipes) || pipe(pipes + 2))
		fail("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		answer(pipes);
	plain = trip(pipes);
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, NULL, 0) != pid)
		fail("cannot trace: %s", strerror(errno));
	must_config(pid, TRACE | ALLOC, 10000);
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		fail("PTRACE_CONT: %s", strerror(errno));
	traced = trip(pipes);
	kill(pid, SIGKILL);
	return traced - plain;
}

static double threads(unsigned int nr)
{
	pid_t *pids = calloc(nr, sizeof(*pids));
	struct tracee t = threads_new(100);
	double cost;

	if (!pids || threads_run(&t, pids, nr) != nr)
		fail("no %u threads", nr);
	cost = switches();
	kill(t.pid, SIGKILL);
	while (nr--)
		waitpid(pids[nr], NULL, __WALL);
	tracee_end(&t);
	free(pids);
	return cost;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned int nr = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(what, "read"))
		collect = collect_read;
	if (collect == collect_read || !strcmp(what, "capture"))
		report(capture());
	else if (!strcmp(what, "switch"))
		report(switches());
	else if (!strcmp(what, "first"))
		report(first());
	else if (!strcmp(what, "drain") && nr && nr <= BRANCHES)
		report(drain(nr));
	else if (!strcmp(what, "threads") && nr)
		report(threads(nr));
	else if (!strcmp(what, "step") && (nr == 2 || nr == 8))
		report(stepped(nr));
	else if (!strcmp(what, "sequential"))
		report((stepped(8) - stepped(2)) / 6);
	else if (!strcmp(what, "singlestep") && (nr == 2 || nr == 8))
		report(singlestepped(nr));
	else
		fail("usage: price capture|read|switch|first|sequential\n"
		     "       price drain|threads|step|singlestep N");
	return 0;
}
