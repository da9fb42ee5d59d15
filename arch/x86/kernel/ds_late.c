// SPDX-License-Identifier: GPL-2.0
/*
 * Claim late PMIs of perf's BTS.
 *
 * The PMI may arrive some branches after the record that requests it. If perf has stopped BTS
 * meanwhile, and delivered the records, perf's NMI handler does not recognize the PMI. The claimant
 * of BTS claims its late PMIs itself.
 */
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>

#include <asm/ds.h>
#include <asm/nmi.h>

/**
 * struct ds_late_pmi - the PMI of perf's BTS that may arrive late on a CPU
 * @expected:	the PMI was requested, and may not have arrived
 * @when:	when @expected was set, in jiffies
 */
struct ds_late_pmi {
	bool		expected;
	unsigned long	when;
};

static DEFINE_PER_CPU(struct ds_late_pmi, ds_late_pmi);

/**
 * ds_expect_late_pmi - claim the PMI of perf's BTS on this CPU if it arrives late
 *
 * Called with interrupts off, or in an NMI, after perf has stopped BTS, and before it resets the
 * index. One PMI is expected. It may have arrived already, between the stop and this call: then the
 * next unknown NMI is claimed wrongly, if it comes within a second.
 */
void ds_expect_late_pmi(void)
{
	const struct debug_store *ds = ds_store(smp_processor_id());

	/* In an NMI, this is usually the PMI. */
	if (in_nmi() || ds_read(ds, DS_BTS, DS_INDEX) < ds_read(ds, DS_BTS, DS_THRESHOLD))
		return;

	this_cpu_write(ds_late_pmi.when, jiffies);
	barrier();
	this_cpu_write(ds_late_pmi.expected, true);
}

/* Called for an NMI that no NMI_LOCAL handler claims. A PMI is not as late as one second. */
static int ds_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	if (!this_cpu_read(ds_late_pmi.expected))
		return NMI_DONE;

	this_cpu_write(ds_late_pmi.expected, false);

	return jiffies - this_cpu_read(ds_late_pmi.when) < HZ ? NMI_HANDLED : NMI_DONE;
}

static int __init ds_late_init(void)
{
	if (!ds_has(DS_BTS))
		return 0;

	return register_nmi_handler(NMI_UNKNOWN, ds_unknown_nmi, 0, "x86/ds");
}
arch_initcall(ds_late_init);
