/* SPDX-License-Identifier: GPL-2.0 */
/* Prints the lines of the crash view, for out_crash.c. */
#ifndef BTSTRACE_CRASH_PRINT_H
#define BTSTRACE_CRASH_PRINT_H

#include "crash.h"

void crash_print(struct bt_text *t, const struct crash_lines *lines, size_t width, bool color);

#endif
