/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the programs of group stress.
 *
 * A fuzzer has several tracers with several tracees each. All of them, 64-bit and 32-bit,
 * map the same memory, so each member of these structures has a fixed width.
 */
#ifndef BTS_STRESS_H
#define BTS_STRESS_H

#include <limits.h>

#include "../guest/tracee.h"

typedef uint64_t u64_shared __attribute__((aligned(8)));

#define NR_TRACERS	8
#define NR_TRACEES	4
#define SHARED_FD	100
#define PAGE		4096u
/* A copy of the program that its user may not read. */
#define SECRET		"/tmp/secret"

/* Orders for a tracee. */
enum what {
	DO_NOTHING,
	DO_WORK,	/* known_work(arg) */
	DO_YIELD,	/* sched_yield() arg times */
	DO_SYSCALLS,	/* arg system calls */
	DO_FAULT,	/* jump to the bad address with number arg */
	DO_DUMPABLE,	/* prctl(PR_SET_DUMPABLE, arg) */
	DO_FORK,	/* arg: offset of the child's tracee_shared in struct shared */
	DO_EXEC,	/* arg: one of EXEC_64, EXEC_32, EXEC_SECRET */
	DO_EXIT,
	DO_WAIT,	/* wait for @release */
};

/**
 * struct tracee_shared - the public state of a tracee
 * @serial:	number of the last order
 * @done:		number of the last order that was completed
 * @what:		the order
 * @arg:		argument of the order
 * @release:	ends DO_WAIT
 * @pid:		in the initial PID namespace; 0 if there is no tracee
 * @killed:	the @pid that was killed
 * @pending:	its trace may be made or ended at this moment
 * @firm:		its trace does not yield to perf
 * @pages:	charged for its trace; 0 if it has none
 */
struct tracee_shared {
	uint32_t serial;
	uint32_t done;
	uint32_t what;
	uint32_t release;
	uint32_t pid;
	uint32_t killed;
	uint32_t pending;
	uint32_t firm;
	u64_shared arg;
	u64_shared pages;
};

/**
 * struct tracer_shared - the public state of a tracer
 * @pid:		its process, and its process group
 * @uid:		the user to whom its traces are charged
 * @dying:	it is being killed
 * @incarnation:	number of its life: from option -i on, one more after each kill
 * @step:		number of its current step
 * @requests:	number of requests it has made
 * @tracees:	its tracees
 */
struct tracer_shared {
	uint32_t pid;
	uint32_t uid;
	uint32_t dying;
	uint32_t incarnation;
	u64_shared step;
	u64_shared requests;
	struct tracee_shared tracees[NR_TRACEES];
};

/**
 * struct globals - state that is the same for all tracers and changes at any time
 * @seq:		odd while it changes
 * @sysctl:	kernel.ptrace_bts
 * @paranoid:	kernel.perf_event_paranoid
 * @perf:		an event of perf has the hardware
 */
struct globals {
	uint32_t seq;
	uint32_t sysctl;
	int32_t paranoid;
	uint32_t perf;
};

#define NR_LOCKS	16
#define NR_NOISES	2	/* processes that make noise */
#define NR_KINDS	6	/* kinds of noise: the bits of NOISE_* */

struct shared {
	u64_shared seed;
	uint32_t stop;
	uint32_t violations;
	/* changes with each trace and each kill */
	uint32_t version;
	/* NOISE_* that are on, and how often each of them has succeeded */
	uint32_t noise;
	uint32_t noise_done[NR_KINDS];
	uint32_t noise_pids[NR_NOISES];
	/* number of requests that returned EBUSY */
	uint32_t busy;
	uint32_t unused;
	struct globals globals;
	/* the tracer that may change what is charged to a user: number + 1 */
	uint32_t locks[NR_LOCKS];
	struct tracer_shared tracers[NR_TRACERS];
};

extern struct shared *shared;

/* rng.c: the same seed, tracer, incarnation and step give the same numbers. */
void rng_seed(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
uint64_t rng_next(void);
/* Returns 0 to @n - 1. */
uint32_t rng(uint32_t n);
/* Returns true once in @n times. */
bool chance(uint32_t n);

/*
 * say.c: print a violation with one write, so that it is not mixed with other output. @head
 * tells the tracer and its step.
 */
__attribute__((format(printf, 2, 0)))
void say_violation(const char *head, const char *fmt, va_list ap);
/* Report a violation, with the parameters to reproduce it, and stop the fuzzer. */
__attribute__((format(printf, 1, 2)))
void violation(const char *fmt, ...);
extern int my_number;

enum { EXEC_64, EXEC_32, EXEC_SECRET, NR_EXECS };

/* tracee.c: tracee_run() does not return. */
void tracee_run(struct tracee_shared *self);
void tracee_exec_main(int argc, char **argv);

#endif /* BTS_STRESS_H */
