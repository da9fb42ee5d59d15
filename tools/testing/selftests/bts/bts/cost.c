// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of tracing, in instructions. vm/measure.sh runs this.
 *
 *   cost MODULE record|pmi|switch|flight
 *   cost MODULE cpu N		the cost of a record that N traces of the CPU get, divided by N
 *   cost MODULE memory		the bytes of a context without its ring, not instructions
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "../guest/measure.h"
#include "common.h"

#define ROUNDS	5
#define BATCH	2000		/* fits into the hardware's buffer */
#define RUN	200000UL
#define TRIPS	1000

static void branch(unsigned long count)
{
	asm volatile("1: nop; dec %0; jnz 1b" : "+r" (count) : : "cc");
}

static int start(int target, int id, u32 flags)
{
	int fd = lab_open(target, id, flags, 10000);

	lab_must(fd, LAB_START, NULL);
	return fd;
}

/*
 * Returns the cost of a LAB_FLUSH, which moves about @records records from the hardware's buffer to
 * the rings: the least of several, as a timer may interrupt many of the longer ones.
 */
static u64 flush_cost(int fd, unsigned long records)
{
	u64 begin, cost, least = -1;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		lab_must(fd, LAB_FLUSH, NULL);
		branch(records);
		begin = instructions();
		lab_must(fd, LAB_FLUSH, NULL);
		cost = instructions() - begin;
		least = cost < least ? cost : least;
	}
	return least;
}

/* Returns the cost of a record that each of @traces traces gets, divided by @traces. */
static double records_cost(int target, int traces)
{
	int fds[traces], i;
	double cost;

	for (i = 0; i < traces; i++)
		fds[i] = start(target, 0, LAB_USER);
	cost = flush_cost(fds[0], BATCH + 1);
	cost -= flush_cost(fds[0], 1);
	for (i = 0; i < traces; i++)
		close(fds[i]);
	return cost / BATCH / traces;
}

static double record_cost(void)
{
	return records_cost(LAB_SELF, 1);
}

static u64 run_cost(void)
{
	u64 begin = instructions();

	branch(RUN);
	return instructions() - begin;
}

/* Returns what tracing adds to a run, less the cost of the records, divided by the PMIs' number. */
static double pmi_cost(void)
{
	double record = record_cost(), values[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 plain = run_cost(), traced;
		long long pmis = bts_counter("pmis");
		int fd = start(LAB_SELF, 0, LAB_USER);

		traced = run_cost();
		lab_must(fd, LAB_DESTROY, NULL);
		close(fd);
		pmis = bts_counter("pmis") - pmis;
		if (pmis < 10)
			fail("%lld PMIs", pmis);
		values[i] = (traced - plain - RUN * record) / pmis;
	}
	return median(values, ROUNDS);
}

static void answer(const int *pipes)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(pipes[0], &c, 1) == 1 && write(pipes[3], &c, 1) == 1)
		;
	_exit(0);
}

static double trip_cost(const int *pipes)
{
	static double trips[TRIPS];
	char c = 0;
	int i;

	for (i = -100; i < TRIPS; i++) {
		u64 begin = instructions();

		if (write(pipes[1], &c, 1) != 1 || read(pipes[2], &c, 1) != 1)
			fail("pipe: %s", strerror(errno));
		if (i >= 0)
			trips[i] = instructions() - begin;
	}
	return median(trips, TRIPS);
}

/* Returns half of the extra cost of a round trip between two tasks if one of them is traced. */
static double switch_cost(u32 flags)
{
	int pipes[4], fd = lab_open(LAB_TASK, 0, flags, 10000);
	double plain, traced;
	struct lab_config config = { .target = LAB_TASK, .flags = flags, .nr = 10000, };
	int status;

	if (pipe(pipes) || pipe(pipes + 2))
		fail("pipe: %s", strerror(errno));
	config.id = fork();
	if (!config.id)
		answer(pipes);
	plain = trip_cost(pipes);
	kill(config.id, SIGSTOP);
	waitpid(config.id, &status, WUNTRACED);
	lab_config(fd, &config);
	lab_must(fd, LAB_START, NULL);
	kill(config.id, SIGCONT);
	traced = trip_cost(pipes);
	kill(config.id, SIGKILL);
	waitpid(config.id, &status, 0);
	close(fd);
	return (traced - plain) / 2;
}

/* Returns what the flight recorder adds to the cost of system calls, per record. */
static double flight_cost(void)
{
	double plain[ROUNDS], flight[ROUNDS], *values = plain;
	long long records = 0;
	int fd = -1, i, k;

	for (k = 0; k < 2; k++) {
		for (i = -1; i < ROUNDS; i++) {
			long long before = bts_counter("records");
			u64 begin = instructions();
			int n;

			for (n = 0; n < 1000; n++)
				getppid();
			if (i >= 0)
				values[i] = instructions() - begin;
			records = bts_counter("records") - before;
		}
		if (!k)
			fd = start(LAB_CPU, 0, LAB_KERNEL | LAB_FLIGHT);
		values = flight;
	}
	close(fd);
	if (records < 1000)
		fail("%lld records", records);
	return (median(flight, ROUNDS) - median(plain, ROUNDS)) / records;
}

static double memory_cost(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, 1);
	struct lab_cpu cpu;

	lab_must(fd, LAB_READ_CPU, &cpu);
	close(fd);
	return cpu.context_size;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";

	load_lab(argv[1]);
	if (!strcmp(what, "record"))
		report(record_cost());
	else if (!strcmp(what, "pmi"))
		report(pmi_cost());
	else if (!strcmp(what, "switch"))
		report(switch_cost(LAB_USER));
	else if (!strcmp(what, "flight"))
		report(flight_cost());
	else if (!strcmp(what, "memory"))
		report(memory_cost());
	else if (!strcmp(what, "cpu") && argc > 3 && atoi(argv[3]) > 0)
		report(records_cost(LAB_CPU, atoi(argv[3])));
	else
		fail("usage: cost MODULE record|pmi|switch|flight|memory|cpu N");
	return 0;
}
