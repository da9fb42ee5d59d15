// SPDX-License-Identifier: GPL-2.0
/*
 * Measure what a branch trace by ptrace() costs the traced program, in ticks of the TSC.
 *
 *   tracecost kinds	a branch, in five kinds of code
 *   tracecost switch	a round trip between two processes, of which one is traced
 *   tracecost cpus	a branch, while tracees run on 1, 2, 4 and so on up to all CPUs, but at
 *			most on MOST_CPUS
 *
 * A line "answer WHAT: ..." has the results. "2.5/1.0" is 2.5 ticks if traced, 1.0 if not. The
 * short form of the report has the first word of the results.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../guest/system.h"
#include "../guest/tracee.h"

#define TURNS		20000	/* of the loop in each kind of code */
#define ROUNDS		7	/* the fastest round counts */
#define TRIPS		1000
#define NODES		(1 << 20)	/* more than a tracee visits in all rounds */
#define NODE_SIZE	64
#define TRACE_BYTES	(1 << 16)
#define MOST_CPUS	256

/* Shared with the tracees. */
static struct {
	double ticks[MOST_CPUS];	/* of each tracee: ticks a branch, of its fastest round */
	unsigned int wanted;		/* tracees that begin together */
	unsigned int ready;		/* tracees that are ready to begin */
	unsigned int done;		/* tracees that have made their ROUNDS */
} *shared;

static uint64_t ticks(void)
{
	uint32_t low, high;

	asm volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/*
 * The kinds of code. Each function makes TURNS turns of a loop, and returns the approximate number
 * of branches that it takes.
 */

static unsigned long loop(void)
{
	unsigned long n = TURNS;

	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
	return TURNS;
}

__attribute__((noinline)) static void nothing(void)
{
	asm volatile("");
}

/* A turn has a call, a return, and the branch of the loop. */
static unsigned long calls(void)
{
	int i;

	for (i = 0; i < TURNS; i++)
		nothing();
	return 3 * TURNS;
}

#define TARGET(n)						\
	__attribute__((noinline)) static void target_##n(void)	\
	{							\
		asm volatile("nop # " #n);			\
	}

TARGET(0)
TARGET(1)
TARGET(2)
TARGET(3)

/* As calls(), but through pointers to different functions. */
static unsigned long indirect(void)
{
	static void (*volatile targets[])(void) = { target_0, target_1, target_2, target_3, };
	static unsigned int seed = 1;	/* other targets in each round */
	int i;

	for (i = 0; i < TURNS; i++) {
		seed = seed * 1664525 + 1013904223;
		targets[seed >> 30]();
	}
	return 3 * TURNS;
}

/* A conditional branch that the processor cannot predict: about half of the turns take it. */
static unsigned long random_jumps(void)
{
	static unsigned int seed = 1;	/* other jumps in each round */
	int i;

	for (i = 0; i < TURNS; i++) {
		seed = seed * 1664525 + 1013904223;
		if (seed >> 31)
			asm volatile("nop");
	}
	return TURNS + TURNS / 2;
}

struct node {
	struct node *next;
	char pad[NODE_SIZE - sizeof(struct node *)];
};

static struct node *nodes;

/* Link the nodes to a circle, in an order that the processor's prefetcher cannot follow. */
static void link_nodes(void)
{
	size_t i;

	nodes = calloc(NODES, sizeof(*nodes));
	if (!nodes)
		give_up("no memory");
	/* With these constants, and as NODES is a power of 2, the circle has all nodes. */
	for (i = 0; i < NODES; i++)
		nodes[i].next = &nodes[(i * 1664525 + 1013904223) % NODES];
}

/*
 * A turn reads a node that this tracee has not read before: each round goes on where the last one
 * has ended, and each tracee begins elsewhere. The nodes take 64 MiB.
 */
static unsigned long memory(void)
{
	static struct node *volatile node;
	int i;

	if (!node)
		node = &nodes[getpid() % NODES];
	for (i = 0; i < TURNS; i++)
		node = node->next;
	return TURNS;
}

static const struct {
	const char *name;
	unsigned long (*run)(void);
} kinds[] = {
	{ "loop", loop, },
	{ "call", calls, },
	{ "indirect", indirect, },
	{ "random", random_jumps, },
	{ "memory", memory, },
};

/*
 * The order of a tracee: run the code of kind @arg % 16, and store the result as number @arg / 16.
 * Go on until all tracees have made their rounds, so that all tracees run during each round.
 */
static void measure_kind(unsigned long arg)
{
	unsigned long (*run)(void) = kinds[arg % 16].run;
	double least = 0, now;
	uint64_t begin;
	int i;

	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < shared->wanted)
		sched_yield();
	for (i = 0; i < ROUNDS; i++) {
		begin = ticks();
		now = run();
		now = (ticks() - begin) / now;
		if (!i || now < least)
			least = now;
	}
	shared->ticks[arg / 16] = least;
	__atomic_add_fetch(&shared->done, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->done, __ATOMIC_SEQ_CST) < shared->wanted)
		run();
}

