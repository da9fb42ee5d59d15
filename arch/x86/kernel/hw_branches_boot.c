// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: what x86 keeps over a reboot
 *
 * The Debug Store and the buffer of BTS are in the memory that is kept. So after any reset,
 * even if no code ran before it, the branches up to the reset are there. Last branch records
 * are in registers, which a reset clears. They are kept only if the kernel itself finds that
 * it has crashed.
 *
 * The ring of a context is not kept: records that were moved there for a traced task are lost.
 */

#include <linux/array_size.h>
#include <linux/hw_branches.h>
#include <linux/init.h>
#include <linux/jhash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include <asm/hw_branches.h>

#include "bts_ds_boot.h"
#include "hw_branches_lbr.h"

/**
 * struct hw_branches_boot_lbr - the last branch records of a CPU
 * @sum:	the checksum of the fields below
 * @nr:		the number of branches; 0 if there are none
 * @branch:	the branches, the newest first
 */
struct hw_branches_boot_lbr {
	u32			sum;
	u32			nr;
	struct hw_branch	branch[HW_BRANCHES_LBR_MAX];
};

/**
 * struct hw_branches_boot_slot - the memory of a CPU
 * @lbr:	its last branch records
 * @bts:	its Debug Store
 */
struct hw_branches_boot_slot {
	struct hw_branches_boot_lbr	lbr __aligned(PAGE_SIZE);
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

	memset(&slot->lbr, 0, sizeof(slot->lbr));
	bts_ds_boot_use(cpu, &slot->bts);
}

static u32 hw_branches_boot_sum(const struct hw_branches_boot_lbr *lbr)
{
	return jhash(&lbr->nr, sizeof(*lbr) - offsetof(struct hw_branches_boot_lbr, nr), 0);
}

void arch_hw_branches_boot_keep(unsigned int cpu, void *memory)
{
	struct hw_branches_boot_lbr *lbr = &((struct hw_branches_boot_slot *)memory)->lbr;
	struct hw_branches_place place = { };

	if (!static_branch_unlikely(&hw_branches_lbr_used))
		return;

	lbr->nr = arch_hw_branches_last(cpu, &place, 0, lbr->branch, ARRAY_SIZE(lbr->branch));
	lbr->sum = hw_branches_boot_sum(lbr);
}

u32 arch_hw_branches_boot_read(const void *memory, struct hw_branch *out)
{
	const struct hw_branches_boot_slot *slot = memory;
	u32 got = bts_ds_boot_read(&slot->bts, out);

	if (got)
		return got;
	if (slot->lbr.nr > HW_BRANCHES_LBR_MAX ||
	    slot->lbr.sum != hw_branches_boot_sum(&slot->lbr))
		return 0;
	memcpy(out, slot->lbr.branch, slot->lbr.nr * sizeof(*out));

	return slot->lbr.nr;
}
