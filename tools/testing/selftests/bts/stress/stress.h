/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs of group stress share.
 *
 * A fuzzer is several tracers with several tracees each. All of them, of either
 * ABI, see one piece of memory, so each of its members has a fixed width.
 */
#ifndef BTS_STRESS_H
#define BTS_STRESS_H

#include <limits.h>

#include "../ptrace/common.h"

typedef uint64_t u64_shared __attribute__((aligned(8)));

#define NR_TRACERS	8
#define NR_TRACEES	4
#define SHARED_FD	100
#define PAGE		4096u
/* A copy of the program that its user may not read */
#define SECRET		"/tmp/secret"

/* What a tracee can be told to do. */
enum what {
	DO_NOTHING,
	DO_WORK,	/* known_work(arg) */
	DO_YIELD,	/* arg times */
	DO_SYSCALLS,	/* arg times */
	DO_FAULT,	/* by a jump to a bad address; arg says which */
	DO_DUMPABLE,	/* prctl(PR_SET_DUMPABLE, arg) */
	DO_FORK,	/* arg: where its tracee_shared is */
	DO_EXEC,	/* arg: EXEC_64, ... */
	DO_EXIT,
	DO_WAIT,	/* until @release */
};

/**
 * struct tracee_shared - one tracee, as everybody may see it
 * @serial:	of the last order
 * @done:	of the last order that was carried out
 * @what:	what is to be done
 * @arg:	for that
 * @release:	ends DO_WAIT
 * @pid:	in the first PID namespace; 0 if there is none
 * @killed:	the @pid that somebody killed
 * @pending:	a trace may be made of it just now, or end
 * @firm:	its trace does not give way to perf
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
 * struct tracer_shared - one tracer
 * @pid:	its process, and its process group
 * @uid:	whom its traces are charged to
 * @dying:	somebody is killing it
 * @incarnation: how many of this number there were before
 * @step:	where it is
 * @requests:	how many it has made
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
 * struct globals - what is the same for all and changes at any time
 * @seq:	odd while it changes
 * @sysctl:	kernel.ptrace_bts
 * @paranoid:	kernel.perf_event_paranoid
 * @perf:	an event has the hardware
 */
struct globals {
	uint32_t seq;
	uint32_t sysctl;
	int32_t paranoid;
	uint32_t perf;
};

#define NR_LOCKS	16
#define NR_NOISES	2	/* processes that make noise */
#define NR_KINDS	6	/* of noise: the bits of NOISE_* */

struct shared {
	u64_shared seed;
	uint32_t stop;
	uint32_t violations;
	uint32_t version;
	/* NOISE_*, and how often each of them did what it is for */
	uint32_t noise;
	uint32_t noise_done[NR_KINDS];
	uint32_t noise_pids[NR_NOISES];
	/* answers EBUSY to a CONFIG */
	uint32_t busy;
	uint32_t unused;
	struct globals globals;
	/* who is in a step that changes what is charged to a user: number + 1 */
	uint32_t locks[NR_LOCKS];
	struct tracer_shared tracers[NR_TRACERS];
};

extern struct shared *shared;

/* rng.c: the same numbers for the same seed, tracer, incarnation, step */
void rng_seed(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
uint64_t rng_next(void);
/* 0 to @n - 1 */
uint32_t rng(uint32_t n);
/* true once in @n times */
bool chance(uint32_t n);

/* say.c: in one piece, whoever else writes; @head says who and where */
__attribute__((format(printf, 2, 0)))
void say_violation(const char *head, const char *fmt, va_list ap);
/* Says what is wrong, with how to get there, and stops all. */
__attribute__((format(printf, 1, 2)))
void violation(const char *fmt, ...);
extern int my_number;

enum { EXEC_64, EXEC_32, EXEC_SECRET, NR_EXECS };

/* tracee.c: never returns */
void tracee_start(struct tracee_shared *self);
void tracee_exec_main(int argc, char **argv);

#endif /* BTS_STRESS_H */
