/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_BTS_DS_PEEK_H
#define _ARCH_X86_KERNEL_BTS_DS_PEEK_H

#include <linux/types.h>

struct bts_raw;
struct debug_store;

bool ds_bts_peek(int cpu, bool circular, u32 newer, struct bts_raw *rec);
bool ds_bts_peek_copy(const struct debug_store *store, const void *buffer, u32 newer,
		      struct bts_raw *rec);

#endif /* _ARCH_X86_KERNEL_BTS_DS_PEEK_H */
