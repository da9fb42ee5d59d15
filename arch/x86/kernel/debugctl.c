// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing the bits of DEBUGCTL: functions that are rarely called. See asm/debugctl.h.
 */

#include <linux/cleanup.h>
#include <linux/cpufeature.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irqflags.h>

#include <asm/debugctl.h>

DEFINE_PER_CPU(unsigned long, debugctl_copy);
EXPORT_PER_CPU_SYMBOL_GPL(debugctl_copy);

u8 debugctl_bts_shift __ro_after_init;
unsigned long debugctl_bts_mask __ro_after_init = DEBUGCTL_BTS;

/**
 * debugctl_try_field - Change bits of DEBUGCTL on this CPU, which may not support them
 * @mask: the bits to change, inside one field
 * @val: their new value, without bits outside @mask
 *
 * Unlike debugctl_write_field(), this may be called with interrupts on, but not from NMI. If
 * the copy has the value already, this does nothing. The caller makes sure that no NMI changes
 * these bits meanwhile. This function writes the MSR before the copy: if the copy had an
 * unsupported bit, each later write of the copy to the MSR would fault. An NMI may change other
 * bits of the copy meanwhile. Then the first write may store stale bits in the MSR, and
 * debugctl_sync() corrects them.
 *
 * Return: 0, or the error of the write if it faulted; then nothing has changed.
 */
int debugctl_try_field(unsigned long mask, unsigned long val)
{
	unsigned long old;
	int err;

	/* On the boot CPU, perf's callback for a starting CPU may run with interrupts on. */
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
 * Called by identify_cpu(), at boot and whenever the CPU comes online, before any owner writes
 * DEBUGCTL there. If the CPU does not have the register, the copy is 0.
 *
 * Clear the FREEZE_*_ON_PMI bits, which the firmware may have left set, and LBR and BTF, which the
 * kernel before a kexec may have left set. With FREEZE_LBRS_ON_PMI, Atom models clear TR, probably
 * at a PMI, and BTS would stop recording: see "Last Branch, Interrupt, and Exception Recording
 * (Intel Core 2 Duo and Intel Atom Processors)" in volume 3 of Intel's manual. If BTF stayed in the
 * copy, each #DB of the kernel would set it again, and a single step of kdb would end at the next
 * branch.
 */
void debugctl_cpu_init(void)
{
	const u64 unwanted = DEBUGCTLMSR_LBR | DEBUGCTLMSR_BTF |
			     DEBUGCTLMSR_FREEZE_LBRS_ON_PMI |
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
 * This CPU was not offline: debugctl_cpu_init() and the hotplug callbacks of the owners are
 * called on the other CPUs only. Called after DS_AREA was restored: if BTS is set in the copy,
 * the processor uses DS_AREA at once.
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
 * For cpu_emergency_stop_bts(), in any context: this takes no lock and has no tracepoint. A later
 * debugctl_write_bts() can set BTS again.
 */
void debugctl_emergency_stop_bts(void)
{
	if (!boot_cpu_has(X86_FEATURE_BTS))
		return;

	debugctl_clear_copy(debugctl_bts_bits(DEBUGCTL_BTS));
	debugctl_sync_untraced();
}

/* The early_initcalls that may write the BTS field are linked after debugctl.o. */
static int __init debugctl_init(void)
{
	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL && boot_cpu_data.x86 == 15) {
		debugctl_bts_shift = 4;
		debugctl_bts_mask = DEBUGCTL_BTS >> debugctl_bts_shift;
	}

	return 0;
}
early_initcall(debugctl_init);
