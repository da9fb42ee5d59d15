/* SPDX-License-Identifier: GPL-2.0 */
/* Reads lines of source files. */
#ifndef BTSTRACE_SOURCE_H
#define BTSTRACE_SOURCE_H

#include "bt.h"

const char *bt_source_line(const char *path, int line);
void bt_source_free(void);

#endif
