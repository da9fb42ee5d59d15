/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stores code that exists in memory only, by pages: code of a recorded trace that is read or
 * written
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
