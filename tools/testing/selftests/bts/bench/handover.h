/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_BENCH_HANDOVER_H
#define BTS_BENCH_HANDOVER_H

#include <stdbool.h>

#include "traced.h"

/*
 * Leaves memory in a file of the case, through the emulator's monitor: code for
 * the oracle to decode, or the records that it is to judge.
 */
bool hand_over(const char *name, u64 addr, u64 size, bool code);

/* The code of this program, of the vDSO and of the kernel. */
bool hand_over_code(void);
/* The code of a module. */
bool hand_over_module(const char *module);

/* Another option for the oracle, behind a space. */
void hand_over_option(const char *option);

/* The line that tells which files are what. */
void hand_over_arguments(void);

#endif
