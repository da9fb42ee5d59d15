/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_BENCH_WORKLOAD_H
#define BTS_BENCH_WORKLOAD_H

#include <stdbool.h>

/* Signal handlers and memory; before anything is traced. */
void workload_prepare(void);

/*
 * One round of signals, faults, traps, far transfers, system calls of three
 * kinds and, if asked for, a fork. Returns false if something of it did not
 * come about.
 */
bool workload_faults(bool with_fork);

/* One round of work for the kernel: switches, sleep, memory, files. */
bool workload_kernel(void);

#endif
