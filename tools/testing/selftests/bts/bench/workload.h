/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_BENCH_WORKLOAD_H
#define BTS_BENCH_WORKLOAD_H

#include <stdbool.h>

/* Signal handlers and memory; before anything is traced. */
void workload_prepare(void);

#define WORKLOAD_FORK	1
#define WORKLOAD_TIMER	2	/* what depends on the time, such as how often a branch comes */

/*
 * One round of signals, faults, traps, far transfers, system calls of three
 * kinds and what is asked for. Returns false if something of it did not come
 * about.
 */
bool workload_faults(int with);

/* One round of work for the kernel: switches, sleep, memory, files. */
bool workload_kernel(void);

#endif
