/* SPDX-License-Identifier: GPL-2.0 */
/* Access to the last branch records (LBRs) of this machine, whichever format they have. */
#ifndef BTS_GUEST_LBRS_H
#define BTS_GUEST_LBRS_H

#include <stdbool.h>

/* Returns "arch" for architectural LBRs, "amd" for AMD's, otherwise "model". */
const char *lbr_format(void);
bool lbr_enabled(int cpu);
/*
 * Returns whether a CPU's LBRs are enabled with the flight recorder's filter, if they have a
 * filter: the kernel only.
 */
bool lbr_of_kernel(int cpu);
/* Returns whether a CPU has the recorder's filter. True if the LBRs have no filter register. */
bool lbr_filtered(int cpu);
/* Returns whether the addresses in the first @depth records of a CPU are 0. */
bool lbr_wiped(int cpu, int depth);
/*
 * While the recorder is on, change the filter of all CPUs to leave out the kinds of branches that
 * the word @what selects: see kinds[] in lbrs.c. Returns false for an unknown word, and for
 * architectural LBRs, whose filter the kernel restores.
 */
bool lbr_leave_out(const char *what);

#endif
