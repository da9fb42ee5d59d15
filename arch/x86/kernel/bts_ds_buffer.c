// SPDX-License-Identifier: GPL-2.0
/*
 * The buffer of the Debug Store: recording into it, and delivering its records
 *
 * Each CPU has one buffer, in its entry area. It is used in one of two ways:
 *
 *  - With interrupt: the hardware raises a PMI when the index reaches a threshold. The
 *    records are delivered then, whenever the CPU is paused, and after a #DB that has cleared
 *    TR. If the kernel is recorded, other NMIs deliver them, too. If the buffer is full, further
 *    records are lost.
 *  - Circular, for flight recorders: the hardware overwrites the oldest records, and raises no
 *    interrupt. The buffer is also circular if there is no APIC to deliver the PMI.
 *
 * If a performance counter has overflowed, LVTPC is masked until perf's NMI handler unmasks it.
 * The manuals do not say whether a PMI meanwhile is kept or lost, and whether another one is raised
 * while the index stays past the threshold. For PEBS, the erratum AR64 says that the PMI is raised
 * when the index is equal to the threshold. So if the kernel is recorded into a buffer with
 * interrupt, bts_ds_first_nmi() stops recording in each NMI, and bts_ds_last_nmi() delivers the
 * records and resumes recording.
 *
 * bts_ds.state says which code may change the positions (base, index and so on) and deliver
 * records. ON: the NMI handler. BUSY or OFF: the task, interrupt or NMI that set the state, once
 * the hardware does not record. bts_ds_freeze() may run at any time, in any state: it stops
 * recording. Then no code delivers the records before bts_ds_unfreeze(), except code that has
 * checked bts_ds.frozen before the freeze. Code that starts recording checks bts_ds.frozen
 * afterwards.
 */

#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include <asm/bts.h>
#include <asm/cpufeature.h>
#include <asm/debugctl.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>

#include "bts_ds.h"

DEFINE_PER_CPU(struct bts_ds, bts_ds);

struct bts_record_props bts_ds_props;

/* This model has BTS_OFF_OS and BTS_OFF_USR, the CPL filter, and no erratum forbids their use. */
bool bts_ds_filters __ro_after_init;

bool bts_ds_claimed;

/*
 * The buffer has room for at least this many records past the threshold: those made until the NMI
 * handler stops recording. Records that do not fit are lost, and a gap is marked. The code up to
 * the handler makes some, and several times as many with KASAN or lockdep. The rest is for a PMI
 * that comes late.
 */
#define BTS_DS_RESERVE \
	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_PROVE_LOCKING) ? 680 : 340)

static_assert(BTS_BUFFER_SIZE / sizeof(struct bts_raw) >
	      BTS_DS_RESERVE + BTS_DS_LONG_EXIT + BTS_DS_PROGRESS);

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

	if (to <= from)
		return;
	if (ds_record_size() == sizeof(struct bts_raw))
		bts_deliver(from, n);
	else
		bts_ds_deliver_narrow(from, n);
}

/*
 * Return the record at the end of the buffer. In a circular buffer, this record is cleared before
 * recording starts. Only a branch from the address 0 to itself would leave it clear. So if this
 * record is not clear, the buffer has wrapped.
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
	/*
	 * If a freeze prevents the next resume, nothing else clears the last record. Then a
	 * reader of the buffer, or the next drain, would find the same records again.
	 */
	bts_ds_clear_last(d);
}

/*
 * If a #DB has cleared TR, mark a gap: branches of the kernel are missing since the #DB. If
 * something has set TR again before bts_ds_restart(), for example hw_branches_lbr_hold() in an NMI,
 * the buffer may end with a few records made after the #DB. Then the mark comes after them.
 *
 * If the buffer is empty, mark no gap: TR was not set yet because an NMI has come just before the
 * write of DEBUGCTL in bts_ds_record(), or the kernel is not recorded and so lost nothing. A
 * circular buffer is marked anyway.
 */
static void bts_ds_mark_cleared(const struct bts_ds *d)
{
	if (likely(!this_cpu_read(bts_cleared)))
		return;

	this_cpu_write(bts_cleared, false);
	bts_expect_return();
	if (d->circular || bts_ds_held(d))
		bts_deliver_kernel_gap();
}

