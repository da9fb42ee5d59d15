/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_DEBUGCTL_H
#define _ASM_X86_DEBUGCTL_H

/*
 * The bits of DEBUGCTL belong to several owners. Each owner changes its bits in an
 * NMI, or where an NMI may interrupt it. So each CPU has a copy of its DEBUGCTL in
 * memory. An owner changes its own bits of the copy by instructions that are atomic
 * on this CPU, and then writes the copy to the MSR until both agree.
 *
 * No value that is read from the MSR is written back, but when a CPU starts or
 * resumes. The processor itself clears bits in it: LBR and BTF at each #DB, everything
 * at a VM exit on Intel. The code that handles these events writes the copy to the MSR
 * again. If a PMI has frozen the LBRs by clearing LBR, it is cleared in the copy as well,
 * and perf sets it again.
 * A value written to /dev/cpu/N/msr lasts until the next write from here.
 */

#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/irqflags.h>
#include <linux/log2.h>
#include <linux/percpu.h>

#include <asm/msr.h>
#include <asm/processor.h>

/* The owners of DEBUGCTL's bits: no owner writes a bit of another owner. */
#define DEBUGCTL_STEP		DEBUGCTLMSR_BTF
#define DEBUGCTL_LBR		(DEBUGCTLMSR_LBR | DEBUGCTLMSR_FREEZE_LBRS_ON_PMI)
#define DEBUGCTL_BTS		(DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS | DEBUGCTLMSR_BTINT | \
				 DEBUGCTLMSR_BTS_OFF_OS | DEBUGCTLMSR_BTS_OFF_USR)
#define DEBUGCTL_SMM		DEBUGCTLMSR_FREEZE_IN_SMM
#define DEBUGCTL_BUSLOCK	DEBUGCTLMSR_BUS_LOCK_DETECT
/*
 * The other bits have no owner: the copy keeps them as the firmware left them, except
 * that debugctl_cpu_init() clears DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI.
 */

/*
 * This model has the field DEBUGCTL_BTS shifted right by debugctl_bts_shift bits, at the bits
 * of debugctl_bts_mask.
 */
extern u8 debugctl_bts_shift;
extern unsigned long debugctl_bts_mask;

/**
 * debugctl_bts_bits - Translate bits of the BTS field to those of this model
 * @bits: bits within DEBUGCTL_BTS
 *
 * Netburst has the same bits in the same order, but at 2 to 6 (volume 3 of Intel's
 * manual, MSR_DEBUGCTLA). It has no bus lock detection, which owns bit 2 on other
 * models. debugctl_claim() takes DEBUGCTL_BTS on all models.
 *
 * Return: the bits for debugctl_write_bts(), or to test in debugctl_get().
 */
static __always_inline unsigned long debugctl_bts_bits(unsigned long bits)
{
	if (__builtin_constant_p(bits) && bits == DEBUGCTL_BTS)
		return debugctl_bts_mask;

	return bits >> debugctl_bts_shift;
}

/* Tell whether all bits of @mask, a constant, belong to one owner. */
static __always_inline bool debugctl_one_owner(unsigned long mask)
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
 * Return: the copy; in the MSR, the processor may have cleared bits.
 */
static __always_inline unsigned long debugctl_get(void)
{
	return this_cpu_read(debugctl_copy);
}

/**
 * debugctl_sync - Write the copy to the MSR of this CPU
 *
 * Call it with interrupts off or from NMI, after the processor has changed
 * the MSR by itself. An NMI or #DB between the read and the write may change
 * the copy and write the MSR. The second read sees that, and the loop overwrites
 * the stale value at once.
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
 * Like debugctl_sync(), without the tracepoint of MSR writes: for code that a crash or an
 * NMI may run where RCU does not watch.
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
 * debugctl_vm_exit - Write the copy to the MSR after a VM exit that cleared it
 * @preserved: bits that the exit leaves as they are
 *
 * For noinstr code on VMX. If an NMI caused the exit, call this before the NMI is
 * handled, so that its branches are recorded like those of any other NMI. LBR is not
 * set: if that NMI is a PMI, the LBRs must not record before its handler has read them.
 * If LBR is set in the copy, call debugctl_sync() after the NMI.
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
 * A single bit is changed by one instruction. Several bits need a cmpxchg loop, which
 * tries again if an NMI or #DB has changed the copy in between.
 */
