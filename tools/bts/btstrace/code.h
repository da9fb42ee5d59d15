/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stores copies of pages of code that is in no file, or that may have changed, such as JIT code
 * and the kernel. A recorded trace contains this code.
 */
#ifndef BTSTRACE_CODE_H
#define BTSTRACE_CODE_H

#include "bt.h"

struct bt_code;

struct bt_code *bt_code_new(void);
void bt_code_free(struct bt_code *code);
bool bt_code_put(struct bt_code *code, u64 addr, const u8 *bytes, size_t len);
size_t bt_code_read(const struct bt_code *code, u64 addr, u8 *buf, size_t n);
bool bt_code_first_in_batch(struct bt_code *code, u64 addr, u32 batch);

#endif
