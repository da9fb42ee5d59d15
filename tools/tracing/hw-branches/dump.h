/* SPDX-License-Identifier: GPL-2.0 */
/* The dump of a crashed kernel. */
#ifndef HW_BRANCHES_DUMP_H
#define HW_BRANCHES_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open a dump in ELF format. On any error, say so and exit. */
void open_dump(const char *path);
/* Read the value of a line "KEY=VALUE" of VMCOREINFO. Returns false if there is no such line. */
bool find_value(const char *key, int base, uint64_t *value);
/* Like find_value(), but return the value. If there is no such line, say so and exit. */
uint64_t value_of(const char *key, int base);
/*
 * Read memory of the crashed kernel at the virtual address @at. Returns false if no segment of the
 * dump has all of it, or if it cannot be read from the file.
 */
bool read_kernel(uint64_t at, void *buf, size_t size);

#endif
