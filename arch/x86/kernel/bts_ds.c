// SPDX-License-Identifier: GPL-2.0
/*
 * The Debug Store as a source of branch traces
 *
 * Each CPU has one buffer, in its entry area. It is used in one of two ways:
 *
 *  - With interrupt: the hardware raises a PMI when the index reaches a threshold. The
 *    records are delivered then, and whenever the CPU is paused. If the buffer is full,
 *    further records are lost.
 *  - Circular: the hardware overwrites the oldest records, and raises no interrupt. This
 *    is also used if there is no APIC to deliver the PMI.
 *
 * If a counter has overflowed, LVTPC is masked until perf's NMI handler unmasks it. Some
 * models drop a PMI meanwhile, and raise one only when the threshold is crossed. So if the
 * kernel is recorded, bts_ds_first_nmi() stops recording, and bts_ds_last_nmi() checks the
 * threshold and resumes it.
 *
 * bts_ds.state says which code may access the positions and deliver records. ON: the NMI
 * handler. BUSY or OFF: the context (task, interrupt or NMI) that set the state, as
 * the hardware does not record. 'frozen' may be set in any context at any time. Recording
 * stops at once, in any state, and the records are kept and not delivered. Code that
 * starts recording checks 'frozen' afterwards.
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

/* BTS_OFF_OS and BTS_OFF_USR, the CPL filter, exist and work on this model. */
static bool bts_ds_filters __ro_after_init;

bool bts_ds_claimed;

/*
 * Room for the records that are made from reaching the threshold until the NMI handler
 * stops recording. If there are more, they are lost, and a gap is marked. With KASAN or
 * lockdep, the code up to the handler makes several times as many.
 */
#define BTS_DS_RESERVE \
	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_PROVE_LOCKING) ? 680 : 170)

static_assert(BTS_BUFFER_SIZE / sizeof(struct bts_raw) >
	      BTS_DS_RESERVE + BTS_DS_WAY_OUT + BTS_DS_PROGRESS);

/* Deliver @n records at @at, which have fields of 32 bits. */
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
 * The last record of a circular buffer is cleared before recording starts. No branch has
 * the address 0 on both sides, so this record tells whether the hardware has wrapped.
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
	/* After a freeze, the buffer must not seem to have wrapped, or it is drained again. */
	bts_ds_clear_last(d);
}

/*
 * Deliver the records in the buffer. Called with state BUSY, while the hardware is off.
 *
 * If the index has reached the threshold, the hardware has requested a PMI. It arrives
 * now, later, or never if LVTPC was masked. Once the index is reset, bts_ds_last_nmi()
 * cannot recognize it. So d->slack is incremented before, for bts_ds_unknown_nmi(). If the
 * PMI arrives before the reset, bts_ds_last_nmi() sets d->pmi_seen, and d->slack is
 * decremented again. A PMI that was not requested is not from here.
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
		/* With Meltdown, user mode can read the buffer: erase records of the kernel. */
		if (d->kernel && boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN))
			memset(base, 0, min(index, max) - base);
	}

	/*
	 * No PMI was requested, or it has been handled. Reset the index first, so that an NMI
	 * in between does not set pmi_seen again.
	 */
	if (!asked || READ_ONCE(d->pmi_seen)) {
		ds_write(d->store, DS_BTS, DS_INDEX, (unsigned long)base);
		barrier();
		WRITE_ONCE(d->pmi_seen, false);
		return;
	}
	WRITE_ONCE(d->drained, jiffies);
	/* There can be two at most: one that is being handled, and one that is latched. */
	if (READ_ONCE(d->slack) < 2)
		this_cpu_inc(bts_ds.slack);
	barrier();
	ds_write(d->store, DS_BTS, DS_INDEX, (unsigned long)base);
	barrier();
	if (READ_ONCE(d->pmi_seen)) {
		WRITE_ONCE(d->pmi_seen, false);
		/* bts_ds_unknown_nmi() may have decremented it for another NMI. */
		slack = READ_ONCE(d->slack);
		if (slack)
			this_cpu_cmpxchg(bts_ds.slack, slack, slack - 1);
	}
}

/*
 * Reset the back-off, as the code that was interrupted has made progress. Without a PMI since
 * the last call there is nothing to reset.
 */
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
		bts_ds_drain(d);
		WRITE_ONCE(d->state, BTS_DS_OFF);
	}
	bts_ds_calm(d);

	return true;
}

/* Set up the positions for @want. Return the value for the BTS field of DEBUGCTL. */
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

/* Start recording as d->bits says. Called with state ON. An NMI may change both at any time. */
static void bts_ds_record(struct bts_ds *d)
{
	u64 bits;

	do {
		bits = READ_ONCE(d->bits);
		ds_bts_write(bits);
		barrier();
	} while (unlikely(bits != READ_ONCE(d->bits)));
	/* An NMI may have frozen this CPU before recording started. */
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
 * Resume recording after a #DB, which is documented to clear TR on some models. The buffer
 * holds the records up to the #DB. Only branches of the kernel are missing since then, as
 * the CPU has not returned to user mode yet.
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
 * A freeze, or an NMI that it sent, may arrive after the last trace has ended, when perf
 * owns positions and buffer again. So each function that changes the state of a CPU
 * without pausing it checks bts_ds_claimed first. ds_unclaim_bts() sends an IPI to all
 * CPUs, and so waits for functions that have seen bts_ds_claimed true.
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
	/* A freeze sets frozen_at after frozen: in between, readers must not see an old time. */
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
	/* Do not reset slack: an NMI may still be pending. */
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

	/* A CPU may have been frozen after bts_ds_put() had reset it. */
	for_each_possible_cpu(cpu)
		bts_ds_reset(per_cpu_ptr(&bts_ds, cpu));
	WRITE_ONCE(bts_ds_claimed, true);

	return 0;
}

/* No context is left that could get frozen records: drop them. */
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
 * BTS_DS_UNRELIABLE: the specification update of the model says that a record may be wrong
 * or lost: the first one after SMM (BU10 and similar) or one during a change of the power
 * state (AF36). Software cannot tell which record, so all are marked as unreliable.
 * BTS_DS_NO_FILTER: @from is wrong in a record where the privilege level changes, but only
 * while the CPL filter is in use (W125, AR62).
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
