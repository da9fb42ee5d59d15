/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files for the oracle (../oracle), a program on the host that compares branch records with the
 * instructions that the emulator has logged.
 */
#ifndef BTS_GUEST_HANDOVER_H
#define BTS_GUEST_HANDOVER_H

#include <stdbool.h>

#include "traced.h"

/*
 * Save memory to the file @name in the directory of the test case, through the emulator's monitor.
 * @code: true if it has code, for the oracle to decode; false if it has the records to check.
 * Returns false on an error.
 */
bool hand_over(const char *name, u64 addr, u64 size, bool code);

/* Hand over the code of this program, of the vDSO and of the kernel. Returns false on an error. */
bool hand_over_code(void);
/* Hand over the code of a module. Returns false on an error. */
bool hand_over_module(const char *module);

/* Append an option to the oracle's arguments. @option begins with a space. */
void hand_over_option(const char *option);

/* Print the oracle's arguments, with the names of all saved files. The host runs the oracle. */
void hand_over_arguments(void);

#endif