/*
 * Deliver the records in the buffer. Called with state BUSY, while the hardware does not record.
 *
 * If the index has reached the threshold, the hardware has requested a PMI. The PMI has arrived,
 * arrives now or later, or never arrives if LVTPC was masked. When this function has reset the
 * index, bts_ds_last_nmi() cannot recognize the PMI any more. So unless the PMI has arrived, this
 * function calls ds_expect_late_pmi() before the reset. If the PMI arrives between that call and
 * the reset, bts_ds_last_nmi() sets d->pmi_seen, and this function calls ds_late_pmi_arrived().
 */
void bts_ds_drain(struct bts_ds *d)
{
	void *base = bts_ds_pos(d, DS_BASE), *max = bts_ds_pos(d, DS_MAXIMUM);
	void *index = bts_ds_pos(d, DS_INDEX);
	bool asked = index >= bts_ds_pos(d, DS_THRESHOLD);

	if (d->circular) {
		bts_ds_drain_circular(d);
	} else {
		bts_ds_deliver(base, min(index, max));
		if (index >= max) {
			bts_deliver_gap();
			/* Otherwise a reader of a dump would take the buffer as wrapped. */
			bts_ds_clear_last(d);
		}
		/* With Meltdown, user mode can read the buffer: erase records of the kernel. */
		if (d->kernel && boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN))
			memset(base, 0, min(index, max) - base);
	}
	bts_ds_mark_cleared(d);

	/*
	 * If these records requested no PMI, or if it has arrived, their PMI cannot be late. Reset
	 * the index first, so that an NMI in between does not set pmi_seen again.
	 */
	if (!asked || READ_ONCE(d->pmi_seen)) {
		ds_write(d->store, DS_BTS, DS_INDEX, (unsigned long)base);
		barrier();
		WRITE_ONCE(d->pmi_seen, false);
		return;
	}
	ds_expect_late_pmi();
	ds_write(d->store, DS_BTS, DS_INDEX, (unsigned long)base);
	barrier();
	if (READ_ONCE(d->pmi_seen)) {
		WRITE_ONCE(d->pmi_seen, false);
		ds_late_pmi_arrived();
	}
}

/* If this CPU is stuck, mark a gap in the traces that lose branches: see bts_ds_resume(). */
void bts_ds_mark_stuck(const struct bts_ds *d)
{
	if (likely(!d->stuck))
		return;
	if (bts_ds_filters)
		bts_deliver_kernel_gap();
	else
		bts_deliver_gap();
}

bool bts_ds_pause(void)
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
	if (unlikely(d->interrupted)) {
		bts_ds_mark_stuck(d);
		bts_ds_reset_backoff(d);
	}

	return true;
}

/* Set threshold, d->kernel and d->circular for @want. Return the BTS field for DEBUGCTL. */
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
		first = max(first, d->min_records_to_pmi);

	circular = want->flags & BTS_FLIGHT || !cpu_feature_enabled(X86_FEATURE_APIC);
	WRITE_ONCE(d->circular, circular);
	if (circular) {
		bts_ds_clear_last(d);
		/* The index never reaches this threshold. */
		first = nr + 1;
	} else {
		bits |= DEBUGCTLMSR_BTINT;
		first = min(first, nr - BTS_DS_RESERVE);
	}

	ds_write(d->store, DS_BTS, DS_THRESHOLD,
		 ds_read(d->store, DS_BTS, DS_BASE) + (u64)first * ds_record_size());

	return debugctl_bts_bits(bits);
}

/*
 * Write d->bits to DEBUGCTL, which starts recording unless BTS is held off. Called with d->state
 * ON. An NMI may change d->bits and d->state at any time.
 */
static void bts_ds_record(struct bts_ds *d)
{
	u64 bits;

	do {
		bits = READ_ONCE(d->bits);
		ds_bts_write(bits);
		barrier();
	} while (unlikely(bits != READ_ONCE(d->bits)));
	/* If an NMI froze this CPU before recording started, stop recording. */
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
 * A freeze, or the NMI of a freeze, may come after the last trace has ended, when perf owns
 * positions and buffer again. So each function of bts_ds*.c that changes BTS or its positions on a
 * CPU without pausing the CPU checks bts_ds_claimed first, with interrupts off or in an NMI. After
 * bts_ds_claimed was cleared, ds_unclaim_bts() sends an IPI to all CPUs, and so waits for functions
 * that have read true.
 */
void notrace bts_ds_freeze(void)
{
	if (!READ_ONCE(bts_ds_claimed))
		return;

	this_cpu_write(bts_ds.frozen, true);
	barrier();
	ds_bts_write(0);
	bts_note_freeze();
}
