/* SPDX-License-Identifier: GPL-2.0 */
/* Fail one place after the other in a system call, with /proc/PID/fail-nth. */
#ifndef BTS_GUEST_NTH_H
#define BTS_GUEST_NTH_H

#include "tracee.h"

/* From now on, nth_arm() affects the calling process. */
void nth_open(void);
/* Let the @n-th call fail, once, of those that fault injection knows; 0 disarms. */
void nth_arm(unsigned int n);
/* Returns whether the @n-th call was not reached, and disarms. */
bool nth_out_of_reach(void);

/* The result of nth_fork() in the tracee. */
struct nth_fork {
	long ret;
	bool out_of_reach;
};

/* Shared by tracer and tracee. */
extern struct nth_fork *nth_forked;

/* Start a tracee whose children inherit a trace of @size bytes with @flags. */
struct tracee nth_forking_tracee(uint32_t flags, uint32_t size);
/* Run in the tracee: fork with the @n-th call failing. The child has no exit signal. */
void nth_fork(unsigned long n);
/*
 * Let the tracee fork. Returns 1 for a child with a trace, 0 without one, -1 for no child.
 */
int nth_let_fork(const struct tracee *t, void (*what)(unsigned long), unsigned long arg);

#endif /* BTS_GUEST_NTH_H */
