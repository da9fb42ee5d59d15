// SPDX-License-Identifier: GPL-2.0
/*
 * The Debug Store as a source of branch traces: see bts_ds_buffer.c for how it is used
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include <asm/bts.h>
#include <asm/cpu_device_id.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>

#include "bts_ds.h"
#include "bts_ds_peek.h"

/*
 * Resume recording after a #DB that has cleared TR. Intel's manual says that a #DB clears LBR and
 * not TR ("Monitoring Branches, Exceptions, and Interrupts" in volume 3). Some model may differ.
 * bts_ds_drain() marks the gap in the traces that lost branches of the kernel.
 */
static void bts_ds_restart(void)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);

	if (!READ_ONCE(bts_ds_claimed) || !bts_ds_may_restart(d))
		return;

	WRITE_ONCE(d->state, BTS_DS_BUSY);
	barrier();
	ds_bts_write(0);
	bts_ds_drain(d);
	if (!bts_ds_resume())
		bts_deliver_gap();
}

static bool bts_ds_unfreeze(void)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);
	bool frozen = READ_ONCE(d->frozen);

	if (!READ_ONCE(bts_ds_claimed))
		return false;

	WRITE_ONCE(d->freeze.requested, false);
	/* If @frozen is false, an NMI may have frozen the CPU since: the next thaw will undo it. */
	if (frozen)
		WRITE_ONCE(d->frozen, false);

	return frozen;
}

static void bts_ds_freeze_others(void)
{
	if (READ_ONCE(bts_ds_claimed))
		branch_freeze_send(&bts_ds.freeze);
}

static bool bts_ds_frozen(int cpu)
{
	return READ_ONCE(per_cpu(bts_ds.frozen, cpu));
}

static bool bts_ds_draining(int cpu)
{
	return READ_ONCE(per_cpu(bts_ds.state, cpu)) == BTS_DS_BUSY;
}

static bool bts_ds_peek(int cpu, u32 newer, struct bts_raw *rec)
{
	return ds_bts_peek(cpu, READ_ONCE(per_cpu(bts_ds.circular, cpu)), newer, rec);
}

static void bts_ds_scrub(int cpu)
{
	struct bts_ds *d = per_cpu_ptr(&bts_ds, cpu);

	if (READ_ONCE(bts_ds_claimed) &&
	    (cpu_is_offline(cpu) || (!d->frozen && d->state != BTS_DS_ON)))
		memset(bts_ds_pos(d, DS_BASE), 0,
		       bts_ds_pos(d, DS_MAXIMUM) - bts_ds_pos(d, DS_BASE));
}

static void bts_ds_reset(int cpu)
{
	struct bts_ds *d = per_cpu_ptr(&bts_ds, cpu);

	WRITE_ONCE(d->state, BTS_DS_OFF);
	WRITE_ONCE(d->freeze.requested, false);
	WRITE_ONCE(d->frozen, false);
	WRITE_ONCE(d->pmi_seen, false);
	WRITE_ONCE(per_cpu(bts_cleared, cpu), false);
	d->may_be_repeat = false;
	bts_ds_reset_backoff(d);
}

static void bts_ds_reset_here(void *unused)
{
	bts_ds_reset(smp_processor_id());
}

static int bts_ds_get(bool (*give_way)(bool privileged))
{
	int err = bts_ds_watch_nmis() ?: ds_claim_bts(give_way);
	unsigned int cpu;

	if (err)
		return err;

	/* A CPU may have been frozen after bts_ds_put() had reset it. */
	for_each_possible_cpu(cpu)
		bts_ds_reset(cpu);
	WRITE_ONCE(bts_ds_claimed, true);

	return 0;
}

/* Release BTS. Frozen records are dropped: no context will get them. */
static void bts_ds_put(void)
{
	unsigned int cpu;

	lockdep_assert_cpus_held();

	on_each_cpu(bts_ds_reset_here, NULL, 1);
	for_each_possible_cpu(cpu) {
		if (!cpu_online(cpu))
			bts_ds_reset(cpu);
	}
	WRITE_ONCE(bts_ds_claimed, false);
	ds_unclaim_bts();
}

static struct bts_source bts_ds_source __ro_after_init = {
	.id		= BTS_SOURCE_DS,
	.props		= &bts_ds_props,
	.get		= bts_ds_get,
	.put		= bts_ds_put,
	.pause		= bts_ds_pause,
	.resume		= bts_ds_resume,
	.restart	= bts_ds_restart,
	.scrub		= bts_ds_scrub,
	.freeze		= bts_ds_freeze,
	.freeze_others	= bts_ds_freeze_others,
	.unfreeze	= bts_ds_unfreeze,
	.frozen		= bts_ds_frozen,
	.hold		= ds_bts_hold,
	.release	= ds_bts_release,
	.peek		= bts_ds_peek,
	.draining	= bts_ds_draining,
};

/*
 * Errata, from the specification updates of the models.
 * BTS_DS_UNRELIABLE: a record may be wrong or lost after SMM (BU10 and similar), or during a change
 * of the power state (AF36). Software cannot tell which record, so the records of all branches
 * get X86_BTS_F_UNRELIABLE.
 * BTS_DS_NO_FILTER: if the CPL filter is in use, a record where the privilege level changes may
 * have a wrong @from (W125, AR62).
 */
#define BTS_DS_UNRELIABLE	BIT(0)
#define BTS_DS_NO_FILTER	BIT(1)

static const struct x86_cpu_id bts_ds_errata[] = {
	X86_MATCH_VFM(INTEL_CORE_YONAH,		BTS_DS_NO_FILTER | BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_CORE2_MEROM,	BTS_DS_NO_FILTER),
	X86_MATCH_VFM(INTEL_CORE2_MEROM_L,	BTS_DS_NO_FILTER),
	X86_MATCH_VFM(INTEL_CORE2_PENRYN,	BTS_DS_NO_FILTER),
	X86_MATCH_VFM(INTEL_CORE2_DUNNINGTON,	BTS_DS_NO_FILTER),
	X86_MATCH_VFM(INTEL_NEHALEM_EP,		BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_NEHALEM,		BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_NEHALEM_G,		BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_NEHALEM_EX,		BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_WESTMERE,		BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_WESTMERE_EP,	BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_WESTMERE_EX,	BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_SANDYBRIDGE,	BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_SANDYBRIDGE_X,	BTS_DS_UNRELIABLE),
	X86_MATCH_VFM(INTEL_IVYBRIDGE,		BTS_DS_UNRELIABLE),
	{ }
};

static int __init bts_ds_init(void)
{
	const struct x86_cpu_id *match;
	unsigned int cpu;

	if (!ds_has(DS_BTS) || boot_cpu_has(X86_FEATURE_XENPV))
		return 0;

	for_each_possible_cpu(cpu) {
		per_cpu(bts_ds.store, cpu) = ds_store(cpu);
		per_cpu(bts_ds.min_records_to_pmi, cpu) = BTS_DS_PROGRESS;
	}

	match = x86_match_cpu(bts_ds_errata);
	if (match && match->driver_data & BTS_DS_UNRELIABLE)
		bts_ds_props.flags = X86_BTS_F_UNRELIABLE;
	bts_ds_filters = boot_cpu_has(X86_FEATURE_DSCPL) &&
			 !(match && match->driver_data & BTS_DS_NO_FILTER);
	bts_ds_source.filters = bts_ds_filters;
	bts_register_source(&bts_ds_source);

	return 0;
}
arch_initcall(bts_ds_init);
