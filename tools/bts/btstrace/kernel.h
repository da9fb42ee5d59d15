/* SPDX-License-Identifier: GPL-2.0 */
/* Reads functions and code of the running kernel. */
#ifndef BTSTRACE_KERNEL_H
#define BTSTRACE_KERNEL_H

#include "function.h"

void bt_kernel_use(bool same);
const char *bt_kernel_boot(char *id, size_t len);
const struct bt_function *bt_kernel_function(u64 addr);
size_t bt_kernel_read(u64 addr, void *buf, size_t n);
void bt_kernel_free(void);

#endif
