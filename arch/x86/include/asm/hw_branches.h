/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_HW_BRANCHES_H
#define _ASM_X86_HW_BRANCHES_H

/*
 * The branch flight recorder with last branch records (LBR): hooks in the entry code of exceptions
 * and NMIs, and in KVM
 *
 * The LBRs hold few branches: 64 at most, and 32 or fewer on many processors. The kernel may make
 * more branches than that before it knows that an exception is fatal. So the entry code of most
 * exceptions that interrupt the kernel and may be fatal stops recording by one write of an MSR. If
 * such an exception has no fixup, and is no trap of BUG(), WARN(), kCFI or a sanitizer, the entry
 * code saves the LBRs for the crash that may follow. Whether it has saved them or not, it then
 * resumes recording, unless the CPU was frozen meanwhile. linux/hw_branches.h explains "freeze".
 */

#include <linux/compiler.h>
#include <linux/types.h>

struct pt_regs;

#ifdef CONFIG_HW_BRANCH_RECORDER

#include <linux/jump_label.h>
#include <linux/percpu.h>

#include <asm/bts.h>
#include <asm/cpufeature.h>
#include <asm/debugctl.h>
#include <asm/ptrace.h>
#include <asm/trap_pf.h>

/* True while the recorder is on and its source is "lbr", even while perf has the LBRs */
DECLARE_STATIC_KEY_FALSE(hw_branches_lbr_used);

/* True while the recorder has enabled the LBRs of this CPU */
DECLARE_PER_CPU(bool, hw_branches_lbr_on);

/**
 * struct hw_branches_lbr_ctl - the register that enables the LBRs
 * @msr:	the number of the MSR; 0 if DEBUGCTL.LBR enables the LBRs
 * @on:		its value while the LBRs record
 * @off:	its value while the LBRs do not record
 */
struct hw_branches_lbr_ctl {
	u32	msr;
	u64	on;
	u64	off;
};

extern struct hw_branches_lbr_ctl hw_branches_lbr_ctl;

void hw_branches_lbr_resume(void);
void hw_branches_lbr_save_now(struct pt_regs *regs);
bool hw_branches_lbr_save_unless_fixup(struct pt_regs *regs);
void hw_branches_lbr_drop_saved(struct pt_regs *regs);
bool hw_branches_lbr_guest_enter(void);
void hw_branches_lbr_guest_exit(void);
void hw_branches_save_vmcoreinfo(void);

/*
 * Enable or disable the LBRs of this CPU, with interrupts off.
 *
 * hw_branches_lbr_on is false during the write of the register. So the entry code of an NMI or of
 * a fault in here neither stops nor resumes recording, and the LBRs may record branches of that
 * NMI or fault. If an NMI freezes the CPU before this function enables the LBRs, they record
 * although the CPU is frozen: then hw_branches_lbr_resume() disables them again.
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
 * Called with interrupts off: stop recording on this CPU until hw_branches_lbr_resume(). Inlined,
 * as a call would overwrite a branch that the LBRs hold. Return true if this call has stopped
 * recording, and false if hw_branches_lbr_on was false. If true, hw_branches_lbr_resume() has to be
 * called.
 */
static __always_inline bool hw_branches_lbr_hold(void)
{
	if (!this_cpu_read(hw_branches_lbr_on))
		return false;

	hw_branches_lbr_enable(false);

	return true;
}

static __always_inline void hw_branches_lbr_release(bool stopped)
{
	if (stopped)
		hw_branches_lbr_resume();
}

/*
 * Stop recording at the entry of an exception, if it has interrupted the kernel. Called before
 * irqentry_enter() or irqentry_nmi_enter(). Return true if this call has stopped recording.
 */
static __always_inline bool hw_branches_exception_hold(struct pt_regs *regs)
{
	if (!static_branch_unlikely(&hw_branches_lbr_used) || user_mode(regs))
		return false;

	return hw_branches_lbr_hold();
}

/*
 * hw_branches_exception_hold() for page faults. With SMAP, the kernel sets AC while it accesses
 * user memory. Faults of these accesses are frequent and rarely fatal, so recording is not stopped.
 */
