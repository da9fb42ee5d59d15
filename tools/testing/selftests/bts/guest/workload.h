/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_GUEST_WORKLOAD_H
#define BTS_GUEST_WORKLOAD_H

#include <stdbool.h>

/* Install signal handlers, and reserve addresses for faults. Call it before workload_faults(). */
void workload_prepare(void);

#define WORKLOAD_FORK	1
#define WORKLOAD_TIMER	2	/* the parts whose branches depend on time */

/*
 * Do a round of signals, faults, traps, far transfers, system calls, and the optional parts in
 * @with (WORKLOAD_*). Returns false on an error, for example if an expected signal did not come.
 */
bool workload_faults(int with);

/*
 * Do a round of work in the kernel: sleep, context switches, reads of files, page faults. Returns
 * false on an error.
 */
bool workload_kernel(void);

#endif
