/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeps the functions that just-in-time compilers list for perf and other tools, in
 * /tmp/perf-PID.map or in a jitdump file.
 */
#ifndef BTSTRACE_JIT_H
#define BTSTRACE_JIT_H

#include "function.h"

struct bt_jit;

void bt_jit_add(struct bt_jit **jit, const char *text, size_t len);
const struct bt_function *bt_jit_function(const struct bt_jit *jit, u64 addr);
void bt_jit_free(void);

#endif
