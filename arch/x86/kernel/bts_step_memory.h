/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _X86_KERNEL_BTS_STEP_MEMORY_H
#define _X86_KERNEL_BTS_STEP_MEMORY_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/wordpart.h>

#include <asm/ptrace.h>
#include <asm/segment.h>

unsigned long bts_step_base(const struct pt_regs *regs, u16 selector);
int bts_step_bits(const struct pt_regs *regs, u16 selector);
int bts_step_access(unsigned long at, void *buf, int n, unsigned int flags);
void bts_step_clear_pushed(const struct pt_regs *regs);
int bts_step_length(const struct pt_regs *regs, const u8 *bytes, int n);

static inline bool bts_step_is_flat(const struct pt_regs *regs)
{
	return !(regs->cs & SEGMENT_TI_MASK) && !v8086_mode((struct pt_regs *)regs);
}

/* Return a linear address. It has more than 32 bits only in 64-bit code, where @base is 0. */
static inline unsigned long bts_step_add(unsigned long base, unsigned long offset)
{
	return base ? lower_32_bits(base + offset) : offset;
}

/* Return the linear address of the next instruction of user mode. */
static inline unsigned long bts_step_linear(const struct pt_regs *regs)
{
	if (likely(bts_step_is_flat(regs)))
		return regs->ip;

	return bts_step_add(bts_step_base(regs, regs->cs), regs->ip);
}

#endif /* _X86_KERNEL_BTS_STEP_MEMORY_H */
