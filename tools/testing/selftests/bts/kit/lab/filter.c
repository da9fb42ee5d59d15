// SPDX-License-Identifier: GPL-2.0
/*
 * Find out which branches between user mode and the kernel pass the filter by privilege level. The
 * caller makes system calls on one CPU between lab_filter_start() and lab_filter_look(). Page-table
 * isolation does not matter, as the buffer is mapped in both sets of page tables.
 */
#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/processor.h>
#include <linux/smp.h>

#include <asm/intel_ds.h>

#include "internal.h"

#define ROOM(size)	(BTS_BUFFER_SIZE / (size))

int lab_filter_start(bool off_os)
{
	/* With BTINT, a full buffer keeps its oldest records. The threshold is never reached. */
	u64 bits = DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS | DEBUGCTLMSR_BTINT;
	u32 size = lab_record_size();
	unsigned long flags;

	if (off_os && !boot_cpu_has(X86_FEATURE_DSCPL))
		return -EOPNOTSUPP;
	if (off_os)
		bits |= DEBUGCTLMSR_BTS_OFF_OS;
	local_irq_save(flags);
	lab_reset_store(ROOM(size), (ROOM(size) + 1) * size, 0);
	lab_kernel.write(lab_bts_bits(bits));
	local_irq_restore(flags);
	return 0;
}

static bool is_kernel(u64 addr)
{
	return addr >= TASK_SIZE_MAX;
}

int lab_filter_look(struct kit_filter *found)
{
	unsigned long flags;
	u64 from, to;
	u32 i;

	local_irq_save(flags);
	lab_kernel.write(0);
	for (i = 0; i < ROOM(lab_record_size()); i++) {
		from = lab_word(i, 0);
		to = lab_word(i, 1);
		if (!from && !to)
			continue;
		if (to == found->after) {
			found->returns++;
			found->good += is_kernel(from);
			if (!is_kernel(from))
				found->wrong = from;
		}
		if (is_kernel(from) && is_kernel(to))
			found->kernel++;
		else if (is_kernel(to))
			found->enters++;
		else if (is_kernel(from))
			found->leaves++;
		else
			found->user++;
	}
	local_irq_restore(flags);
	return 0;
}
