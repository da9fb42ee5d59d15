/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of which one place after the other fails that can: /proc/PID/fail-nth */
#ifndef BTS_PTRACE_NTH_H
#define BTS_PTRACE_NTH_H

#include "common.h"

/* Only what this process does can fail so, after this. */
void nth_open(void);
/* The @n-th place that can fail does, once; 0 for none */
void nth_arm(unsigned int n);
/* Was it not reached? None fails from now on. */
bool nth_out_of_reach(void);

/* What a tracee says of its fork */
struct nth_fork {
	long ret;
	bool out_of_reach;
};

/* Memory of both */
extern struct nth_fork *nth_forked;

/* A tracee whose children inherit a trace of @size bytes, recorded with @flags */
struct tracee nth_forking_tracee(uint32_t flags, uint32_t size);
/* For the tracee: a fork whose end is no signal to anybody, its @n-th place failing */
void nth_fork(unsigned long n);
/* Lets the tracee fork. Returns 1 for a child with a trace, 0 without, -1 for none. */
int nth_let_fork(const struct tracee *t, void (*what)(unsigned long), unsigned long arg);

#endif /* BTS_PTRACE_NTH_H */
