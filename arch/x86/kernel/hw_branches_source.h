/* SPDX-License-Identifier: GPL-2.0 */
/* The functions by which hw_branches.c calls the sources of the branch flight recorder */
#ifndef _X86_KERNEL_HW_BRANCHES_SOURCE_H
#define _X86_KERNEL_HW_BRANCHES_SOURCE_H

#include <linux/types.h>

struct cpumask;
struct hw_branch;
struct hw_branches_cursor;

/**
 * struct hw_branches_source - hardware that records the last branches
 * @name:	the name that root writes to hw_branches/enable
 * @depth:	see arch_hw_branches_depth()
 * @start:	see arch_hw_branches_start()
 * @stop:	see arch_hw_branches_stop()
 * @thaw:	see arch_hw_branches_thaw()
 * @copy:	see arch_hw_branches_copy()
 * @freeze:	see arch_hw_branches_freeze()
 * @freezes:	see arch_hw_branches_freezes()
 * @frozen:	see arch_hw_branches_frozen()
 * @frozen_at:	see arch_hw_branches_frozen_at()
 * @outdated:	see arch_hw_branches_outdated()
 * @last:	see arch_hw_branches_last()
 *
 * There are no pointers for hold and release, which hw_branches.c calls directly: the branches of
 * an indirect call could overwrite those before a crash.
 */
struct hw_branches_source {
	const char	*name;
	u32		(*depth)(void);
	int		(*start)(int cpu);
	void		(*stop)(const struct cpumask *cpus);
	void		(*thaw)(u32 freezes);
	int		(*copy)(int cpu, struct hw_branch *out, u32 n);
	void		(*freeze)(bool fresh);
	u32		(*freezes)(void);
	bool		(*frozen)(int cpu);
	u64		(*frozen_at)(int cpu);
	bool		(*outdated)(int cpu);
	u32		(*last)(int cpu, struct hw_branches_cursor *cursor, u32 newer,
				struct hw_branch *out, u32 n);
};

extern const struct hw_branches_source hw_branches_lbr;

void hw_branches_bts_use_memory(unsigned int cpu, u32 *note);

#endif /* _X86_KERNEL_HW_BRANCHES_SOURCE_H */
