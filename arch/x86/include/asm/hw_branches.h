/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_HW_BRANCHES_H
#define _ASM_X86_HW_BRANCHES_H

/*
 * The branch flight recorder by last branch records (LBR), where exceptions begin.
 *
 * The stack of LBRs holds 32 branches at most, and the way from an exception to the code
 * that knows it to be fatal may take more. So the entry of an exception of the kernel that
 * may be fatal clears DEBUGCTL.LBR by one write. If no fixup is found, what the stack holds
 * is saved for the crash that may follow. Recording goes on in both cases.
 */

#include <linux/compiler.h>
#include <linux/types.h>

struct pt_regs;

#ifdef CONFIG_HW_BRANCH_RECORDER

#include <linux/jump_label.h>
#include <linux/percpu.h>

#include <asm/cpufeature.h>
#include <asm/debugctl.h>
#include <asm/ptrace.h>
#include <asm/trap_pf.h>

/* The recorder is on, by LBR. */
DECLARE_STATIC_KEY_FALSE(hw_branches_lbr_used);

/* LBR of this CPU is the recorder's: not given up, and this CPU is one that it records. */
DECLARE_PER_CPU(bool, hw_branches_lbr_records);

void hw_branches_lbr_resume(void);
void hw_branches_lbr_suspect(struct pt_regs *regs);
void hw_branches_lbr_judge(struct pt_regs *regs);
void hw_branches_lbr_acquit(struct pt_regs *regs);

/*
 * Stop this CPU, with interrupts off. Inlined, as each call would take the place of a
 * branch. Return: true if it was stopped already, and must not be started again.
 */
static __always_inline bool hw_branches_lbr_hold(void)
{
	if (!this_cpu_read(hw_branches_lbr_records) || !(debugctl_get() & DEBUGCTLMSR_LBR))
		return true;

	debugctl_write_lbr(false);

	return false;
}

static __always_inline void hw_branches_lbr_release(bool held)
{
	if (!held)
		hw_branches_lbr_resume();
}

/*
 * hw_branches_exception_hold() - stop recording where an exception begins
 *
 * Before irqentry_enter(). Return: as hw_branches_lbr_hold().
 */
static __always_inline bool hw_branches_exception_hold(struct pt_regs *regs)
{
	if (!static_branch_unlikely(&hw_branches_lbr_used) || user_mode(regs))
		return true;

	return hw_branches_lbr_hold();
}

/*
 * The same where a page fault begins. An access to user memory that is meant to be one has
 * AC set, where there is SMAP: these faults are frequent, and not held.
 */
static __always_inline bool hw_branches_fault_hold(struct pt_regs *regs, unsigned long error_code,
						   unsigned long address)
{
	if (!static_branch_unlikely(&hw_branches_lbr_used) || user_mode(regs))
		return true;
	if (address < TASK_SIZE_MAX && !(error_code & X86_PF_INSTR) &&
	    cpu_feature_enabled(X86_FEATURE_SMAP) && regs->flags & X86_EFLAGS_AC)
		return true;

	return hw_branches_lbr_hold();
}

/* Then, before interrupts are switched on: recording goes on. @held: what it returned. */
static __always_inline void hw_branches_exception_judge(struct pt_regs *regs, bool held)
{
	if (!held)
		hw_branches_lbr_judge(regs);
}

/* hw_branches_exception_judge() of an exception that no fixup helps */
static __always_inline void hw_branches_exception_suspect(struct pt_regs *regs, bool held)
{
	if (!held)
		hw_branches_lbr_suspect(regs);
}

/* Instead of hw_branches_exception_judge(), where hw_branches_bug() has decided */
static __always_inline void hw_branches_exception_release(bool *held)
{
	hw_branches_lbr_release(*held);
	*held = true;
}

/* The exception was not fatal. */
static __always_inline void hw_branches_exception_end(struct pt_regs *regs)
{
	if (static_branch_unlikely(&hw_branches_lbr_used))
		hw_branches_lbr_acquit(regs);
}

/* Stop recording while an NMI is handled. */
static __always_inline bool hw_branches_nmi_hold(void)
{
	return !static_branch_unlikely(&hw_branches_lbr_used) || hw_branches_lbr_hold();
}

static __always_inline void hw_branches_nmi_release(bool held)
{
	hw_branches_lbr_release(held);
}

#else

static __always_inline bool hw_branches_exception_hold(struct pt_regs *regs)
{
	return true;
}

static __always_inline bool hw_branches_fault_hold(struct pt_regs *regs, unsigned long error_code,
						   unsigned long address)
{
	return true;
}

static __always_inline void hw_branches_exception_judge(struct pt_regs *regs, bool held) { }
static __always_inline void hw_branches_exception_suspect(struct pt_regs *regs, bool held) { }
static __always_inline void hw_branches_exception_release(bool *held) { }
static __always_inline void hw_branches_exception_end(struct pt_regs *regs) { }
static __always_inline bool hw_branches_nmi_hold(void) { return true; }
static __always_inline void hw_branches_nmi_release(bool held) { }

#endif /* CONFIG_HW_BRANCH_RECORDER */
#endif /* _ASM_X86_HW_BRANCHES_H */
