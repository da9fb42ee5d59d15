// SPDX-License-Identifier: GPL-2.0
/*
 * Freezing all CPUs: see branch_freeze.h
 */

#include <linux/cpumask.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include <asm/apic.h>
#include <asm/irq_vectors.h>

#include "branch_freeze.h"

/**
 * branch_count_thaw - note that a thaw undoes freezes
 * @f:		the freezes of one source
 * @freezes:	the number of freezes when the thaw was decided; if they have all been
 *		undone since, nothing changes
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
 * @nmi: the state of this CPU
 *
 * Two CPUs may freeze a third one at the same time, and another NMI or a thaw may come
 * before the NMI of a freeze. So it is not known which NMI was sent for which freeze.
 * Therefore each NMI that no other handler claims is claimed here for one second after
 * a freeze.
 *
 * Return: true if so.
 */
bool branch_freeze_claims(struct branch_freeze_nmi *nmi)
{
	if (!READ_ONCE(nmi->awaited))
		return false;
	if (ktime_get_mono_fast_ns() - READ_ONCE(nmi->when) < NSEC_PER_SEC)
		return true;

	WRITE_ONCE(nmi->awaited, false);

	return false;
}

#ifdef CONFIG_SMP
/* Without x2APIC, sending an IPI waits 100 us if the one before is not delivered at once. */
static void branch_freeze_await_icr(void)
{
	int tries = 1000;

	while (apic_read(APIC_ICR) & APIC_ICR_BUSY && --tries)
		cpu_relax();
}

/**
 * branch_freeze_send - send an NMI to each other CPU that is online
 * @nmi: the state of each CPU, for branch_freeze_asked() in their NMI handlers
 *
 * Any context, with interrupts off. The ICR is written once for each CPU. A shorthand would also
 * reach a CPU that is just being started and has no IDT yet. The functions that send to many
 * CPUs use a mask, and an NMI may have interrupted code that uses it. This function need not be
 * notrace: this CPU is frozen already, so the branches of function tracing are not recorded.
 */
void branch_freeze_send(struct branch_freeze_nmi __percpu *nmi)
{
	unsigned int cpu, self = raw_smp_processor_id();
	bool restore = in_nmi() && !x2apic_mode;
	u64 now = ktime_get_mono_fast_ns();
	u32 target = 0;

	if (!boot_cpu_has(X86_FEATURE_APIC))
		return;

	/* An NMI may have interrupted code that has set APIC_ICR2 to send an IPI: restore it. */
	if (restore)
		target = apic_read(APIC_ICR2);

	for_each_online_cpu(cpu) {
		struct branch_freeze_nmi *its = per_cpu_ptr(nmi, cpu);

		if (cpu == self)
			continue;
		WRITE_ONCE(its->when, now);
		WRITE_ONCE(its->awaited, true);
		WRITE_ONCE(its->asked, true);
		if (!x2apic_mode)
			branch_freeze_await_icr();
		__apic_send_IPI(cpu, NMI_VECTOR);
	}

	if (restore) {
		safe_apic_wait_icr_idle();
		apic_write(APIC_ICR2, target);
	}
}
#endif
