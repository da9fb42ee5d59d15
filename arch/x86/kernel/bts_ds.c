// SPDX-License-Identifier: GPL-2.0
/*
 * The Debug Store as a source of branch traces
 *
 * Each CPU has one buffer, in its entry area. It is used in one of two ways:
 *
 *  - With interrupt: the PMI comes when a threshold is reached; what is there
 *    is handed up then, and whenever the CPU is paused. Whatever finds the
 *    buffer full is lost.
 *  - Circular: the newest records are there when somebody asks, and nothing
 *    runs in between. Also where there is no APIC to deliver the PMI.
 *
 * An NMI handler of somebody else runs with LVTPC masked if a counter has
 * overflowed. Models may drop a PMI then, and may ask for one only when the
 * threshold is crossed. So nothing of the kernel is recorded while handlers of
 * NMIs run, and the last one looks at the threshold.
 *
 * The state says who may touch the positions and hand records up: ON, the NMI
 * handler; BUSY or OFF, the level that set it, as nothing is recorded.
 * 'frozen' is set by anybody at any time. It stops recording at once, whatever
 * the state, and keeps what is there from being handed up: the level that
 * switches recording on looks at it afterwards.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <asm/bts.h>
#include <asm/cpu_device_id.h>
#include <asm/debugctl.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>
#include <asm/ptrace.h>

#include "bts_ds.h"
#include "bts_ds_peek.h"

DEFINE_PER_CPU(struct bts_ds, bts_ds);

struct bts_told bts_ds_told;

/* There is a CPL filter that can be used. */
static bool bts_ds_filters __ro_after_init;

bool bts_ds_claimed;

/*
 * Room for the records that come in between the threshold and the NMI handler. If
 * there are more of them, they are lost, and a gap is marked. KASAN and lockdep make
 * the way to the handler several times as long.
 */
#define BTS_DS_RESERVE \
	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_PROVE_LOCKING) ? 680 : 170)

static_assert(BTS_BUFFER_SIZE / sizeof(struct bts_raw) >
	      BTS_DS_RESERVE + BTS_DS_WAY_OUT + BTS_DS_PROGRESS);

/* Hand up @n records at @at, which have fields of 32 bits. */
static void bts_ds_deliver_narrow(const void *at, u32 n)
{
	struct bts_raw chunk[16];
	u32 i;

	while (n) {
		for (i = 0; i < ARRAY_SIZE(chunk) && i < n; i++) {
			chunk[i].from = bts_ds_word(at, 0);
			chunk[i].to = bts_ds_word(at, 1);
			chunk[i].flags = bts_ds_word(at, 2);
			at += ds_record_size();
		}
		bts_deliver(chunk, i);
		n -= i;
	}
}

static void bts_ds_deliver(const void *from, const void *to)
{
	u32 n = bts_ds_records(from, to);

	if (!n)
		return;
	if (ds_record_size() == sizeof(struct bts_raw))
		bts_deliver(from, n);
	else
		bts_ds_deliver_narrow(from, n);
}

/*
 * A record with the address 0 on both sides cannot be: so the last one tells
 * whether the hardware has come round.
 */
static void *bts_ds_last(const struct bts_ds *d)
{
	return bts_ds_pos(d, DS_MAXIMUM) - ds_record_size();
}

static void bts_ds_clear_last(const struct bts_ds *d)
{
	memset(bts_ds_last(d), 0, ds_record_size());
}

static bool bts_ds_wrapped(const struct bts_ds *d)
{
	void *last = bts_ds_last(d);

	return bts_ds_word(last, 0) || bts_ds_word(last, 1);
}

static void bts_ds_drain_circular(const struct bts_ds *d)
{
	void *index = bts_ds_pos(d, DS_INDEX);

	if (bts_ds_wrapped(d)) {
		bts_deliver_gap();
		bts_ds_deliver(index, bts_ds_pos(d, DS_MAXIMUM));
	}
	bts_ds_deliver(bts_ds_pos(d, DS_BASE), index);
	/* Frozen now, it would be handed up again. */
	bts_ds_clear_last(d);
}

/* A PMI may come of which nothing else tells. No more than two: the second is latched. */
static void bts_ds_expect(struct bts_ds *d)
{
	WRITE_ONCE(d->drained, jiffies);
	if (READ_ONCE(d->slack) < 2)
		this_cpu_inc(bts_ds.slack);
}

/*
 * Hand up what is there; the state is BUSY and the hardware off.
 *
 * A PMI that was asked for comes now, later, or never if the vector was masked.
 * Once the positions are reset nothing else says that it is ours, so @slack
 * must be set before. If it came in between, it said so. One that was not asked for
 * is not ours.
 */
