/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_BTS_STEP_H
#define _ASM_X86_BTS_STEP_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/processor-flags.h>
#include <asm/ptrace.h>
#include <asm/segment.h>

#ifdef CONFIG_X86_BTS_STEP

/**
 * enum bts_step_state - where the current task of a CPU is, if bts_step.c traces it
 * @BTS_STEP_OFF:	it does not
 * @BTS_STEP_AWAY:	in the kernel, for whatever it is
 * @BTS_STEP_RUNS:	in user mode, with TF set for the trace
 * @BTS_STEP_LEFT:	it has left that, and no record tells of it yet
 * @BTS_STEP_READS:	it came for the #DB of its step, and no record tells of that yet
 * @BTS_STEP_FOLLOWS:	it goes back, as it came for no more than that
 */
enum bts_step_state {
	BTS_STEP_OFF,
	BTS_STEP_AWAY,
	BTS_STEP_RUNS,
	BTS_STEP_LEFT,
	BTS_STEP_READS,
	BTS_STEP_FOLLOWS,
};

/* The longest instruction */
#define BTS_STEP_LONGEST	15

/**
 * struct bts_step - what this CPU last let user mode do
 * @plain_cs:	@cs if @tf is clear, @cs is flat, and nothing below is out of the ordinary;
 *		otherwise 0
 * @blind:	a step that the program asked for ends before @ip is executed
 * @tf:		the program's own TF
 * @raw:	the flags as user mode left them
 * @ip:		the instruction that is executed next
 * @base:	where its segment begins
 * @cs:		that segment
 * @r11:	what R11 was if a system call seems to have shown TF there, otherwise 0
 *
 * All of this is changed with interrupts off.
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
 * bts_step_enter - give the program its own flags back
 * @regs: of user mode, where it was left
 *
 * Inlined: around a call, each entry of an untraced task would save registers.
 */
static __always_inline void bts_step_enter(struct pt_regs *regs)
{
	unsigned long own = raw_cpu_read(bts_step.tf);

	raw_cpu_write(bts_step_state, BTS_STEP_LEFT);
	raw_cpu_write(bts_step.raw, regs->flags);
#ifdef CONFIG_X86_64
	/*
	 * SYSCALL has put the flags into R11. It is two bytes long, or more if it has
	 * prefixes or follows MOV SS. Something else seldom looks like that; if it was a
	 * step, bts_step_debug() undoes it.
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
