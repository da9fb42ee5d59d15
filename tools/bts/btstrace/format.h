/* SPDX-License-Identifier: GPL-2.0 */
/* Disassembles instructions with Zydis. */
#ifndef BTSTRACE_FORMAT_H
#define BTSTRACE_FORMAT_H

#include "bt.h"

size_t bt_format(const u8 *bytes, size_t n, u64 addr, bool is64, char *buf, size_t len);

#endif
