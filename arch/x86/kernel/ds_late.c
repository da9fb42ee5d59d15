// SPDX-License-Identifier: GPL-2.0
/*
 * Claim late PMIs of BTS.
 *
 * The PMI may arrive some branches after the record that requests it. If the owner of BTS has
 * stopped BTS meanwhile, delivered the records and reset the index, its NMI handler does not
 * recognize the PMI. Then the PMI is an NMI of unknown origin, which is claimed here.
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
 * struct ds_late_pmis - the PMIs that may arrive late on a CPU
 * @nr:		the number of PMIs that were requested, and may not have arrived
 * @when:	when @nr was last incremented, in jiffies
 */
struct ds_late_pmis {
	u32		nr;
	unsigned long	when;
};

static DEFINE_PER_CPU(struct ds_late_pmis, ds_late_pmis);

/**
 * ds_late_pmi_due - tell whether a late PMI may still arrive on this CPU
 *
 * A PMI is not as late as one second.
 *
 * Return: whether ds_claim_late_pmi() claims the next NMI of unknown origin.
 */
bool ds_late_pmi_due(void)
{
	return this_cpu_read(ds_late_pmis.nr) &&
	       jiffies - this_cpu_read(ds_late_pmis.when) < HZ;
}

/**
 * ds_expect_late_pmi - claim a PMI on this CPU if it arrives late
 *
 * Called with interrupts off, or in an NMI, when the hardware has requested a PMI and does not
 * record any more, and before the index is reset. Expect two PMIs at most, so that no more than two
 * NMIs of unknown origin are claimed.
 */
void ds_expect_late_pmi(void)
{
	if (!ds_late_pmi_due())
		this_cpu_write(ds_late_pmis.nr, 0);
	this_cpu_write(ds_late_pmis.when, jiffies);
	if (this_cpu_read(ds_late_pmis.nr) < 2)
		this_cpu_inc(ds_late_pmis.nr);
	barrier();
}

/**
 * ds_late_pmi_arrived - undo ds_expect_late_pmi(): the owner's NMI handler has recognized the PMI
 *
 * ds_claim_late_pmi() may change the number meanwhile, in an NMI. If two PMIs were expected
 * already, ds_expect_late_pmi() has not counted this one, and one of the two will not be claimed.
 */
void ds_late_pmi_arrived(void)
{
	u32 nr = this_cpu_read(ds_late_pmis.nr);

	while (nr && !this_cpu_try_cmpxchg(ds_late_pmis.nr, &nr, nr - 1))
		;
}

/**
 * ds_expect_perf_pmi - call ds_expect_late_pmi() if the PMI of perf's BTS may arrive late
 *
 * Called when perf has just stopped BTS, and before it resets the index. The PMI may have arrived
 * already, between the stop and this call: then the next unknown NMI is claimed wrongly, if it
 * comes within a second.
 */
void ds_expect_perf_pmi(void)
{
	const struct debug_store *ds = ds_store(smp_processor_id());

	/* In an NMI, this is usually the PMI. */
	if (!in_nmi() && ds_read(ds, DS_BTS, DS_INDEX) >= ds_read(ds, DS_BTS, DS_THRESHOLD))
		ds_expect_late_pmi();
}

/**
 * ds_claim_late_pmi - claim an NMI of unknown origin if it may be a late PMI
 *
 * Called in the NMI. A unit test calls it, too, with migration disabled.
 *
 * Return: whether the NMI is claimed.
 */
bool ds_claim_late_pmi(void)
{
	if (!ds_late_pmi_due())
		return false;

	this_cpu_dec(ds_late_pmis.nr);

	return true;
}

/* Called for an NMI that no NMI_LOCAL handler claims. */
static int ds_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	return ds_claim_late_pmi() ? NMI_HANDLED : NMI_DONE;
}

static int __init ds_late_init(void)
{
	if (!ds_has(DS_BTS))
		return 0;

	return register_nmi_handler(NMI_UNKNOWN, ds_unknown_nmi, 0, "x86/ds");
}
arch_initcall(ds_late_init);
