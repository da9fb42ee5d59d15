/* SPDX-License-Identifier: GPL-2.0 */
/* Make the allocations and user copies of a system call fail in turn, by /proc/PID/fail-nth. */
#ifndef BTS_GUEST_NTH_H
#define BTS_GUEST_NTH_H

#include "tracee.h"

/* From now on, nth_arm() affects the calling thread. */
void nth_open(void);
/* Count calls of functions with fault injection from now on: the @n-th one fails. 0: none fails. */
void nth_arm(unsigned int n);
/* Disarm. Returns true if nth_arm()'s failure did not happen before this call. */
bool nth_out_of_reach(void);

/* The result of nth_fork(), which runs in the tracee. */
struct nth_fork {
	long ret;
	bool out_of_reach;
};

/* In memory that tracer and tracee share. */
extern struct nth_fork *nth_forked;

/* Start a traced tracee, with @flags and @size of the trace. Its children inherit the trace. */
struct tracee nth_forking_tracee(uint32_t flags, uint32_t size);
/*
 * Called by the tracee: call nth_arm(@n), fork, and store the result in nth_forked. The child has
 * no exit signal.
 */
void nth_fork(unsigned long n);
/*
 * Let the tracee call @what(@arg), a function that forks. Kill the child. Returns 1 if the child
 * had a trace, 0 if the child had none, -1 if the fork failed.
 */
int nth_let_fork(const struct tracee *t, void (*what)(unsigned long), unsigned long arg);

#endif /* BTS_GUEST_NTH_H */
