// SPDX-License-Identifier: GPL-2.0
/* Make allocations of one page order fail for one task. */
#include <linux/kprobes.h>
#include <linux/sched.h>

#include "internal.h"

static struct task_struct *refused;
static unsigned int refused_order;

static noinline void *return_null(void)
{
	return NULL;
}

static int refuse(struct kprobe *p, struct pt_regs *regs)
{
	if (current != refused || regs_get_kernel_argument(regs, 1) != refused_order)
		return 0;
	instruction_pointer_set(regs, (unsigned long)return_null);
	return 1;
}

/*
 * A kprobe without a post handler may be optimized into a jump. Then refuse() could not change
 * regs->ip.
 */
static void nothing_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe;

int lab_refuse(unsigned int order)
{
	static const char frozen[] = "__alloc_frozen_pages_noprof";
	int err;

	if (refused)
		unregister_kprobe(&probe);
	refused = NULL;
	if (!order)
		return 0;
	refused_order = order;
	/* A struct kprobe that was registered before must be initialized again. */
	probe = (struct kprobe){
		/* In newer kernels, allocations may skip __alloc_pages_noprof(). */
		.symbol_name	= lab_symbol(frozen) ? frozen : "__alloc_pages_noprof",
		.pre_handler	= refuse,
		.post_handler	= nothing_after,
	};
	err = register_kprobe(&probe);
	if (!err)
		refused = current;
	return err;
}
