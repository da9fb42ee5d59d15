/* SPDX-License-Identifier: GPL-2.0 */
/* Many threads of one tracee, each with its own trace. */
#ifndef BTS_PTRACE_THREADS_H
#define BTS_PTRACE_THREADS_H

#include "../guest/tracee.h"

/* The number that each thread passes to known_work(), before it sleeps for ever. */
#define THREADS_WORK	60

/* Start a tracee whose threads each get a ring of @room records. */
struct tracee threads_new(unsigned int room);
/* Start @nr threads, continue each from its first stop; returns how many there are. */
unsigned int threads_run(const struct tracee *t, pid_t *pids, unsigned int nr);

#endif
