/* SPDX-License-Identifier: GPL-2.0 */
/* Many threads of one tracee, each with a trace of its own */
#ifndef BTS_PTRACE_THREADS_H
#define BTS_PTRACE_THREADS_H

#include "common.h"

/* What each does in known_work(), before it sleeps for good. */
#define THREADS_WORK	60

/* A tracee whose threads each get a ring of so many records. */
struct tracee threads_new(unsigned int room);
/* Start them all, each from its first stop; returns how many there are. */
unsigned int threads_run(const struct tracee *t, pid_t *pids, unsigned int nr);

#endif
