/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_DEBUGCTL_H
#define _ASM_X86_DEBUGCTL_H

/*
 * The bits of DEBUGCTL belong to several owners, and some owners change their bits in an
 * NMI. If code read the MSR, changed some bits, and wrote the result, it would undo the
 * change of an NMI that arrives in between. So each CPU has a copy of its DEBUGCTL in
 * memory: debugctl_copy. An owner changes its own bits of the copy by instructions that
 * are atomic on this CPU, and writes the copy to the MSR.
 *
 * No code but debugctl_cpu_init() writes back a value that it has read from the MSR.
 *
 * The processor clears bits of the MSR by itself: LBR and BTF at a #DB, perhaps also TR;
 * all bits when a VMX guest exits; most bits when a TDX guest exits. The code that handles these
 * events writes the copy to the MSR again.
 *
 * Before version 4 of perfmon, a PMI clears LBR if FREEZE_LBRS_ON_PMI is set. So perf's handler
 * of the PMI clears LBR in the copy, too, and sets LBR again after it has read the LBRs.
 *
 * A value that root writes to /dev/cpu/N/msr lasts at most until the kernel writes DEBUGCTL.
 */

#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/irqflags.h>
#include <linux/log2.h>
#include <linux/percpu.h>

#include <asm/msr.h>
#include <asm/processor.h>

/* The fields of DEBUGCTL. A field has at most one owner at a time. */
#define DEBUGCTL_STEP		DEBUGCTLMSR_BTF
#define DEBUGCTL_LBR		(DEBUGCTLMSR_LBR | DEBUGCTLMSR_FREEZE_LBRS_ON_PMI)
#define DEBUGCTL_BTS		(DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS | DEBUGCTLMSR_BTINT | \
				 DEBUGCTLMSR_BTS_OFF_OS | DEBUGCTLMSR_BTS_OFF_USR)
#define DEBUGCTL_SMM		DEBUGCTLMSR_FREEZE_IN_SMM
#define DEBUGCTL_BUSLOCK	DEBUGCTLMSR_BUS_LOCK_DETECT
/*
 * The other bits have no owner: the copy keeps them as they were when the CPU started, except
 * that debugctl_cpu_init() clears DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI.
 */

/*
 * debugctl_bts_mask is the BTS field of this CPU model: DEBUGCTL_BTS >> debugctl_bts_shift.
 * The shift is 0, except on Netburst.
 */
extern u8 debugctl_bts_shift;
extern unsigned long debugctl_bts_mask;

/**
 * debugctl_bts_bits - Translate bits of the BTS field to those of this CPU model
 * @bits: bits within DEBUGCTL_BTS
 *
 * Netburst has the same bits in the same order, but at positions 2 to 6 (volume 3 of
 * Intel's manual, MSR_DEBUGCTLA). Netburst has no bus lock detection, which owns bit 2 on
 * other models. debugctl_claim() takes DEBUGCTL_BTS on all models, without translation.
 *
 * Return: the bits for debugctl_write_bts(), or to test in debugctl_get().
 */
static __always_inline unsigned long debugctl_bts_bits(unsigned long bits)
{
	if (__builtin_constant_p(bits) && bits == DEBUGCTL_BTS)
		return debugctl_bts_mask;

	return bits >> debugctl_bts_shift;
}

/* Tell whether all bits of @mask are in the same field. */
static __always_inline bool debugctl_in_one_field(unsigned long mask)
{
	return !(mask & ~DEBUGCTL_STEP) || !(mask & ~DEBUGCTL_LBR) ||
	       !(mask & ~DEBUGCTL_BTS) || !(mask & ~DEBUGCTL_SMM) ||
	       !(mask & ~DEBUGCTL_BUSLOCK);
}

DECLARE_PER_CPU(unsigned long, debugctl_copy);

/* Processors before the P6 have no DEBUGCTL. */
static __always_inline bool debugctl_exists(void)
{
	return IS_ENABLED(CONFIG_X86_DEBUGCTLMSR) || boot_cpu_data.x86 >= 6;
}

/**
 * debugctl_get - Get the value that DEBUGCTL of this CPU is set to
 *
 * Return: the copy. The processor may have cleared some of its bits in the MSR.
 */
static __always_inline unsigned long debugctl_get(void)
{
	return this_cpu_read(debugctl_copy);
}

/**
 * debugctl_sync - Write the copy to the MSR of this CPU
 *
 * Called with interrupts off or from NMI, when the MSR may differ from the copy. An NMI or #DB
 * between the read and the write may change the copy and write the MSR. Then the MSR gets a stale
 * value, the second read differs from the first, and the loop writes the new copy.
 */
static __always_inline void debugctl_sync(void)
{
	unsigned long val;

	do {
		val = this_cpu_read(debugctl_copy);
		wrmsrq(MSR_IA32_DEBUGCTLMSR, val);
	} while (unlikely(val != this_cpu_read(debugctl_copy)));
}

/*
 * Like debugctl_sync(), but without the tracepoint of MSR writes: for code that may run while RCU
 * is not watching, for example noinstr code, or code that runs in a crash.
 */
static __always_inline void debugctl_sync_untraced(void)
{
	unsigned long val;

	do {
		val = debugctl_get();
		native_wrmsrq(MSR_IA32_DEBUGCTLMSR, val);
	} while (unlikely(val != debugctl_get()));
}

/**
 * debugctl_cleared_by_db - Tell whether the copy has bits that a #DB clears on any model
 *
 * Return: true if debugctl_sync() has to be called before the #DB handler returns.
 */
static __always_inline bool debugctl_cleared_by_db(void)
{
	return debugctl_get() & (DEBUGCTLMSR_BTF | DEBUGCTLMSR_LBR |
				 debugctl_bts_bits(DEBUGCTL_BTS));
}

