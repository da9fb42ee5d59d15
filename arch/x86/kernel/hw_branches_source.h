/* SPDX-License-Identifier: GPL-2.0 */
/* The sources of the branch flight recorder: what hw_branches.c calls. */
#ifndef _X86_KERNEL_HW_BRANCHES_SOURCE_H
#define _X86_KERNEL_HW_BRANCHES_SOURCE_H

#include <linux/types.h>

struct cpumask;
struct hw_branch;
struct hw_branches_place;

/**
 * struct hw_branches_source - hardware that records the last branches
 * @name:	as root writes it to hw_branches/enable
 * @given_up:	has perf the hardware? NULL for a source that perf does not get
 *
 * The other functions are those of <linux/hw_branches.h> without arch_hw_branches_.
 * hw_branches.c itself dispatches hold and release, without an indirect call: its
 * branches would take the place of those before a crash.
 */
struct hw_branches_source {
	const char	*name;
	bool		(*given_up)(void);
	u32		(*depth)(void);
	int		(*start)(int cpu);
	void		(*stop)(const struct cpumask *cpus);
	void		(*thaw)(u32 freezes);
	int		(*copy)(int cpu, struct hw_branch *out, u32 n);
	void		(*freeze)(void);
	u32		(*freezes)(void);
	bool		(*frozen)(int cpu);
	u64		(*frozen_at)(int cpu);
	u32		(*last)(int cpu, struct hw_branches_place *place, u32 newer,
				struct hw_branch *out, u32 n);
};

extern const struct hw_branches_source hw_branches_lbr;

#endif /* _X86_KERNEL_HW_BRANCHES_SOURCE_H */
