/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_GUEST_HANDOVER_H
#define BTS_GUEST_HANDOVER_H

#include <stdbool.h>

#include "traced.h"

/*
 * Save memory to a file in the directory of the case, through the emulator's monitor: code for
 * the oracle to decode if @code, otherwise records for it to check.
 */
bool hand_over(const char *name, u64 addr, u64 size, bool code);

/* Hand over the code of this program, of the vDSO and of the kernel. */
bool hand_over_code(void);
/* Hand over the code of a module. */
bool hand_over_module(const char *module);

/* Add an option for the oracle. @option begins with a space. */
void hand_over_option(const char *option);

/* Print the line with the arguments for the oracle, which names the files. */
void hand_over_arguments(void);

#endif
