// SPDX-License-Identifier: GPL-2.0
/*
 * Freezes of all CPUs: thaw the CPUs, send the NMIs, and recognize the NMIs. See branch_freeze.h
 */
#define pr_fmt(fmt) "x86/branch_freeze: " fmt

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include <asm/apic.h>
#include <asm/irq_vectors.h>

#include "branch_freeze.h"

/**
 * branch_count_thaw - set the number of the last freeze that a thaw has undone
 * @f:		the freezes
 * @freezes:	the number. If another thaw has undone this freeze already, nothing changes
 */
void branch_count_thaw(struct branch_freezes *f, u32 freezes)
{
	int last = atomic_read(&f->thawed);

	do {
		if ((s32)(freezes - last) <= 0)
			return;
	} while (!atomic_try_cmpxchg(&f->thawed, &last, freezes));
}

/* Wait until @work has run on a CPU, but not after @end. */
static void branch_await_thaw(struct irq_work *work, int cpu, u64 end)
{
	while (irq_work_is_busy(work)) {
		if ((s64)(ktime_get_mono_fast_ns() - end) >= 0) {
			pr_warn("CPU %d does not respond: it thaws when it does\n", cpu);
			return;
		}
		usleep_range(20, 100);
	}
}

/**
 * branch_thaw_cpus - thaw each CPU
 * @thaw: hard irq_works that thaw the CPU on which they run
 *
 * Called after branch_count_thaw(). May sleep. A CPU may be locked up with interrupts off, so this
 * waits for one second at most. Such a CPU thaws when it enables interrupts, and a CPU that is
 * offline when it comes online, unless there was another freeze. This takes no lock of CPU hotplug:
 * code that holds that lock may have crashed.
 */
void branch_thaw_cpus(struct irq_work __percpu *thaw)
{
	/* Not jiffies: a CPU that is locked up may be the one that increments jiffies. */
	u64 end = ktime_get_mono_fast_ns() + NSEC_PER_SEC;
	int cpu;

	/* While preemption is off, no CPU goes offline. A CPU that comes online sees the thaw. */
	scoped_guard(preempt) {
		for_each_online_cpu(cpu)
			irq_work_queue_on(per_cpu_ptr(thaw, cpu), cpu);
	}
	for_each_online_cpu(cpu)
		branch_await_thaw(per_cpu_ptr(thaw, cpu), cpu, end);
}

/**
 * branch_freeze_claims - tell whether an NMI that no other handler claims may be that of a freeze
 * @nmi: the state of this CPU
 *
 * When the NMI of a freeze arrives, branch_freeze_take_request() may find no request: an earlier
 * NMI may have handled the request, or a thaw, for example, may have cleared the request. So for
 * one second after the last request, this function claims each NMI that no other handler claims.
 *
 * Return: true if the NMI is claimed.
 */
bool branch_freeze_claims(struct branch_freeze_nmi *nmi)
{
	if (!READ_ONCE(nmi->awaited))
		return false;
	/* The clocks of two CPUs may differ: the difference may be negative. */
	if ((s64)(ktime_get_mono_fast_ns() - READ_ONCE(nmi->when)) < NSEC_PER_SEC)
		return true;

	WRITE_ONCE(nmi->awaited, false);

	return false;
}

#ifdef CONFIG_SMP
/*
 * Wait until the xAPIC has delivered the previous IPI, but give up after 1000 reads of the ICR.
 * __apic_send_IPI() may wait for the xAPIC as well, but in steps of 100 us.
 */
static void branch_freeze_await_icr(void)
{
	int tries = 1000;

	while (apic_read(APIC_ICR) & APIC_ICR_BUSY && --tries)
		cpu_relax();
}

/**
 * branch_freeze_send - request the freeze of each other online CPU, and send an NMI to it
 * @nmi: the per-CPU states
 *
 * Any context, with interrupts off, after this CPU was frozen. Each CPU gets an IPI of its own. The
 * APIC's shorthand for all CPUs would also reach a CPU that is just being started and has no IDT
 * yet. A function that sends to a mask of CPUs may use a per-CPU temporary mask. If this runs in an
 * NMI, the interrupted code may be using the same temporary mask.
 */
void branch_freeze_send(struct branch_freeze_nmi __percpu *nmi)
{
	unsigned int cpu, self = raw_smp_processor_id();
	bool restore = !x2apic_mode;
	u64 now = ktime_get_mono_fast_ns();
	u32 target = 0;

	if (!boot_cpu_has(X86_FEATURE_APIC))
		return;

	/* An NMI or a kprobe may have interrupted code that has set APIC_ICR2: restore it below. */
	if (restore)
		target = apic_read(APIC_ICR2);

	for_each_online_cpu(cpu) {
		struct branch_freeze_nmi *its = per_cpu_ptr(nmi, cpu);

		if (cpu == self)
			continue;
		WRITE_ONCE(its->when, now);
		WRITE_ONCE(its->awaited, true);
		WRITE_ONCE(its->requested, true);
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
