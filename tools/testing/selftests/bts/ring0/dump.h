/* SPDX-License-Identifier: GPL-2.0 */
/* Crashes, and what is printed of the last branches: then, by sysrq, by kdb. */
#ifndef BTS_RING0_DUMP_H
#define BTS_RING0_DUMP_H

#include <stdbool.h>
#include <sys/types.h>

#define DEVICE	"/dev/bts_crash"
#define NR	32	/* how many are printed */

struct dump {
	int traces;		/* how many CPUs' */
	int first;		/* which CPU's came first */
	int since;		/* how many branches it left out */
	int nr;			/* how many it printed */
	char top[256];		/* the newest of them */
	char next[256];		/* and the one before */
	int fault;		/* which of them left the faulting function, -1 for none */
	int work;		/* how many were in the function that was called before */
	bool interrupted;	/* an interrupt came: it may have pushed them out */
	int others;		/* how many were printed of other CPUs */
	int running;		/* CPUs that had not stopped */
	int again;		/* crashes of which nothing was recorded */
	int oopses;
	bool bad;		/* a message that has no business there */
};

#define NO_DUMP	{ .fault = -1, .first = -1 }

/* Where who crashes is to fault */
extern unsigned long long bad_address;

/* The next line of a log or of a console. */
void take_line(struct dump *d, const char *line);
/* All there is in the kernel's log. */
struct dump read_dump(void);

/* Does it show the way to the fault, as far as an interrupt leaves it? */
bool shows_way(const struct dump *d);

/* A child that crashes on that CPU; was it killed? */
pid_t start_crash(const char *kind, int cpu);
bool crash_once(const char *kind, int cpu);
/* Does the recorder go on? Work may have to do it. */
bool goes_on(void);
/* Has a crash frozen it, until somebody thaws it? And does it go on then? */
bool stays_frozen(void);
bool thaws(void);
/* A line without its CPU and indentation. */
const char *behind_cpu(const char *line);

#endif
