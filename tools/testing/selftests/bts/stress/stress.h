/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the programs fuzz and collide.
 *
 * A fuzzer has up to NR_TRACERS tracers with up to NR_TRACEES tracees each. All of them, 64-bit and
 * 32-bit, map the same memory, so each member of these structures has a fixed width. A tracer gives
 * orders (enum what) to its tracees. Noise is other activity in the system. A violation is an error
 * that a test finds, such as a result that the model (model.h) does not allow.
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
/* A copy of the fuzzer that users other than root can execute, but not read. */
#define SECRET		"/tmp/secret"

/* Orders for a tracee. */
enum what {
	DO_NOTHING,
	DO_WORK,	/* known_work(arg) */
	DO_YIELD,	/* sched_yield() and a short sleep, arg times */
	DO_SYSCALLS,	/* arg system calls */
	DO_FAULT,	/* jump to the bad address with number arg */
	DO_DUMPABLE,	/* prctl(PR_SET_DUMPABLE, arg) */
	DO_FORK,	/* arg: offset of the child's tracee_shared in struct shared */
	DO_EXEC,	/* arg: one of EXEC_64, EXEC_32, EXEC_SECRET */
	DO_EXIT,
	DO_WAIT,	/* sleep until tracee_shared.release is not 0 */
};

/**
 * struct tracee_shared - the public state of a tracee
 * @serial:	number of the last order
 * @done:		number of the last order that was completed
 * @what:		the order
 * @arg:		argument of the order
 * @release:	not 0: DO_WAIT ends
 * @pid:		its pid in the initial PID namespace; 0 if there is no tracee
 * @killed:	set to @pid before kill_tracee() kills the tracee
 * @pending:	its trace may begin or end at this moment
 * @firm:		perf cannot take the hardware from its trace
 * @pages:	number of pages charged for its trace; 0 if it has none
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
 * @pid:		its process, and its process group; 0 if it does not run
 * @uid:		the user to whom its traces are charged
 * @dying:	the fuzzer is killing it
 * @incarnation:	initially the number of option -i; incremented when the fuzzer kills and
 *		restarts the tracer
 * @step:		number of its current step
 * @requests:	how often it has called make_request(); a restart does not reset this
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
 * struct globals - state that is the same for all tracers and may change at any time
 * @seq:		odd while a noise process changes the state
 * @sysctl:	kernel.ptrace_bts
 * @paranoid:	kernel.perf_event_paranoid
 * @perf:		a perf event owns the hardware
 */
struct globals {
	uint32_t seq;
	uint32_t sysctl;
	int32_t paranoid;
	uint32_t perf;
};

#define NR_LOCKS	16
#define NR_NOISES	2	/* processes that make noise */
#define NR_KINDS	7	/* kinds of noise: the bits of NOISE_* */

struct shared {
	u64_shared seed;
	uint32_t stop;
	uint32_t violations;
	/* incremented when a trace may begin or end, and before the main process kills a task */
	uint32_t version;
	/*
	 * NOISE_* that are on, and how often each of them has succeeded. For NOISE_KILL, only
	 * tracers that were killed count.
	 */
	uint32_t noise;
	uint32_t noise_done[NR_KINDS];
	uint32_t noise_pids[NR_NOISES];
	/* number of requests that returned EBUSY */
	uint32_t busy;
	struct globals globals;
	/*
	 * [uid % NR_LOCKS]: 1 + number of the tracer that may change the charge of uid, or 0. Root
	 * has no limit, and does not use its lock.
	 */
	uint32_t locks[NR_LOCKS];
	struct tracer_shared tracers[NR_TRACERS];
};

extern struct shared *shared;

/* rng.c: the same four arguments give the same sequence of random numbers. */
void rng_seed(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
uint64_t rng_next(void);
/* Returns 0 to @n - 1. */
uint32_t rng(uint32_t n);
/* Returns true with the probability 1 / @n. */
bool chance(uint32_t n);

/*
 * say.c: print a violation with one write, so that it is not mixed with other output. @head is
 * printed before the text. It may name the tracer or worker that has found the violation.
 */
__attribute__((format(printf, 2, 0)))
void say_violation(const char *head, const char *fmt, va_list ap);
/* Report a violation and stop the test. */
__attribute__((format(printf, 1, 2)))
void violation(const char *fmt, ...);
extern int my_number;

enum { EXEC_64, EXEC_32, EXEC_SECRET, NR_EXECS };

/* tracee.c: tracee_run() does not return. */
void tracee_run(struct tracee_shared *self);
void tracee_exec_main(int argc, char **argv);

#endif /* BTS_STRESS_H */
