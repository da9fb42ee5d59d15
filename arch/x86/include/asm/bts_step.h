/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_BTS_STEP_H
#define _ASM_X86_BTS_STEP_H

/* Tracing the branches of user mode by single-stepping: see bts_step.c. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/processor-flags.h>
#include <asm/ptrace.h>
#include <asm/segment.h>

#ifdef CONFIG_X86_BTS_STEP

/**
 * enum bts_step_state - the state of the current task of a CPU
 * @BTS_STEP_OFF:	bts_step.c does not trace the task
 * @BTS_STEP_IN_KERNEL:	the trace has started or resumed, and the task is still in the kernel
 * @BTS_STEP_RUNS:	the task is in user mode, or about to be, with TF set for the trace
 * @BTS_STEP_ENTERED:	the task has entered the kernel, and this entry is not recorded yet
 * @BTS_STEP_READS:	bts_step_debug_odd() handles the #DB of a step, and may enable interrupts
 * @BTS_STEP_FOLLOWS:	the task returns to user mode from a #DB whose only reason was the step
 */
enum bts_step_state {
	BTS_STEP_OFF,
	BTS_STEP_IN_KERNEL,
	BTS_STEP_RUNS,
	BTS_STEP_ENTERED,
	BTS_STEP_READS,
	BTS_STEP_FOLLOWS,
};

/* The length of the longest instruction, in bytes */
#define BTS_STEP_LONGEST	15

/**
 * struct bts_step - the last step of user mode on this CPU
 * @plain_cs:	@cs if the fast path can handle the step: @tf and @r11 are 0, and @cs is a
 *		flat segment; otherwise 0
 * @blind:	with FRED and @tf: the #DB comes before the instruction at @ip is executed
 * @tf:		TF as the program or its debugger has set it
 * @raw:	EFLAGS at the entry into the kernel, with TF as it was in user mode
 * @ip:		the instruction pointer at the start of the step
 * @base:	the base of the code segment
 * @cs:		the code segment
 * @r11:	R11, if the entry seems to be a system call that has stored TF there; otherwise 0
 *
 * All members are changed with interrupts off.
 */
struct bts_step {
	unsigned long	plain_cs;
	bool		blind;
	unsigned long	tf;
	unsigned long	raw;
	unsigned long	ip;
	unsigned long	base;
	unsigned long	cs;
	unsigned long	r11;
};

DECLARE_PER_CPU(struct bts_step, bts_step);
DECLARE_PER_CPU(u8, bts_step_state);

void bts_step_exit(struct pt_regs *regs);
bool bts_step_debug(struct pt_regs *regs, unsigned long *dr6);

/**
 * bts_step_enter - restore TF as the program or its debugger has set it, at an entry to the kernel
 * @regs: the registers of user mode
 *
 * Inlined, as a call would make each entry of an untraced task save registers.
 */
static __always_inline void bts_step_enter(struct pt_regs *regs)
{
	unsigned long own = raw_cpu_read(bts_step.tf);

	raw_cpu_write(bts_step_state, BTS_STEP_ENTERED);
	raw_cpu_write(bts_step.raw, regs->flags);
#ifdef CONFIG_X86_64
	/*
	 * SYSCALL stores the flags in R11, with TF. If this entry looks like a SYSCALL, restore
	 * TF there, too. It looks like one if R11 equals the flags, and RAX is -ENOSYS. In
	 * 64-bit code, RCX must also equal RIP, and RIP must be 2 to 30 bytes after the start of
	 * the step: SYSCALL is two bytes long, plus prefixes, and a MOV SS before it belongs to
	 * the same step. If this entry was not a SYSCALL but the #DB of a step, bts_step_debug()
	 * restores R11.
	 */
	if (unlikely(regs->r11 == regs->flags && regs->ax == (unsigned long)-ENOSYS &&
		     (regs->cs != __USER_CS ||
		      (regs->cx == regs->ip && regs->ip - raw_cpu_read(bts_step.ip) - 2 <=
					       2 * BTS_STEP_LONGEST - 2)))) {
		raw_cpu_write(bts_step.r11, regs->r11);
		raw_cpu_write(bts_step.plain_cs, 0);
		regs->r11 = (regs->r11 & ~X86_EFLAGS_TF) | own;
	}
#endif
	regs->flags = (regs->flags & ~X86_EFLAGS_TF) | own;
}

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