/**
 * debugctl_vm_exit - Write all bits of the copy but LBR to the MSR after a VM exit
 * @preserved: the bits of the MSR that the exit does not clear. If the copy has no bits except
 *	these and LBR, the MSR is not written
 *
 * For noinstr code of VMX and TDX. If an NMI caused the exit, call this before the NMI is
 * handled, so that BTS records the branches of its handler like those of any other NMI.
 * LBR stays clear: if the NMI is a PMI, the LBRs must not record before the handler of the
 * PMI has read them. If LBR is set in the copy, call debugctl_sync() after the NMI.
 */
static __always_inline void debugctl_vm_exit(unsigned long preserved)
{
	unsigned long val = debugctl_get();

	if (!(val & ~(preserved | DEBUGCTLMSR_LBR)))
		return;

	do {
		val = debugctl_get();
		native_wrmsrq(MSR_IA32_DEBUGCTLMSR, val & ~DEBUGCTLMSR_LBR);
	} while (unlikely(val != debugctl_get()));
}

/*
 * Change several bits of the copy, but not of the MSR. @val has no bits outside @mask. The loop
 * tries again if an NMI or #DB has changed the copy.
 */
static __always_inline void __debugctl_replace(unsigned long mask, unsigned long val)
{
	unsigned long old = this_cpu_read(debugctl_copy), new;

	do {
		new = (old & ~mask) | val;
	} while (unlikely(!this_cpu_try_cmpxchg(debugctl_copy, &old, new)));
}

/*
 * Like __debugctl_replace(), but bits of @val outside @mask are ignored. If @mask is a constant of
 * one bit, one instruction changes the copy.
 */
static __always_inline void __debugctl_change(unsigned long mask, unsigned long val)
{
	if (__builtin_constant_p(mask) && is_power_of_2(mask)) {
		if (val & mask)
			this_cpu_or(debugctl_copy, mask);
		else
			this_cpu_and(debugctl_copy, ~mask);
	} else {
		__debugctl_replace(mask, val & mask);
	}
}

/**
 * debugctl_write_field - Change one owner's bits of DEBUGCTL on this CPU
 * @mask: the bits to change, a constant inside one field
 * @val: their new value
 *
 * Called with interrupts off or from NMI. This writes the MSR even if the copy does not
 * change: if this runs in an NMI, the interrupted code may have changed the copy and not
 * written the MSR yet. If DEBUGCTL.LBR enables the LBRs, perf stops them by this function,
 * and each taken branch would overwrite a branch that the LBRs hold. So the function is
 * inlined, and usually takes no branch, except that wrmsrq() is a call with CONFIG_PARAVIRT_XXL.
 */
static __always_inline void debugctl_write_field(unsigned long mask, unsigned long val)
{
	BUILD_BUG_ON(!__builtin_constant_p(mask) || !debugctl_in_one_field(mask));
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(!raw_irqs_disabled());

	if (!debugctl_exists())
		return;

	__debugctl_change(mask, val);
	debugctl_sync();
}

/**
 * debugctl_write_bts - Change the BTS field of DEBUGCTL on this CPU
 * @val: the new value of the field, from debugctl_bts_bits()
 *
 * Like debugctl_write_field(), but for the BTS field of this CPU model, and without the
 * tracepoint of MSR writes.
 */
static __always_inline void debugctl_write_bts(unsigned long val)
{
	/*
	 * Do not use lockdep_assert_irqs_disabled(): a crash stops BTS before lockdep knows that
	 * interrupts are off.
	 */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(!raw_irqs_disabled());

	if (!debugctl_exists())
		return;

	__debugctl_replace(debugctl_bts_mask, val);
	debugctl_sync_untraced();
}

/**
 * debugctl_clear_copy - Clear bits in the copy of this CPU without writing the MSR
 * @mask: the bits
 *
 * Called after the processor has cleared the bits in the MSR, so that the next write of the
 * copy does not set them again. Before version 4 of perfmon, for example, a PMI may clear LBR to
 * stop the LBRs, and LBR must stay clear until perf has read them. Also called by functions
 * that then write the copy to the MSR.
 */
static __always_inline void debugctl_clear_copy(unsigned long mask)
{
	this_cpu_and(debugctl_copy, ~mask);
}

/**
 * debugctl_load_guest - Write a guest's DEBUGCTL to the MSR before the guest runs
 * @val: the guest's value
 *
 * The copy keeps the value of the host, and debugctl_sync() writes it to the MSR after the
 * VM exit. Only for SVM, between CLGI and STGI, where no NMI arrives.
 */
static __always_inline void debugctl_load_guest(unsigned long val)
{
	wrmsrq(MSR_IA32_DEBUGCTLMSR, val);
}

/**
 * debugctl_write_lbr - Set or clear LBR on this CPU
 * @on: true to set it, false to clear it
 *
 * Like debugctl_write_field(), but for noinstr code: without the tracepoint of MSR writes. Called
 * only on processors that have DEBUGCTL. Setting or clearing LBR does not erase the branches that
 * the LBRs hold.
 */
static __always_inline void debugctl_write_lbr(bool on)
{
	if (on)
		this_cpu_or(debugctl_copy, DEBUGCTLMSR_LBR);
	else
		debugctl_clear_copy(DEBUGCTLMSR_LBR);
	debugctl_sync_untraced();
}

int debugctl_try_field(unsigned long mask, unsigned long val);
void debugctl_cpu_init(void);
void debugctl_resume(void);
void debugctl_emergency_stop_bts(void);

#endif /* _ASM_X86_DEBUGCTL_H */
