// SPDX-License-Identifier: GPL-2.0
/*
 * DEBUGCTL, shared bit by bit: the rarely used half. See asm/debugctl.h.
 */

#include <linux/bug.h>
#include <linux/cpufeature.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/spinlock.h>

#include <asm/debugctl.h>

DEFINE_PER_CPU(unsigned long, debugctl_copy);
EXPORT_PER_CPU_SYMBOL_GPL(debugctl_copy);

u8 debugctl_bts_shift __ro_after_init;
unsigned long debugctl_not_bts __ro_after_init = ~DEBUGCTL_BTS;

static const unsigned long debugctl_fields[] = {
	DEBUGCTL_STEP,
	DEBUGCTL_LBR,
	DEBUGCTL_BTS,
	DEBUGCTL_SMM,
	DEBUGCTL_BUSLOCK,
};

static DEFINE_SPINLOCK(debugctl_lock);

/* Block-step, freeze-in-SMM and bus lock detection never give up theirs. */
static unsigned long debugctl_claimed = DEBUGCTL_STEP | DEBUGCTL_SMM | DEBUGCTL_BUSLOCK;

static bool debugctl_whole_fields(unsigned long mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(debugctl_fields); i++) {
		unsigned long field = debugctl_fields[i];

		if ((mask & field) == field)
			mask &= ~field;
	}
	return !mask;
}

/**
 * debugctl_claim - Ask for fields of DEBUGCTL, on all CPUs
 * @mask: one or more of the owners' masks
 *
 * For fields that more than one user can want: LBR and BTS.
 *
 * Return: 0; -EBUSY if any of them is taken, and then none is claimed;
 * -EINVAL if @mask is not made of whole fields.
 */
int debugctl_claim(unsigned long mask)
{
	int err = 0;

	if (!mask || !debugctl_whole_fields(mask))
		return -EINVAL;

	spin_lock(&debugctl_lock);
	if (debugctl_claimed & mask)
		err = -EBUSY;
	else
		debugctl_claimed |= mask;
	spin_unlock(&debugctl_lock);
	return err;
}

/**
 * debugctl_release - Give back what debugctl_claim() has granted
 * @mask: the same mask
 *
 * The caller needs the bits on no CPU any more, and has cleared them there, but for
 * FREEZE_LBRS_ON_PMI with architectural LBRs: perf leaves it as it was last.
 */
void debugctl_release(unsigned long mask)
{
	spin_lock(&debugctl_lock);
	WARN_ON_ONCE((debugctl_claimed & mask) != mask);
	debugctl_claimed &= ~mask;
	spin_unlock(&debugctl_lock);
}

/**
 * debugctl_try_field - Change bits that the CPU may not have
 * @mask: the bits to change, inside one of the owners' masks
 * @val: their new value
 *
 * Like debugctl_write_field(), but also with interrupts on, never from NMI,
 * and only for bits that none but the caller changes: the MSR is not written
 * if they are as wanted. An unsupported bit must not get into the copy, every
 * later write of it would fault. So the MSR is tried first; should an NMI
 * change the copy meanwhile, the sync that follows makes up for the stale
 * value.
 *
 * Return: 0, or the error of a write that faulted; nothing has changed then.
 */
int debugctl_try_field(unsigned long mask, unsigned long val)
{
	unsigned long old;
	int err;

	/* perf's callback for a CPU that starts has them on, on the boot CPU. */
	guard(irqsave)();

	old = debugctl_get();
	if ((old & mask) == val)
		return 0;

	err = wrmsrq_safe(MSR_IA32_DEBUGCTLMSR, (old & ~mask) | val);
	if (err)
		return err;

	__debugctl_change(mask, val);
	debugctl_sync();
	return 0;
}

/**
 * debugctl_cpu_init - Start the copy of this CPU from what its MSR holds
 *
 * Called when the CPU is identified, at boot and at each online, before
 * anybody writes DEBUGCTL there. The CPU may not even have the register.
 *
 * Only a freeze that the firmware left on is taken out. With the one of the LBRs,
 * a PMI clears TR on an Atom, and a trace would end there.
 */
void debugctl_cpu_init(void)
{
	const u64 freezes = DEBUGCTLMSR_FREEZE_LBRS_ON_PMI |
			    DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI;
	u64 val;

	if (!debugctl_exists() || rdmsrq_safe(MSR_IA32_DEBUGCTLMSR, &val))
		val = 0;
	if (val & freezes && !wrmsrq_safe(MSR_IA32_DEBUGCTLMSR, val & ~freezes))
		val &= ~freezes;

	this_cpu_write(debugctl_copy, val);
}

/**
 * debugctl_resume - Restore DEBUGCTL of the CPU that comes out of suspend
 *
 * The other CPUs come through debugctl_cpu_init() and their owners' hotplug
 * callbacks, this one does not. What DS_AREA points to must be back already.
 */
void debugctl_resume(void)
{
	u64 val;

	if (!debugctl_exists() || rdmsrq_safe(MSR_IA32_DEBUGCTLMSR, &val))
		return;

	if (val != debugctl_get())
		debugctl_sync();
}

/**
 * debugctl_emergency_stop_bts - Stop BTS on this CPU, whoever uses it
 *
 * For cpu_emergency_stop_bts(), in any context: no lock, no tracepoint. Nothing here
 * keeps others from setting it again.
 */
void debugctl_emergency_stop_bts(void)
{
	if (!boot_cpu_has(X86_FEATURE_BTS))
		return;

	debugctl_cleared(debugctl_bts_bits(DEBUGCTL_BTS));
	native_wrmsrq(MSR_IA32_DEBUGCTLMSR, debugctl_get());
}

/* Before ds.c, which is linked later, writes the field. */
static int __init debugctl_init(void)
{
	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL && boot_cpu_data.x86 == 15) {
		debugctl_bts_shift = 4;
		debugctl_not_bts = ~(DEBUGCTL_BTS >> debugctl_bts_shift);
	}

	return 0;
}
early_initcall(debugctl_init);
