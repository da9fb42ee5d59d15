/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_BTS_DS_BOOT_H
#define _ARCH_X86_KERNEL_BTS_DS_BOOT_H

#include <linux/mm.h>
#include <linux/types.h>

#include <asm/intel_ds.h>

struct hw_branch;

/**
 * struct bts_ds_boot - the Debug Store of a CPU in memory that is kept over a reboot
 * @store:	the positions
 * @buffer:	the buffer of BTS
 */
struct bts_ds_boot {
	struct debug_store	store __aligned(PAGE_SIZE);
	u8			buffer[BTS_BUFFER_SIZE] __aligned(PAGE_SIZE);
};

void bts_ds_boot_use(unsigned int cpu, struct bts_ds_boot *memory);
u32 bts_ds_boot_most(void);
u32 bts_ds_boot_read(const struct bts_ds_boot *memory, struct hw_branch *out);

#endif /* _ARCH_X86_KERNEL_BTS_DS_BOOT_H */
