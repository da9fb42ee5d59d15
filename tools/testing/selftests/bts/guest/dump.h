/* SPDX-License-Identifier: GPL-2.0 */
/* Crash, and parse what the branch flight recorder prints after a crash, by sysrq, and in kdb. */
#ifndef BTS_DUMP_H
#define BTS_DUMP_H

#include <stdbool.h>
#include <sys/types.h>

#define DEVICE	"/dev/bts_crash"
#define NR	32	/* default of "nr" and "crash_nr": the largest number of lines for a CPU */

struct dump {
	int traces;		/* number of headlines, each of a CPU */
	int unreliable;		/* number of headlines with "source bts (unreliable)" */
	int first;		/* the CPU that was printed first */
	int since;		/* number of newer branches that were left out for that CPU */
	int nr;			/* number of lines with branches printed for that CPU */
	char top[256];		/* the newest of these branches */
	char next[256];		/* the second newest */
	int fault;		/* index of the newest from bts_crash_fault() or _bug(), or -1 */
	int work;		/* number of that CPU's branches from bts_crash_work() */
	bool interrupted;	/* an interrupt's branches may have displaced those */
	bool spins;		/* a branch is from bts_crash_spin() */
	int others;		/* number of lines with branches printed for other CPUs */
	int running;		/* number of CPUs that did not stop recording */
	int again;		/* number of messages "frozen since an earlier crash: ..." */
	int old;		/* number of messages "frozen before this crash: ..." */
	int other;		/* number of messages "frozen by a crash that ..." */
	int oopses;
	bool bad;		/* an unexpected message was printed */
};

#define NO_DUMP	{ .fault = -1, .first = -1 }

/* The address at which the crash faults. An oops there is expected. */
extern unsigned long long bad_address;

/* Parse the next line of a log or of a console. */
void take_line(struct dump *d, const char *line);
/* Parse the kernel log from where read_log() has stopped. */
struct dump read_dump(void);
/* The same, until an oops has ended, 10 seconds at most. */
struct dump read_oops(void);

/*
 * Returns whether five or more branches of bts_crash_work() were printed. Also returns true if an
 * interrupt may have displaced them.
 */
bool shows_way_to_crash(const struct dump *d);

/*
 * Write @kind to DEVICE in a child on @cpu, usually to crash. start_crash() returns the child's
 * pid. crash_once() waits for the end of the child, and returns whether the child was killed.
 */
pid_t start_crash(const char *kind, int cpu);
bool crash_once(const char *kind, int cpu);
/*
 * Wait until the kernel uses the TSC as its clock source, for some seconds at most. To switch to
 * the TSC, the kernel stops all CPUs. In a test that makes a CPU spin, the kernel would wait for
 * that CPU.
 */
void await_clock(void);
/*
 * Returns whether recording() is true for all CPUs. Waits up to a second for each, as a thaw may
 * have to wait for a work.
 */
bool goes_on(void);
/*
 * stays_frozen() waits a tenth of a second. Then it returns whether recording() is false for all
 * CPUs and the file "freeze" is 1. thaws() calls stays_frozen(), and thaws the CPUs. It returns
 * whether they were frozen and record now.
 */
bool stays_frozen(void);
bool thaws(void);
/* Returns the text behind the CPU and the indentation of a line. */
const char *behind_cpu(const char *line);

#endif
