/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_DEBUGCTL_H
#define _ASM_X86_DEBUGCTL_H

/*
 * DEBUGCTL belongs to several owners, bit by bit, and every one of them
 * changes it from NMI or from where an NMI may hit. So the truth is a copy in
 * memory, one per CPU: an owner changes its own bits of the copy atomically as
 * seen from this CPU, then writes the copy to the MSR until both agree.
 *
 * The MSR is not read back but when a CPU starts or resumes. The processor
 * clears bits in it on its own: LBR and BTF with each #DB, everything at a VM
 * exit on Intel; the code that runs after it writes the copy again. If a PMI has
 * frozen the LBRs by clearing LBR, the copy follows, and perf sets it again.
 * What somebody pokes into /dev/cpu/N/msr lasts until the next write from here.
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
 * The other bits are nobody's: the copy keeps them as the firmware left them, but
 * debugctl_cpu_init() clears DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI.
 */

/* So many bits further down this model has the field DEBUGCTL_BTS, and the rest of it. */
extern u8 debugctl_bts_shift;
extern unsigned long debugctl_not_bts;

/**
 * debugctl_bts_bits - Find where this model has bits of the BTS field
 * @bits: bits within DEBUGCTL_BTS
 *
 * Netburst has the same bits in the same order, but at 2 to 6 (volume 3 of Intel's
 * manual, MSR_DEBUGCTLA). It has no bus lock detection, which owns bit 2 on other
 * models. A claim names the field DEBUGCTL_BTS on all of them.
 *
 * Return: the bits for debugctl_write_bts(), or to look for in debugctl_get().
 */
static __always_inline unsigned long debugctl_bts_bits(unsigned long bits)
{
	if (__builtin_constant_p(bits) && bits == DEBUGCTL_BTS)
		return ~debugctl_not_bts;

	return bits >> debugctl_bts_shift;
}

/* For constants only: is there one owner who has all of these bits? */
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
 * debugctl_get - What DEBUGCTL of this CPU is set to
 *
 * Return: the copy; the MSR itself may lack what the processor just cleared.
 */
static __always_inline unsigned long debugctl_get(void)
{
	return this_cpu_read(debugctl_copy);
}

/**
 * debugctl_sync - Write the copy to the MSR of this CPU
 *
 * Call it with interrupts off or from NMI, where the processor has changed
 * the MSR by itself. An NMI or #DB between the read and the write may change
 * the copy and write the MSR; the second read sees that, and the stale value
 * is overwritten before anything else runs here.
 */
static __always_inline void debugctl_sync(void)
{
	unsigned long val;

	do {
		val = this_cpu_read(debugctl_copy);
		wrmsrq(MSR_IA32_DEBUGCTLMSR, val);
	} while (unlikely(val != this_cpu_read(debugctl_copy)));
}

/**
 * debugctl_sync_native - debugctl_sync() for crashes and noinstr code
 *
 * The tracepoint of wrmsrq() must not run there. Xen PV has neither BTS nor LBR.
 */
static __always_inline void debugctl_sync_native(void)
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
 * For noinstr code on VMX, before the NMI is handled that was the reason of the
 * exit: its branches are recorded like those of others. All but LBR: if that NMI
 * is a PMI, the LBRs must not run before it has read them. If LBR is set in the
 * copy, debugctl_sync() has to follow after the NMI.
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
 * One bit is changed by one instruction. More bits take a compare, which fails
 * if an NMI or #DB came in between.
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
 * stays as it is: the level that an NMI interrupted may not have come to its
 * own write yet. Inlined and straight-line, because perf stops the LBRs with
 * it and wants to keep what they hold.
 */
static __always_inline void debugctl_write_field(unsigned long mask, unsigned long val)
{
	BUILD_BUG_ON(!__builtin_constant_p(mask) || !debugctl_one_owner(mask));
	/* Not lockdep's idea of it: a crash stops BTS before lockdep is told. */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(!raw_irqs_disabled());

	if (!debugctl_exists())
		return;

	__debugctl_change(mask, val);
	debugctl_sync();
}

/**
 * debugctl_write_bts - Change the BTS field of DEBUGCTL on this CPU
 * @val: its new value, of debugctl_bts_bits()
 *
 * Like debugctl_write_field(), wherever this model has the field.
 */
static __always_inline void debugctl_write_bts(unsigned long val)
{
	unsigned long old;

	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(!raw_irqs_disabled());

	if (!debugctl_exists())
		return;

	old = this_cpu_read(debugctl_copy);
	while (unlikely(!this_cpu_try_cmpxchg(debugctl_copy, &old, (old & debugctl_not_bts) | val)))
		;
	debugctl_sync_native();
}

/**
 * debugctl_cleared - Tell that the processor has cleared bits of DEBUGCTL
 * @mask: the bits
 *
 * For a PMI that froze the LBRs: whoever writes DEBUGCTL before perf is done
 * with them must not start them again.
 */
static __always_inline void debugctl_cleared(unsigned long mask)
{
	this_cpu_and(debugctl_copy, ~mask);
}

/**
 * debugctl_load_guest - Run a guest with its own DEBUGCTL
 * @val: the guest's value
 *
 * Only for SVM, between CLGI and STGI: no NMI comes between this and the
 * debugctl_sync() after the exit.
 */
static __always_inline void debugctl_load_guest(unsigned long val)
{
	wrmsrq(MSR_IA32_DEBUGCTLMSR, val);
}

/**
 * debugctl_write_lbr - Set or clear LBR on this CPU
 * @on: which
 *
 * debugctl_write_field() for noinstr code. The LBRs keep what they hold.
 */
static __always_inline void debugctl_write_lbr(bool on)
{
	if (on)
		this_cpu_or(debugctl_copy, DEBUGCTLMSR_LBR);
	else
		debugctl_cleared(DEBUGCTLMSR_LBR);

	debugctl_sync_native();
}

/**
 * struct debugctl_yielder - an owner of fields who gives them up to any other
 * @mask:	the fields
 * @give_up:	stop using them, on all CPUs; the other owner has them on return
 * @take:	use them
 *
 * Both functions are called in process context, one at a time, and must not call
 * debugctl_claim() or the like.
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
