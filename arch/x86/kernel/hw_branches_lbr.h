/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Last branch records (LBR) as a source of the branch flight recorder: the functions and variables
 * of hw_branches_lbr*.c. linux/hw_branches.h explains "freeze", "thaw" and "hold".
 */
#ifndef _X86_KERNEL_HW_BRANCHES_LBR_H
#define _X86_KERNEL_HW_BRANCHES_LBR_H

#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/bts.h>
#include <asm/perf_event.h>

#include "branch_freeze.h"

struct hw_branch;
struct pt_regs;
struct task_struct;

#define HW_BRANCHES_LBR_MAX	64

/**
 * struct hw_branches_lbr_saved - branches that hw_branches_lbr_save() has read from the registers
 * @nr:		the number of branches
 * @raw:	the addresses of the branches, the newest branch first, without flags
 */
struct hw_branches_lbr_saved {
	u32		nr;
	struct bts_raw	raw[HW_BRANCHES_LBR_MAX];
};

/**
 * struct hw_branches_lbr_cpu - the state of the recorder on a CPU
 * @frozen:	the CPU is frozen: it does not record until a thaw
 * @saved:	the CPU is frozen, and @kept can be read
 * @freeze:	the NMI by which another CPU requests the freeze of this CPU
 * @frozen_by:	the freeze that has frozen the CPU
 * @exception:	the pt_regs of the exception at whose entry @before_exception was saved; NULL if
 *		a freeze must not use @before_exception
 * @task:	the task that @exception has interrupted
 * @kept:	the last branches before the freeze, perhaps in memory that is kept over a reboot;
 *		empty while the CPU is not frozen
 * @before_exception: the last branches before @exception, which has no fixup and may be fatal
 * @for_reader:	the branches that hw_branches_lbr_last() has saved on this CPU for a reader
 */
struct hw_branches_lbr_cpu {
	bool				frozen;
	bool				saved;
	struct branch_freeze_nmi	freeze;
	struct branch_frozen_by		frozen_by;
	struct pt_regs			*exception;
	struct task_struct		*task;
	struct hw_branches_lbr_saved	*kept;
	struct hw_branches_lbr_saved	before_exception;
	struct hw_branches_lbr_saved	for_reader;
};

DECLARE_PER_CPU(struct hw_branches_lbr_cpu, hw_branches_lbr_cpu);

/* True while the recorder uses the LBRs of this CPU, even if the CPU is frozen or held */
DECLARE_PER_CPU(bool, hw_branches_lbr_records);

extern struct x86_lbr_stack hw_branches_lbr_stack;

void hw_branches_lbr_use_memory(unsigned int cpu, struct hw_branches_lbr_saved *memory);
u32 hw_branches_lbr_read(const struct hw_branches_lbr_saved *saved, u32 newer,
			 struct hw_branch *out, u32 n);

/**
 * hw_branches_lbr_decode - get the addresses of a record from the values of its registers
 * @stack:	the format of the registers
 * @from:	the value of the source register
 * @to:		the value of the target register
 * @raw:	where to store the addresses
 *
 * Return: true; false if a record of AMD does not have the bit "valid", for example because its
 * branch is on a mispredicted path, or has the bit "reserved".
 */
static inline bool hw_branches_lbr_decode(const struct x86_lbr_stack *stack, u64 from, u64 to,
					  struct bts_raw *raw)
{
	if ((to & stack->to_mask) != stack->to_taken)
		return false;

	raw->from = (s64)(from << stack->from_flags) >> stack->from_flags;
	raw->to = (s64)(to << stack->to_flags) >> stack->to_flags;

	return true;
}

/* In hw_branches_lbr_regs.c: */
void hw_branches_lbr_wipe(void);
void hw_branches_lbr_save(struct hw_branches_lbr_saved *out);

/* In hw_branches_lbr_freeze.c: */
void hw_branches_lbr_freeze(bool fresh);
u32 hw_branches_lbr_freezes(void);
bool hw_branches_lbr_frozen(int cpu);
u64 hw_branches_lbr_frozen_at(int cpu);
bool hw_branches_lbr_outdated(int cpu);
void hw_branches_lbr_thaw(u32 freezes);
void hw_branches_lbr_catch_up(void);
void hw_branches_lbr_forget_freezes(void);
int hw_branches_lbr_watch_nmis(void);

#endif /* _X86_KERNEL_HW_BRANCHES_LBR_H */
