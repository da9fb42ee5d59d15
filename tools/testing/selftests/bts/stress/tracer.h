/* SPDX-License-Identifier: GPL-2.0 */
/* One tracer of the fuzzer, its tracees, and what it does to them. */
#ifndef BTS_STRESS_TRACER_H
#define BTS_STRESS_TRACER_H

#include "model.h"

/**
 * struct role - what a tracer is
 * @name:	for messages
 * @uid:	its user; 0 has all capabilities
 * @userns:	it makes a user namespace of its own
 * @pidns:	it is the first of a PID namespace of its own
 */
struct role {
	const char *name;
	uint32_t uid;
	bool userns;
	bool pidns;
};

extern const struct role roles[NR_TRACERS];

/**
 * struct child - one tracee
 * @pid:	as its tracer sees it; 0 if there is none
 * @shared:	what others see
 * @model:	its trace
 * @signals:	that may come because the trace is full
 * @own:	a child of its tracer
 * @changing:	it is just making itself dumpable, or the contrary
 * @dumpable:	what it will be then
 * @foreign:	likewise
 * @exiting:	it is in its last stop
 */
struct child {
	pid_t pid;
	struct tracee_shared *shared;
	struct model model;
	uint64_t signals;
	bool own;
	bool changing;
	bool dumpable;
	bool foreign;
	bool exiting;
};

struct tracer {
	int number;
	const struct role *role;
	struct tracer_shared *shared;
	struct who who;
	struct child tracees[NR_TRACEES];
};

/* tracer.c */
void tracer_main(int number);
void account_give(int number);
bool tracee_was_killed(const struct child *t);
/* Others are told of that before, and of what came of it after. */
void trace_may_change(struct child *t);
void charge(struct child *t);

/* request.c */
void buffers_init(void);
void fuzz_request(struct tracer *me, struct child *t);
/* Looks at the status and compares it; false if it cannot be had. */
bool look(struct tracer *me, struct child *t);
/* A valid CONFIG that makes a trace, or tries to */
void fuzz_new_trace(struct tracer *me, struct child *t);
/* By GET and by DRAIN */
void read_twice(struct tracer *me, struct child *t);
long make_request(struct tracer *me, struct child *t, struct request *r);

/* view.c */
struct views {
	struct view view[24];
	int nr;
};

/* What may have been so while a request was made: begin before, end after. */
void views_begin(struct tracer *me);
void views_end(struct tracer *me, struct views *out);
unsigned long pages_used(struct tracer *me, bool most);

/* run.c */
void tracee_new_child(struct tracer *me, struct child *t);
/* Gives an order, and sees it through to the next stop, or to the end. */
void run(struct tracer *me, struct child *t, enum what what, uint64_t arg);
/* It is dead, or about to be: waits for that. */
void tracee_bury(struct tracer *me, struct child *t);
void tracee_kill(struct tracer *me, struct child *t);
void detach_and_attach(struct tracer *me, struct child *t);

#endif /* BTS_STRESS_TRACER_H */
