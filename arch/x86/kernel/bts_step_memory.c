// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces by the trap flag: segments and memory of the program
 *
 * These functions are called with interrupts off, in the task that is traced.
 */

#include <linux/hw_breakpoint.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include <asm/desc.h>
#include <asm/insn.h>
#include <asm/mmu_context.h>
#include <asm/ptrace.h>
#include <asm/segment.h>

#include "bts_step_memory.h"

/*
 * The LDT is not freed while interrupts are off: the kernel first sends an IPI to each CPU that
 * uses the LDT.
 */
static bool bts_step_descriptor(u16 selector, struct desc_struct *desc)
{
	unsigned int nr = selector >> 3;

#ifdef CONFIG_MODIFY_LDT_SYSCALL
	if (selector & SEGMENT_TI_MASK) {
		const struct ldt_struct *ldt = READ_ONCE(current->active_mm->context.ldt);

		if (!ldt || nr >= ldt->nr_entries)
			return false;
		*desc = ldt->entries[array_index_nospec(nr, ldt->nr_entries)];
		return true;
	}
#endif
	nr -= GDT_ENTRY_TLS_MIN;
	if (nr >= GDT_ENTRY_TLS_ENTRIES)
		return false;
	*desc = current->thread.tls_array[array_index_nospec(nr, GDT_ENTRY_TLS_ENTRIES)];

	return true;
}

/*
 * Return the base of a segment. Outside of virtual-8086 mode, it is 0 for a segment that the
 * program has not defined.
 */
unsigned long bts_step_base(const struct pt_regs *regs, u16 selector)
{
	struct desc_struct desc;

	if (v8086_mode((struct pt_regs *)regs))
		return (unsigned long)selector << 4;

	return bts_step_descriptor(selector, &desc) ? get_desc_base(&desc) : 0;
}

/* Return the size of addresses in a segment, in bits. Called only for 16-bit or 32-bit code. */
int bts_step_bits(const struct pt_regs *regs, u16 selector)
{
	struct desc_struct desc;

	if (v8086_mode((struct pt_regs *)regs))
		return 16;
	if (bts_step_descriptor(selector, &desc))
		return desc.d ? 32 : 16;

	return 32;
}

/*
 * Read up to @n bytes of current's memory, or write them with FOLL_WRITE, and return their number.
 * With FOLL_FORCE, also read execute-only memory. Enables interrupts meanwhile, and may sleep.
 */
int bts_step_access(unsigned long at, void *buf, int n, unsigned int flags)
{
	local_irq_enable();
	n = access_process_vm(current, at, buf, n, flags);
	local_irq_disable();

	return n;
}

static bool bts_step_clear_bit(unsigned long at)
{
	bool done = false;
	u8 byte;

	if (unlikely(hw_breakpoint_active()))
		return false;

	pagefault_disable();
	if (user_access_begin((void __user *)at, 1)) {
		unsafe_get_user(byte, (u8 __user *)at, fault);
		byte &= ~(X86_EFLAGS_TF >> 8);
		unsafe_put_user(byte, (u8 __user *)at, fault);
		done = true;
fault:
		user_access_end();
	}
	pagefault_enable();

	return done;
}

/* Clear TF in the flags that PUSHF has stored. */
void bts_step_clear_pushed(const struct pt_regs *regs)
{
	unsigned long at = regs->sp + 1;
	u8 byte;

	if (!user_64bit_mode((struct pt_regs *)regs)) {
		if (bts_step_bits(regs, regs->ss) == 16)
			at &= U16_MAX;
		at = (u32)(bts_step_base(regs, regs->ss) + at);
	}
	if (likely(bts_step_clear_bit(at)))
		return;
	if (bts_step_access(at, &byte, 1, 0) != 1)
		return;
	byte &= ~(X86_EFLAGS_TF >> 8);
	bts_step_access(at, &byte, 1, FOLL_WRITE);
}

/* Return the length of the instruction, or 0 if it cannot be decoded. */
int bts_step_length(const struct pt_regs *regs, const u8 *bytes, int n)
{
	struct insn insn;

	insn_init(&insn, bytes, n, user_64bit_mode((struct pt_regs *)regs));
	if (!user_64bit_mode((struct pt_regs *)regs)) {
		insn.addr_bytes = bts_step_bits(regs, regs->cs) / 8;
		insn.opnd_bytes = insn.addr_bytes;
	}

	return insn_get_length(&insn) ? 0 : insn.length;
}
