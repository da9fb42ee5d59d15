/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_BTS_STEP_H
#define _ASM_X86_BTS_STEP_H

#include <linux/compiler_types.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct pt_regs;

#ifdef CONFIG_X86_BTS_STEP

/**
 * enum bts_step_state - where the current task of a CPU is, if bts_step.c traces it
 * @BTS_STEP_OFF:	it does not
 * @BTS_STEP_AWAY:	in the kernel, for whatever it is
 * @BTS_STEP_RUNS:	in user mode, with TF set for the trace
 * @BTS_STEP_LEFT:	it has left that, and no record tells of it yet
 * @BTS_STEP_FOLLOWS:	it goes back, as it came for no more than the #DB of its step
 */
enum bts_step_state {
	BTS_STEP_OFF,
	BTS_STEP_AWAY,
	BTS_STEP_RUNS,
	BTS_STEP_LEFT,
	BTS_STEP_FOLLOWS,
};

DECLARE_PER_CPU(u8, bts_step_state);

void bts_step_enter(struct pt_regs *regs);
void bts_step_exit(struct pt_regs *regs);
bool bts_step_debug(struct pt_regs *regs, unsigned long *dr6);

static __always_inline void bts_step_enter_from_user_mode(struct pt_regs *regs)
{
	if (unlikely(raw_cpu_read(bts_step_state) == BTS_STEP_RUNS))
		bts_step_enter(regs);
}

static __always_inline void bts_step_exit_to_user_mode(struct pt_regs *regs)
{
	if (unlikely(raw_cpu_read(bts_step_state) != BTS_STEP_OFF))
		bts_step_exit(regs);
}

#else

static __always_inline void bts_step_enter_from_user_mode(struct pt_regs *regs) { }
static __always_inline void bts_step_exit_to_user_mode(struct pt_regs *regs) { }
static __always_inline bool bts_step_debug(struct pt_regs *regs, unsigned long *dr6)
{
	return false;
}

#endif /* CONFIG_X86_BTS_STEP */
#endif /* _ASM_X86_BTS_STEP_H */