static __always_inline bool hw_branches_fault_hold(struct pt_regs *regs, unsigned long error_code,
						   unsigned long address)
{
	if (!static_branch_unlikely(&hw_branches_lbr_used) || user_mode(regs))
		return false;
	if (address < TASK_SIZE_MAX && !(error_code & X86_PF_INSTR) &&
	    cpu_feature_enabled(X86_FEATURE_SMAP) && regs->flags & X86_EFLAGS_AC)
		return false;

	return hw_branches_lbr_hold();
}

/*
 * Save the LBRs, unless the exception has a fixup. In both cases, resume recording, unless this CPU
 * is frozen. Called before interrupts are enabled. @stopped is the return value of
 * hw_branches_exception_hold() or hw_branches_fault_hold(). If it is false, this does nothing.
 * Return whether the LBRs were saved.
 */
static __always_inline
bool hw_branches_exception_save_unless_fixup(struct pt_regs *regs, bool stopped)
{
	return stopped && hw_branches_lbr_save_unless_fixup(regs);
}

/* hw_branches_exception_save_unless_fixup() for an exception that never has a fixup */
static __always_inline void hw_branches_exception_save(struct pt_regs *regs, bool stopped)
{
	if (stopped)
		hw_branches_lbr_save_now(regs);
}

/*
 * Resume recording after hw_branches_bug_trap(), without saving the LBRs. If hw_branches_bug_trap()
 * has frozen this CPU, recording stays stopped. *@stopped is set to false, so that a later
 * hw_branches_exception_save_unless_fixup() does nothing.
 */
static __always_inline void hw_branches_exception_release(bool *stopped)
{
	hw_branches_lbr_release(*stopped);
	*stopped = false;
}

/*
 * The handler has returned, so the exception was not fatal: drop the saved LBRs. @saved is the
 * return value of hw_branches_exception_save_unless_fixup().
 */
static __always_inline void hw_branches_exception_end(struct pt_regs *regs, bool saved)
{
	if (saved)
		hw_branches_lbr_drop_saved(regs);
}

/*
 * Stop recording at the entry of an NMI. Return true if this call has stopped recording. A #DB
 * whose handler has not run yet may have cleared TR: note that before DEBUGCTL is written.
 */
static __always_inline bool hw_branches_nmi_hold(void)
{
	if (!static_branch_unlikely(&hw_branches_lbr_used))
		return false;

	bts_note_cleared();

	return hw_branches_lbr_hold();
}

static __always_inline void hw_branches_nmi_release(bool stopped)
{
	hw_branches_lbr_release(stopped);
}

/*
 * Stop recording before a guest runs, unless DEBUGCTL.LBR enables the LBRs. VM entry loads the
 * guest's DEBUGCTL, but may not change the other registers that enable LBRs: then the LBRs would
 * record the kernel of the guest. Return true if this call has stopped recording.
 */
static __always_inline bool hw_branches_guest_enter(void)
{
	return static_branch_unlikely(&hw_branches_lbr_used) && hw_branches_lbr_guest_enter();
}

static __always_inline void hw_branches_guest_exit(bool stopped)
{
	if (stopped)
		hw_branches_lbr_guest_exit();
}

#else

static __always_inline bool hw_branches_exception_hold(struct pt_regs *regs)
{
	return false;
}

static __always_inline bool hw_branches_fault_hold(struct pt_regs *regs, unsigned long error_code,
						   unsigned long address)
{
	return false;
}

static __always_inline
bool hw_branches_exception_save_unless_fixup(struct pt_regs *regs, bool stopped) { return false; }
static __always_inline void hw_branches_exception_save(struct pt_regs *regs, bool stopped) { }
static __always_inline void hw_branches_exception_release(bool *stopped) { }
static __always_inline void hw_branches_exception_end(struct pt_regs *regs, bool saved) { }
static __always_inline bool hw_branches_nmi_hold(void) { return false; }
static __always_inline void hw_branches_nmi_release(bool stopped) { }
static __always_inline bool hw_branches_guest_enter(void) { return false; }
static __always_inline void hw_branches_guest_exit(bool stopped) { }
static inline void hw_branches_save_vmcoreinfo(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER */
#endif /* _ASM_X86_HW_BRANCHES_H */
