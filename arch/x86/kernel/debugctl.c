// SPDX-License-Identifier: GPL-2.0
/*
 * DEBUGCTL, shared bit by bit: the rarely used half. See asm/debugctl.h.
 */

#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/cpufeature.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>

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

static DEFINE_MUTEX(debugctl_mutex);

/* The one who gives up its fields when somebody else claims them, and takes them back. */
static const struct debugctl_yielder *debugctl_yielder;

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

/* The yielding owner has its fields while nobody claims one of them. */
static bool debugctl_yielder_has(void)
{
	return debugctl_yielder && !(debugctl_claimed & debugctl_yielder->mask);
}

/**
 * debugctl_claim - Ask for fields of DEBUGCTL, on all CPUs
 * @mask: one or more of the owners' masks
 *
 * For fields that more than one user can want: LBR and BTS. May sleep. If the
 * yielding owner has one of them, it has given it up on all CPUs on return.
 *
 * Return: 0; -EBUSY if any of them is taken, and then none is claimed;
 * -EINVAL if @mask is not made of whole fields.
 */
int debugctl_claim(unsigned long mask)
{
	bool had;

	if (!mask || !debugctl_whole_fields(mask))
		return -EINVAL;

	guard(mutex)(&debugctl_mutex);
	if (debugctl_claimed & mask)
		return -EBUSY;

	had = debugctl_yielder_has();
	debugctl_claimed |= mask;
	if (had && !debugctl_yielder_has())
		debugctl_yielder->give_up();
	return 0;
}

/**
 * debugctl_release - Give back what debugctl_claim() has granted
 * @mask: the same mask
 *
 * The caller needs the bits on no CPU any more, and has cleared them there, but for
 * FREEZE_LBRS_ON_PMI with architectural LBRs: perf leaves it as it was last. May
 * sleep. The yielding owner takes its field back before this returns.
 */
void debugctl_release(unsigned long mask)
{
	bool had;

	guard(mutex)(&debugctl_mutex);
	WARN_ON_ONCE((debugctl_claimed & mask) != mask);
	had = debugctl_yielder_has();
	debugctl_claimed &= ~mask;
	if (!had && debugctl_yielder_has())
		debugctl_yielder->take();
}

/**
 * debugctl_claim_yielding - Have fields of DEBUGCTL while nobody else claims them
 * @yielder: the fields, and what to do
 *
 * ->take() is called at once if the fields are free, and otherwise when they are. May
 * sleep.
 *
 * Return: 0; -EBUSY if there is such an owner already; -EINVAL if the mask is not
 * made of whole fields.
 */
int debugctl_claim_yielding(const struct debugctl_yielder *yielder)
{
	if (!yielder->mask || !debugctl_whole_fields(yielder->mask))
		return -EINVAL;

	guard(mutex)(&debugctl_mutex);
	if (debugctl_yielder)
		return -EBUSY;

	debugctl_yielder = yielder;
	if (debugctl_yielder_has())
		yielder->take();
	return 0;
}

/**
 * debugctl_release_yielding - End debugctl_claim_yielding()
 *
 * Calls ->give_up() if the fields are not given up. May sleep.
 */
void debugctl_release_yielding(void)
{
	guard(mutex)(&debugctl_mutex);
	if (debugctl_yielder_has())
		debugctl_yielder->give_up();
	debugctl_yielder = NULL;
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
 * Only a freeze that the firmware left on is taken out, and the LBRs that the kernel
 * before a kexec left on. With the freeze of the LBRs, a PMI clears TR on an Atom, and a
 * trace would end there.
 */
void debugctl_cpu_init(void)
{
	const u64 unwanted = DEBUGCTLMSR_LBR | DEBUGCTLMSR_FREEZE_LBRS_ON_PMI |
			     DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI;
	u64 val;

	if (!debugctl_exists() || rdmsrq_safe(MSR_IA32_DEBUGCTLMSR, &val))
		val = 0;
	if (val & unwanted && !wrmsrq_safe(MSR_IA32_DEBUGCTLMSR, val & ~unwanted))
		val &= ~unwanted;

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
