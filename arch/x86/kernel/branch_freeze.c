// SPDX-License-Identifier: GPL-2.0
/*
 * Freezing all CPUs: see branch_freeze.h
 */

#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/smp.h>

#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/irq_vectors.h>

#include "branch_freeze.h"

/**
 * branch_count_thaw - count a thaw
 * @f:		of what
 * @freezes:	how many freezes there were when it was decided; if somebody has undone
 *		all of them since, nothing changes
 */
void branch_count_thaw(struct branch_freezes *f, u32 freezes)
{
	int last = atomic_read(&f->thawed);

	do {
		if ((s32)(freezes - last) <= 0)
			return;
	} while (!atomic_try_cmpxchg(&f->thawed, &last, freezes));
}

/**
 * branch_freeze_claims - tell whether an NMI that no other handler claims was for a freeze
 * @nmi: this CPU's
 *
 * Two CPUs may freeze a third at once, another NMI may come first, or a thaw: which
 * NMI was sent for which freeze cannot be told. So for one second after a freeze this
 * claims each NMI that no other handler claims.
 *
 * Return: true if so.
 */
bool branch_freeze_claims(struct branch_freeze_nmi *nmi)
{
	if (!READ_ONCE(nmi->awaited))
		return false;
	if (jiffies - READ_ONCE(nmi->when) < HZ)
		return true;

	/* Or it were time again whenever jiffies wraps. */
	WRITE_ONCE(nmi->awaited, false);

	return false;
}

/**
 * branch_freeze_send - send an NMI to each other CPU that is online
 * @nmi: theirs, for branch_freeze_asked() in their handlers
 *
 * Any context, with interrupts off.
 */
void branch_freeze_send(struct branch_freeze_nmi __percpu *nmi)
{
#ifdef CONFIG_SMP
	unsigned int cpu, self = raw_smp_processor_id();
	u32 target = 0;

	if (!boot_cpu_has(X86_FEATURE_APIC))
		return;

	/* In an NMI: whoever was interrupted may be about to send an IPI. */
	if (in_nmi() && !x2apic_enabled())
		target = apic_read(APIC_ICR2);

	for_each_online_cpu(cpu) {
		struct branch_freeze_nmi *its = per_cpu_ptr(nmi, cpu);

		if (cpu == self)
			continue;
		WRITE_ONCE(its->when, jiffies);
		WRITE_ONCE(its->awaited, true);
		WRITE_ONCE(its->asked, true);
		__apic_send_IPI(cpu, NMI_VECTOR);
	}

	if (in_nmi() && !x2apic_enabled()) {
		safe_apic_wait_icr_idle();
		apic_write(APIC_ICR2, target);
	}
#endif
}