void bts_ds_drain(struct bts_ds *d)
{
	void *base = bts_ds_pos(d, DS_BASE), *max = bts_ds_pos(d, DS_MAXIMUM);
	void *index = bts_ds_pos(d, DS_INDEX);
	bool asked = bts_ds_past_threshold(d);
	u32 slack;

	if (d->circular) {
		bts_ds_drain_circular(d);
	} else {
		bts_ds_deliver(base, min(index, max));
		if (index >= max)
			bts_deliver_gap();
		/* Out of bounds for user mode, but page tables are no protection. */
		if (d->kernel && boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN))
			memset(base, 0, min(index, max) - base);
	}

	/* No PMI is on its way, or it has been here. In this order: it may just come. */
	if (!asked || READ_ONCE(d->pmi_seen)) {
		ds_write(d->store, DS_BTS, DS_INDEX, (unsigned long)base);
		barrier();
		WRITE_ONCE(d->pmi_seen, false);
		return;
	}
	bts_ds_expect(d);
	barrier();
	ds_write(d->store, DS_BTS, DS_INDEX, (unsigned long)base);
	barrier();
	if (READ_ONCE(d->pmi_seen)) {
		WRITE_ONCE(d->pmi_seen, false);
		/* Or a stranger's NMI has taken it. */
		slack = READ_ONCE(d->slack);
		if (slack)
			this_cpu_cmpxchg(bts_ds.slack, slack, slack - 1);
	}
}

/* The code that calls this made progress. Only a PMI changes these. */
static void bts_ds_calm(struct bts_ds *d)
{
	if (likely(!d->interrupted))
		return;
	d->patience = BTS_DS_PROGRESS;
	d->stuck = false;
	d->long_ways = 0;
	d->interrupted = false;
}

static bool bts_ds_pause(void)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);

	lockdep_assert_irqs_disabled();
	if (READ_ONCE(d->frozen))
		return false;
	if (d->state != BTS_DS_OFF) {
		WRITE_ONCE(d->state, BTS_DS_BUSY);
		barrier();
		ds_bts_write(0);
		/* Behind the pause bts_ds_again() cannot tell that it is the last PMI once more. */
		if (d->interrupted && bts_ds_held(d) < d->late)
			bts_ds_expect(d);
		bts_ds_drain(d);
		WRITE_ONCE(d->state, BTS_DS_OFF);
	}
	bts_ds_calm(d);

	return true;
}

/* Set up the positions for @want and return what goes into DEBUGCTL. */
static u64 bts_ds_program(struct bts_ds *d, const struct bts_want *want)
{
	u32 nr = BTS_BUFFER_SIZE / ds_record_size();
	u64 bits = DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS;
	u32 first = want->room;
	bool circular;

	if (bts_ds_filters) {
		if (!(want->flags & BTS_KERNEL))
			bits |= DEBUGCTLMSR_BTS_OFF_OS;
		if (!(want->flags & BTS_USER))
			bits |= DEBUGCTLMSR_BTS_OFF_USR;
	}
	d->kernel = !(bits & DEBUGCTLMSR_BTS_OFF_OS);
	if (d->kernel)
		first = max(first, d->patience);

	circular = want->flags & BTS_FLIGHT || !cpu_feature_enabled(X86_FEATURE_APIC);
	WRITE_ONCE(d->circular, circular);
	if (circular) {
		bts_ds_clear_last(d);
		first = nr + 1;		/* never */
	} else {
		bits |= DEBUGCTLMSR_BTINT;
		first = min(first, nr - BTS_DS_RESERVE);
	}

	ds_write(d->store, DS_BTS, DS_THRESHOLD,
		 ds_read(d->store, DS_BTS, DS_BASE) + (u64)first * ds_record_size());

	return debugctl_bts_bits(bits);
}

/* Switch on what @d->bits says; the state is ON. An NMI may change both at any time. */
static void bts_ds_record(struct bts_ds *d)
{
	u64 bits;

	do {
		bits = READ_ONCE(d->bits);
		ds_bts_write(bits);
		barrier();
	} while (unlikely(bits != READ_ONCE(d->bits)));
	/* Somebody froze this CPU when there was nothing to stop yet. */
	if (READ_ONCE(d->frozen))
		ds_bts_write(0);
}

bool bts_ds_resume(void)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);
	struct bts_want want;

	if (READ_ONCE(d->frozen))
		return false;

	want = bts_want();
	if (unlikely(d->stuck))
		want.flags &= bts_ds_filters ? ~BTS_KERNEL : 0;
	if (!(want.flags & (BTS_USER | BTS_KERNEL))) {
		WRITE_ONCE(d->bits, 0);
		WRITE_ONCE(d->state, BTS_DS_OFF);
		return true;
	}

	WRITE_ONCE(d->bits, bts_ds_program(d, &want));
	WRITE_ONCE(d->state, BTS_DS_ON);
	bts_ds_record(d);

	return true;
}

