/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_HW_BRANCHES_H
#define _ASM_X86_HW_BRANCHES_H

/*
 * The branch flight recorder by last branch records (LBR): hooks at the entry of exceptions
 *
 * The LBRs hold 32 branches at most. The code from the entry of an exception up to where it
 * is known to be fatal may make more. So the entry code of an exception that interrupts the
 * kernel and may be fatal stops recording by one write. If no fixup is found, the LBRs
 * are saved for the crash that may follow. Recording is resumed in both cases.
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

/* The recorder is on, and its source is LBR. */
DECLARE_STATIC_KEY_FALSE(hw_branches_lbr_used);

/* The recorder has enabled the LBRs of this CPU. */
DECLARE_PER_CPU(bool, hw_branches_lbr_on);

/**
 * struct hw_branches_lbr_ctl - the register that enables the LBRs
 * @msr:	its number; 0 if DEBUGCTL.LBR enables them
 * @on:		the value while they record
 * @off:	the value while they do not
 */
struct hw_branches_lbr_ctl {
	u32	msr;
	u64	on;
	u64	off;
};

extern struct hw_branches_lbr_ctl hw_branches_lbr_ctl;

void hw_branches_lbr_resume(void);
void hw_branches_lbr_suspect(struct pt_regs *regs);
void hw_branches_lbr_judge(struct pt_regs *regs);
void hw_branches_lbr_acquit(struct pt_regs *regs);
bool hw_branches_lbr_guest_enter(void);
void hw_branches_lbr_guest_exit(void);
void hw_branches_save_vmcoreinfo(void);

/*
 * Called with interrupts off. hw_branches_lbr_on is false during the write. So the entry code of
 * an NMI or of a fault in here neither stops nor resumes recording, and the LBRs may record the
 * branches of an NMI. If an NMI freezes the CPU, this write may enable the LBRs after that:
 * hw_branches_lbr_resume() checks for a freeze afterwards, and disables them.
 */
static __always_inline void hw_branches_lbr_enable(bool on)
{
	this_cpu_write(hw_branches_lbr_on, false);
	barrier();
	if (unlikely(hw_branches_lbr_ctl.msr))
		native_wrmsrq(hw_branches_lbr_ctl.msr,
			      on ? hw_branches_lbr_ctl.on : hw_branches_lbr_ctl.off);
	else
		debugctl_write_lbr(on);
	barrier();
	if (on)
		this_cpu_write(hw_branches_lbr_on, true);
}

/*
 * Stop recording on this CPU, with interrupts off. Inlined, as a call would overwrite a
 * branch that the LBRs hold. Return true if it was stopped already; then the caller must
 * not resume it.
 */
static __always_inline bool hw_branches_lbr_hold(void)
{
	if (!this_cpu_read(hw_branches_lbr_on))
		return true;

	hw_branches_lbr_enable(false);

	return false;
}

static __always_inline void hw_branches_lbr_release(bool held)
{
	if (!held)
		hw_branches_lbr_resume();
}

/*
 * hw_branches_exception_hold() - stop recording at the entry of an exception
 *
 * Called before irqentry_enter(). Return: like hw_branches_lbr_hold().
 */
static __always_inline bool hw_branches_exception_hold(struct pt_regs *regs)
{
	if (!static_branch_unlikely(&hw_branches_lbr_used) || user_mode(regs))
		return true;

	return hw_branches_lbr_hold();
}

/*
 * hw_branches_exception_hold() for page faults. With SMAP, code that accesses user memory on
 * purpose sets AC. Its faults are frequent and not fatal, so they do not stop recording.
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

/*
 * Called before interrupts are enabled: save the LBRs, unless there is a fixup, and resume
 * recording. @held is what the function that stopped recording has returned.
 */
static __always_inline void hw_branches_exception_judge(struct pt_regs *regs, bool held)
{
	if (!held)
		hw_branches_lbr_judge(regs);
}

/* hw_branches_exception_judge() for an exception that no fixup can handle */
static __always_inline void hw_branches_exception_suspect(struct pt_regs *regs, bool held)
{
	if (!held)
		hw_branches_lbr_suspect(regs);
}

/*
 * Called instead of hw_branches_exception_judge(), after hw_branches_bug() has frozen the
 * recorder if the exception is a crash
 */
static __always_inline void hw_branches_exception_release(bool *held)
{
	hw_branches_lbr_release(*held);
	*held = true;
}

/* Called when the exception has turned out not to be fatal. */
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

/*
 * Called before a guest runs, and after it. VM entry loads the guest's DEBUGCTL, but leaves the
 * other registers that enable LBRs as they are: they would record the guest's kernel.
 */
static __always_inline bool hw_branches_guest_enter(void)
{
	return !static_branch_unlikely(&hw_branches_lbr_used) || hw_branches_lbr_guest_enter();
}

static __always_inline void hw_branches_guest_exit(bool held)
{
	if (!held)
		hw_branches_lbr_guest_exit();
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
static __always_inline bool hw_branches_guest_enter(void) { return true; }
static __always_inline void hw_branches_guest_exit(bool held) { }
static inline void hw_branches_save_vmcoreinfo(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER */
#endif /* _ASM_X86_HW_BRANCHES_H */
