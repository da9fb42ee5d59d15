/* SPDX-License-Identifier: GPL-2.0 */
/* Parses the branches that the recorder prints after a crash, by sysrq, and in kdb. */
#ifndef BTS_RING0_DUMP_H
#define BTS_RING0_DUMP_H

#include <stdbool.h>
#include <sys/types.h>

#define DEVICE	"/dev/bts_crash"
#define NR	32	/* branches printed of each CPU */

struct dump {
	int traces;		/* number of CPUs printed */
	int first;		/* the CPU that was printed first */
	int since;		/* number of newer branches that were left out for that CPU */
	int nr;			/* number of branches printed for that CPU */
	char top[256];		/* the newest of them */
	char next[256];		/* the one before */
	int fault;		/* index of the branch that left the faulting function, or -1 */
	int work;		/* number that left bts_crash_work(), called before the fault */
	bool interrupted;	/* there was an interrupt, which may have displaced these */
	int others;		/* number of branches printed for other CPUs */
	int running;		/* CPUs that did not stop recording */
	int again;		/* crashes while frozen, without branches of their own */
	int oopses;
	bool bad;		/* there was an unexpected message */
};

#define NO_DUMP	{ .fault = -1, .first = -1 }

/* The address at which the crash faults. */
extern unsigned long long bad_address;

/* Parse the next line of a log or of a console. */
void take_line(struct dump *d, const char *line);
/* Parse the whole kernel log. */
struct dump read_dump(void);

/* Returns whether the branches before the fault were printed, or there was an interrupt instead. */
bool shows_way_to_crash(const struct dump *d);

/*
 * Crash in a child on @cpu. crash_once() waits, and returns whether the child was killed.
 */
pid_t start_crash(const char *kind, int cpu);
bool crash_once(const char *kind, int cpu);
/*
 * Wait until the kernel uses the TSC as its clock source. To switch to it, the kernel stops all
 * CPUs, which a CPU that waits or locks up in a test would block.
 */
void await_clock(void);
/*
 * Returns whether all CPUs record. Waits up to a second for each, as the kernel may need a work to
 * thaw them.
 */
bool goes_on(void);
/*
 * stays_frozen() returns whether all CPUs are still frozen after a tenth of a second. thaws() also
 * thaws them, and returns whether they were frozen before and record afterwards.
 */
bool stays_frozen(void);
bool thaws(void);
/* Returns the text behind the CPU and the indentation of a line. */
const char *behind_cpu(const char *line);

#endif