static void trace(const struct tracee *t)
{
	int err = bts_config(t->pid, TRACE | ALLOC, TRACE_BYTES, 0);

	if (err) {
		errno = -err;
		give_up("PTRACE_BTS_CONFIG");
	}
}

static void expect_tracees(unsigned int n)
{
	shared->wanted = n;
	shared->ready = 0;
	shared->done = 0;
}

static double ticks_of_kind(size_t kind, bool traced)
{
	struct tracee t = tracee_new();

	expect_tracees(1);
	if (traced)
		trace(&t);
	tracee_do(&t, measure_kind, kind);
	tracee_end(&t);
	return shared->ticks[0];
}

static void cost_kinds(void)
{
	double off[ARRAY_SIZE(kinds)], on[ARRAY_SIZE(kinds)];
	size_t i;

	pin_to(0);
	link_nodes();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		off[i] = ticks_of_kind(i, false);
		on[i] = ticks_of_kind(i, true);
		ok(off[i] > 0 && on[i] > 0, "%s is measured", kinds[i].name);
	}
	printf("answer kinds: ");
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		printf("%.1f/%.1f %s%s", on[i], off[i], kinds[i].name,
		       i + 1 < ARRAY_SIZE(kinds) ? ", " : "\n");
}

static int there[2], back[2];

/* The order of a tracee: return each byte that comes. */
static void echo(unsigned long trips)
{
	char c;

	while (trips-- && read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median of TRIPS round trips. */
static double round_trip(bool traced)
{
	static double trips[TRIPS];
	struct tracee t = tracee_new();
	uint64_t begin;
	char c = 0;
	int i;

	if (traced)
		trace(&t);
	tracee_begin(&t, echo, TRIPS);
	if (ptrace(PTRACE_CONT, t.pid, 0, 0))
		give_up("PTRACE_CONT");
	for (i = 0; i < TRIPS; i++) {
		begin = ticks();
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			give_up("pipe");
		trips[i] = ticks() - begin;
	}
	tracee_end(&t);
	qsort(trips, TRIPS, sizeof(*trips), compare);
	return trips[TRIPS / 2];
}

static void cost_switch(void)
{
	double off, on;

	pin_to(0);
	if (pipe(there) || pipe(back))
		give_up("pipe");
	off = round_trip(false);
	on = round_trip(true);
	ok(off > 0 && on > 0, "round trips are measured");
	printf("answer switch: %.0f/%.0f a round trip of two switches\n", on, off);
}

/* Returns the mean cost of a branch while a tracee runs a loop on each of the @n CPUs in @cpu. */
static double ticks_on(const int *cpu, unsigned int n, bool traced)
{
	struct tracee t[MOST_CPUS];
	double sum = 0;
	unsigned int i;
	int status;

	expect_tracees(n);
	for (i = 0; i < n; i++) {
		/* The tracee inherits the CPU. */
		pin_to(cpu[i]);
		t[i] = tracee_new();
		if (traced)
			trace(&t[i]);
		tracee_begin(&t[i], measure_kind, i * 16);
	}
	for (i = 0; i < n; i++) {
		if (ptrace(PTRACE_CONT, t[i].pid, 0, 0))
			give_up("PTRACE_CONT");
	}
	for (i = 0; i < n; i++) {
		if (waitpid(t[i].pid, &status, 0) != t[i].pid || !stopped_by(status, SIGSTOP))
			give_up("the tracee of CPU %d does not stop", cpu[i]);
		tracee_end(&t[i]);
		sum += shared->ticks[i];
	}
	return sum / n;
}

/* Store the numbers of the CPUs that this process may use, at most MOST_CPUS. Return how many. */
static unsigned int usable_cpus(int *cpu)
{
	unsigned int n = 0;
	cpu_set_t set;
	int i;

	if (sched_getaffinity(0, sizeof(set), &set))
		give_up("sched_getaffinity");
	for (i = 0; i < CPU_SETSIZE && n < MOST_CPUS; i++) {
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	}
	return n;
}

static void cost_cpus(void)
{
	char line[256];
	int cpu[MOST_CPUS];
	unsigned int all = usable_cpus(cpu), n = 1;
	size_t used = 0;
	double on, off;

	for (;;) {
		off = ticks_on(cpu, n, false);
		on = ticks_on(cpu, n, true);
		ok(off > 0 && on > 0, "%u CPUs are measured", n);
		used += snprintf(line + used, sizeof(line) - used, "%s%.1f/%.1f on %u",
				 used ? ", " : "", on, off, n);
		if (n == all)
			break;
		n = 2 * n < all ? 2 * n : all;
	}
	printf("answer cpus: %s\n", line);
}

static const struct {
	const char *name;
	void (*measure)(void);
} costs[] = {
	{ "kinds", cost_kinds, },
	{ "switch", cost_switch, },
	{ "cpus", cost_cpus, },
};

int main(int argc, char *argv[])
{
	size_t i;

	shared = shared_memory(sizeof(*shared));
	for (i = 0; i < ARRAY_SIZE(costs); i++) {
		if (argc == 2 && !strcmp(costs[i].name, argv[1])) {
			costs[i].measure();
			return finish();
		}
	}
	fprintf(stderr, "usage: tracecost kinds|switch|cpus\n");
	return 2;
}
