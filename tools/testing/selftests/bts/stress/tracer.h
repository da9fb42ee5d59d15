/* SPDX-License-Identifier: GPL-2.0 */
/* A tracer of the fuzzer, its tracees, and what it does to them. */
#ifndef BTS_STRESS_TRACER_H
#define BTS_STRESS_TRACER_H

#include "model.h"

/**
 * struct role - the kind of a tracer
 * @name:	for messages
 * @uid:	its user; 0 has all capabilities
 * @userns: it makes its own user namespace
 * @pidns: it is the first process of its own PID namespace
 */
struct role {
	const char *name;
	uint32_t uid;
	bool userns;
	bool pidns;
};

extern const struct role roles[NR_TRACERS];

/**
 * struct child - a tracee
 * @pid:		its pid in the tracer's PID namespace; 0 if there is no tracee
 * @shared:	its public state
 * @model:	the model of its trace
 * @signals:	bit N - 1: signal N may come because a trace is or was full
 * @own:		its tracer forked it, not another tracee
 * @changing:	@model.dumpable and @model.foreign may be changing to the values below
 * @dumpable:	the new value of @model.dumpable
 * @foreign:	the new value of @model.foreign
 * @exiting:	it has reached its last stop, PTRACE_EVENT_EXIT
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

/* run.c */
bool tracee_was_killed(const struct child *t);
/* Publish that the tracee's trace, and what is charged for it, may change until charge(). */
void trace_may_change(struct child *t);
/* Publish the pages that are charged for the trace, and whether perf can take its hardware. */
void charge(struct child *t);

/* request.c */
void buffers_init(void);
void fuzz_request(struct tracer *me, struct child *t);
/* Read the status and compare it with the model. Returns false if the request fails. */
bool look(struct tracer *me, struct child *t);
/* Request a new trace. The kernel may refuse it, e.g. at a limit. */
void fuzz_new_trace(struct tracer *me, struct child *t);
/* Check that GET, READ and DRAIN return the same records. */
void read_twice(struct tracer *me, struct child *t);
long make_request(struct tracer *me, struct child *t, struct request *r);

/* view.c */
struct views {
	struct view view[24];
	int nr;
};

/*
 * Collect the states in which the rest of the system may have been during a request, or during the
 * fork of a tracee. Call views_begin() before it, and views_end() after it.
 */
void views_begin(struct tracer *me);
void views_end(struct tracer *me, struct views *out);
unsigned long pages_used(struct tracer *me, bool most);

/* run.c */
void tracee_new_child(struct tracer *me, struct child *t);
/* Give the tracee an order. Handle its stops until it has completed the order, or ends. */
void run(struct tracer *me, struct child *t, enum what what, uint64_t arg);
/* Wait for the end of a tracee that is dead or about to die. */
void tracee_bury(struct tracer *me, struct child *t);
void tracee_kill(struct tracer *me, struct child *t);
void detach_and_attach(struct tracer *me, struct child *t);

#endif /* BTS_STRESS_TRACER_H */
