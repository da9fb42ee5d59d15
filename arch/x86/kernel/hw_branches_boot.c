// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: the branches that x86 keeps over a reboot
 *
 * If memory is reserved for this (see trace_hw_branches_boot.c), the Debug Store and the buffer of
 * BTS are in that memory. So the branches up to a reset can be read after the reset, even if the
 * kernel did not notice that the reset was about to come. Last branch records are in registers. A
 * reset may clear them, and the next boot does not read them. So they are copied to the reserved
 * memory when their CPU is frozen, for example in a crash. An orderly reboot or kexec erases the
 * branches of both kinds in the reserved memory, unless the kernel crashes while it shuts down the
 * devices. BTS may write branches of the rest of the shutdown after that.
 *
 * If BTS also traces a task, the records of a CPU on which this task runs are moved from the buffer
 * to a ring in other memory. A reboot loses the records in the ring.
 */

#include <linux/hw_branches.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/hw_branches.h>

#include "bts_ds_boot.h"
#include "hw_branches_lbr.h"
#include "hw_branches_source.h"

/**
 * struct hw_branches_boot_slot - the memory of a CPU that is kept over a reboot
 * @lbr:	the last branch records of the CPU
 * @uses_bts:	1 if the recorder used BTS of this CPU
 * @bts:	the Debug Store of the CPU
 */
struct hw_branches_boot_slot {
	struct hw_branches_lbr_saved	lbr __aligned(PAGE_SIZE);
	u32				uses_bts;
	struct bts_ds_boot		bts;
};

size_t arch_hw_branches_boot_size(void)
{
	return sizeof(struct hw_branches_boot_slot);
}

u32 arch_hw_branches_boot_most(void)
{
	return max(bts_ds_boot_most(), HW_BRANCHES_LBR_MAX);
}

void __init arch_hw_branches_boot_use(unsigned int cpu, void *memory)
{
	struct hw_branches_boot_slot *slot = memory;

	hw_branches_lbr_use_memory(cpu, &slot->lbr);
	hw_branches_bts_use_memory(cpu, &slot->uses_bts);
	bts_ds_boot_use(cpu, &slot->bts);
}

/*
 * Leave the page with the positions of BTS as it is: the hardware may still use it. It has
 * addresses of the buffer, and no branches.
 */
void arch_hw_branches_boot_erase(void *memory)
{
	struct hw_branches_boot_slot *slot = memory;

	memset(&slot->lbr, 0, sizeof(slot->lbr));
	slot->uses_bts = 0;
	memset(slot->bts.buffer, 0, sizeof(slot->bts.buffer));
}

/*
 * If the recorder did not use BTS, the branches in the Debug Store are those of another user of
 * the Debug Store, for example of a traced task.
 */
u32 arch_hw_branches_boot_read(const void *memory, struct hw_branch *out, const char **source)
{
	const struct hw_branches_boot_slot *slot = memory;
	u32 got = hw_branches_lbr_read(&slot->lbr, 0, out, HW_BRANCHES_LBR_MAX);

	*source = got ? "lbr" : "bts";
	if (!got && slot->uses_bts == 1)
		got = bts_ds_boot_read(&slot->bts, out);

	return got;
}