static __always_inline void __debugctl_change(unsigned long mask, unsigned long val)
{
	unsigned long old, new;

	if (__builtin_constant_p(mask) && is_power_of_2(mask)) {
		if (val & mask)
			this_cpu_or(debugctl_copy, mask);
		else
			this_cpu_and(debugctl_copy, ~mask);
		return;
	}

	old = this_cpu_read(debugctl_copy);
	do {
		new = (old & ~mask) | (val & mask);
	} while (unlikely(!this_cpu_try_cmpxchg(debugctl_copy, &old, new)));
}

/**
 * debugctl_write_field - Change one owner's bits of DEBUGCTL on this CPU
 * @mask: the bits to change, a constant inside one of the owners' masks
 * @val: their new value
 *
 * Call it with interrupts off or from NMI. It writes the MSR even if the copy
 * does not change: an NMI may have interrupted code that has changed the copy and
 * not written the MSR yet. Inlined and straight-line, because perf stops the LBRs by
 * it, and each taken branch would overwrite one that the LBRs hold.
 */
static __always_inline void debugctl_write_field(unsigned long mask, unsigned long val)
{
	BUILD_BUG_ON(!__builtin_constant_p(mask) || !debugctl_one_owner(mask));
	/* Do not ask lockdep: a crash stops BTS before lockdep knows that interrupts are off. */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(!raw_irqs_disabled());

	if (!debugctl_exists())
		return;

	__debugctl_change(mask, val);
	debugctl_sync();
}

/**
 * debugctl_write_bts - Change the BTS field of DEBUGCTL on this CPU
 * @val: its new value, from debugctl_bts_bits()
 *
 * Like debugctl_write_field(), for the field at its position in this model, and without
 * the tracepoint of MSR writes.
 */
static __always_inline void debugctl_write_bts(unsigned long val)
{
	unsigned long old, new;

	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(!raw_irqs_disabled());

	if (!debugctl_exists())
		return;

	old = this_cpu_read(debugctl_copy);
	do {
		new = (old & ~debugctl_bts_mask) | val;
	} while (unlikely(!this_cpu_try_cmpxchg(debugctl_copy, &old, new)));
	debugctl_sync_untraced();
}

/**
 * debugctl_cleared - Clear bits in the copy of this CPU without writing the MSR
 * @mask: the bits
 *
 * Called after the processor has cleared them in the MSR, or before the MSR is written. A
 * PMI that freezes the LBRs clears LBR: code that writes DEBUGCTL before perf has read the
 * LBRs must not set it again.
 */
static __always_inline void debugctl_cleared(unsigned long mask)
{
	this_cpu_and(debugctl_copy, ~mask);
}

/**
 * debugctl_load_guest - Load DEBUGCTL of a guest before it runs
 * @val: the guest's value
 *
 * Only for SVM, between CLGI and STGI: no NMI arrives between this and the
 * debugctl_sync() after the exit.
 */
static __always_inline void debugctl_load_guest(unsigned long val)
{
	wrmsrq(MSR_IA32_DEBUGCTLMSR, val);
}

/**
 * debugctl_write_lbr - Set or clear LBR on this CPU
 * @on: whether to set it
 *
 * Like debugctl_write_field(), for noinstr code. The LBRs keep their branches.
 */
static __always_inline void debugctl_write_lbr(bool on)
{
	if (on)
		this_cpu_or(debugctl_copy, DEBUGCTLMSR_LBR);
	else
		debugctl_cleared(DEBUGCTLMSR_LBR);
	debugctl_sync_untraced();
}

/**
 * struct debugctl_yielder - an owner that gives its fields up to any other owner
 * @mask:	the fields
 * @give_up:	stop using the fields on all CPUs; when it returns, another owner uses them
 * @take:	start using the fields
 *
 * Both functions are called in process context under debugctl_mutex, and must not call
 * debugctl_claim(), debugctl_release(), or the functions for yielders.
 */
struct debugctl_yielder {
	unsigned long	mask;
	void		(*give_up)(void);
	void		(*take)(void);
};

int debugctl_claim_yielding(const struct debugctl_yielder *yielder);
void debugctl_release_yielding(void);
int debugctl_try_field(unsigned long mask, unsigned long val);
int debugctl_claim(unsigned long mask);
void debugctl_release(unsigned long mask);
void debugctl_cpu_init(void);
void debugctl_resume(void);
void debugctl_emergency_stop_bts(void);

#endif /* _ASM_X86_DEBUGCTL_H */
