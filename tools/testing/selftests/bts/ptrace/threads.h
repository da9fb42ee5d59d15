/* SPDX-License-Identifier: GPL-2.0 */
/* Many threads of one tracee, each with its own trace. */
#ifndef BTS_PTRACE_THREADS_H
#define BTS_PTRACE_THREADS_H

#include "../guest/tracee.h"

/* Each thread of threads_run() calls known_work(THREADS_WORK), and then sleeps for ever. */
#define THREADS_WORK	60

/* Start a tracee with a trace of @room records. Its threads inherit: each gets such a trace. */
struct tracee threads_new(unsigned int room);
/*
 * Start @nr threads, and wait for their known_work(). Stores their pids in @pids. Returns their
 * number.
 */
unsigned int threads_run(const struct tracee *t, pid_t *pids, unsigned int nr);

#endif
