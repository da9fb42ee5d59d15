/* SPDX-License-Identifier: GPL-2.0 */
/* The last branch records of this machine, in each of their formats. */
#ifndef BTS_RING0_LBRS_H
#define BTS_RING0_LBRS_H

#include <stdbool.h>

/* Intel's models, architectural, or AMD's */
const char *lbr_format(void);
/* Are the LBRs of a CPU enabled? And do they have the filter of the recorder? */
bool lbr_enabled(int cpu);
bool lbr_of_kernel(int cpu);
bool lbr_unfiltered(int cpu);
/* Are all records of a CPU erased? */
bool lbr_wiped(int cpu, int depth);
/*
 * While the recorder is on, change the filter of all CPUs to leave out some kinds of branches.
 * Returns false for an unknown word, or if the kernel would undo it.
 */
bool lbr_leave_out(const char *what);

#endif
