// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing the bits of DEBUGCTL: functions that are rarely called. See asm/debugctl.h.
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
unsigned long debugctl_bts_mask __ro_after_init = DEBUGCTL_BTS;

static const unsigned long debugctl_fields[] = {
	DEBUGCTL_STEP,
	DEBUGCTL_LBR,
	DEBUGCTL_BTS,
	DEBUGCTL_SMM,
	DEBUGCTL_BUSLOCK,
};

static DEFINE_MUTEX(debugctl_mutex);

/* The owner that gives its fields up when they are claimed, and takes them back later. */
static const struct debugctl_yielder *debugctl_yielder;

/* The owners block-step, freeze-in-SMM and bus lock detection always have their fields. */
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

/* Tell whether the yielding owner has its fields: none of them is claimed. */
static bool debugctl_yielder_has(void)
{
	return debugctl_yielder && !(debugctl_claimed & debugctl_yielder->mask);
}

/**
 * debugctl_claim - Claim fields of DEBUGCTL, on all CPUs
 * @mask: one or more of the owners' masks
 *
 * For fields that may have several users: LBR and BTS. May sleep. If the yielding
 * owner has one of them, it gives them up on all CPUs before this returns.
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
 * debugctl_release - Release fields that debugctl_claim() has granted
 * @mask: a mask that was claimed, or some of its fields
 *
 * The caller has cleared the bits on all CPUs, except for FREEZE_LBRS_ON_PMI with
 * architectural LBRs, which perf does not clear. May sleep. The yielding owner takes
 * its fields back before this returns.
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
 * debugctl_claim_yielding - Use fields of DEBUGCTL while no other owner claims them
 * @yielder: the fields, and its callbacks
 *
 * If the fields are free, ->take() is called at once, otherwise when they are released.
 * May sleep.
 *
 * Return: 0; -EBUSY if there is a yielding owner already; -EINVAL if the mask is not
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
 * debugctl_release_yielding - Undo debugctl_claim_yielding()
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
 * debugctl_try_field - Change bits that the CPU may not support
 * @mask: the bits to change, inside one of the owners' masks
 * @val: their new value
 *
 * Like debugctl_write_field(), with these differences: it may be called with
 * interrupts on, and must not be called from NMI. Only the caller changes these bits:
 * the MSR is not written if they have the value already. If an unsupported bit got
 * into the copy, every later write of the copy would fault. So the MSR is written
 * first. If an NMI changes the copy meanwhile, debugctl_sync() overwrites the stale
 * value.
 *
 * Return: 0, or the error of the write if it faulted; then nothing has changed.
 */
int debugctl_try_field(unsigned long mask, unsigned long val)
{
	unsigned long old;
	int err;

	/* On the boot CPU, perf's callback for a starting CPU runs with interrupts on. */
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
 * debugctl_cpu_init - Initialize the copy of this CPU from its MSR
 *
 * Called when the CPU is identified, at boot and whenever it comes online, before any
 * owner writes DEBUGCTL there. The CPU may not have the register.
 *
 * Clear the FREEZE_*_ON_PMI bits, which the firmware may have left set, and LBR, which the
 * kernel before a kexec may have left set. With FREEZE_LBRS_ON_PMI, a PMI clears TR on
 * Atom models, and a trace would end there.
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
 * debugctl_resume - Restore DEBUGCTL of the CPU that resumes first from suspend
 *
 * For the other CPUs, debugctl_cpu_init() and the hotplug callbacks of the owners are
 * called, but not for this one. Call this after DS_AREA has been restored.
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
 * debugctl_emergency_stop_bts - Stop BTS on this CPU, whatever code uses it
 *
 * For cpu_emergency_stop_bts(), in any context: no lock, no tracepoint. This does not
 * prevent other code from setting BTS again.
 */
void debugctl_emergency_stop_bts(void)
{
	if (!boot_cpu_has(X86_FEATURE_BTS))
		return;

	debugctl_cleared(debugctl_bts_bits(DEBUGCTL_BTS));
	native_wrmsrq(MSR_IA32_DEBUGCTLMSR, debugctl_get());
}

/* Called before the early_initcall() of ds.c, which is linked later and writes the field. */
static int __init debugctl_init(void)
{
	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL && boot_cpu_data.x86 == 15) {
		debugctl_bts_shift = 4;
		debugctl_bts_mask = DEBUGCTL_BTS >> debugctl_bts_shift;
	}

	return 0;
}
early_initcall(debugctl_init);