/*
 * A #DB is said to clear TR on some models. What was recorded up to there is here, and
 * the kernel's branches from there on are missing; it still is on its way to user mode.
 */
static void bts_ds_restart(void)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);

	if (!READ_ONCE(bts_ds_claimed) || d->state != BTS_DS_ON || READ_ONCE(d->frozen))
		return;

	WRITE_ONCE(d->state, BTS_DS_BUSY);
	barrier();
	ds_bts_write(0);
	bts_ds_drain(d);
	bts_deliver_kernel_gap();
	if (!bts_ds_resume())
		bts_deliver_gap();
}

/*
 * A freeze, or the NMI that it sent, may come after the last trace has ended, when
 * positions and buffer are perf's again. So each function that changes a CPU which
 * it has not paused looks at the claim first. ds_unclaim_bts() interrupts all CPUs,
 * so it waits for a function that saw the claim.
 */
void notrace bts_ds_freeze(void)
{
	bool again = this_cpu_read(bts_ds.frozen);

	if (!READ_ONCE(bts_ds_claimed))
		return;

	this_cpu_write(bts_ds.frozen, true);
	barrier();
	ds_bts_write(0);
	if (!again)
		this_cpu_write(bts_ds.frozen_at, ktime_get_mono_fast_ns());
}

static bool bts_ds_unfreeze(void)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);
	bool frozen = d->frozen;

	if (!READ_ONCE(bts_ds_claimed))
		return false;

	WRITE_ONCE(d->freeze.asked, false);
	WRITE_ONCE(d->frozen, false);
	/* The next freeze sets it after @frozen: until then a reader sees no time. */
	WRITE_ONCE(d->frozen_at, 0);

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

static u64 bts_ds_frozen_at(int cpu)
{
	return READ_ONCE(per_cpu(bts_ds.frozen_at, cpu));
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

static void bts_ds_reset(struct bts_ds *d)
{
	/* The slack stays: an NMI may still be on its way. */
	WRITE_ONCE(d->state, BTS_DS_OFF);
	WRITE_ONCE(d->freeze.asked, false);
	WRITE_ONCE(d->frozen, false);
	WRITE_ONCE(d->frozen_at, 0);
	WRITE_ONCE(d->pmi_seen, false);
	d->again = false;
	bts_ds_calm(d);
}

static void bts_ds_reset_here(void *unused)
{
	bts_ds_reset(this_cpu_ptr(&bts_ds));
}

static int bts_ds_get(bool (*give_way)(bool privileged))
{
	int err = bts_ds_watch_nmis() ?: ds_claim_bts(give_way);
	unsigned int cpu;

	if (err)
		return err;

	/* Somebody may have frozen a CPU that bts_ds_put() was done with. */
	for_each_possible_cpu(cpu)
		bts_ds_reset(per_cpu_ptr(&bts_ds, cpu));
	WRITE_ONCE(bts_ds_claimed, true);

	return 0;
}

/* Nobody is left who could want what is frozen. */
static void bts_ds_put(void)
{
	unsigned int cpu;

	lockdep_assert_cpus_held();

	on_each_cpu(bts_ds_reset_here, NULL, 1);
	for_each_possible_cpu(cpu) {
		if (!cpu_online(cpu))
			bts_ds_reset(per_cpu_ptr(&bts_ds, cpu));
	}
	WRITE_ONCE(bts_ds_claimed, false);
	ds_unclaim_bts();
}

static struct bts_source bts_ds_source __ro_after_init = {
	.id		= BTS_SOURCE_DS,
	.told		= &bts_ds_told,
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
	.frozen_at	= bts_ds_frozen_at,
	.hold		= ds_bts_hold,
	.release	= ds_bts_release,
	.peek		= bts_ds_peek,
	.draining	= bts_ds_draining,
};

/*
 * Models whose specification updates say that a record may be wrong, or lost: the first
 * one after SMM (BU10 and the like) or one during a change of the power state (AF36).
 * Nobody sees which, so it may be any. On others `from` is wrong where the privilege
 * level changes, but only while the CPL filter is in use (W125, AR62).
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
		per_cpu(bts_ds.patience, cpu) = BTS_DS_PROGRESS;
	}

	match = x86_match_cpu(bts_ds_errata);
	if (match && match->driver_data & BTS_DS_UNRELIABLE)
		bts_ds_told.flags = X86_BTS_F_UNRELIABLE;
	bts_ds_filters = boot_cpu_has(X86_FEATURE_DSCPL) &&
			 !(match && match->driver_data & BTS_DS_NO_FILTER);
	bts_ds_source.filters = bts_ds_filters;
	bts_register_source(&bts_ds_source);

	return 0;
}
arch_initcall(bts_ds_init);
