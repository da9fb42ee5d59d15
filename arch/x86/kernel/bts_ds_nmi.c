// SPDX-License-Identifier: GPL-2.0
/*
 * The NMIs of the Debug Store: see bts_ds_buffer.c
 *
 * bts_ds_first_nmi() is called before perf's handler, bts_ds_last_nmi() after it, and
 * bts_ds_unknown_nmi() for an NMI of unknown origin.
 */

#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>

#include <asm/bts.h>
#include <asm/ds.h>
#include <asm/nmi.h>

#include "bts_ds.h"

/*
 * Find out whether this model reports predictions: only some models ever set
 * BTS_RAW_PREDICTED. It is enough to look at one record for each PMI. The first records in the
 * buffer may be those of the exit path of the last PMI, the same branches each time. So look at the
 * record in the middle, which is usually of the interrupted code.
 */
static void bts_ds_learn(const struct bts_ds *d)
{
	void *at = bts_ds_pos(d, DS_BASE) + bts_ds_held(d) / 2 * ds_record_size();

	if (!READ_ONCE(bts_ds_props.predicted) && bts_ds_word(at, 2) & BTS_RAW_PREDICTED)
		WRITE_ONCE(bts_ds_props.predicted, true);
}

/*
 * Tell whether the record at @at may be the return from the NMI of the last PMI: it goes from the
 * entry code to d->pmi_ip. If the NMI has interrupted user mode, accept any target in user mode:
 * the record has a linear address, which may differ from d->pmi_ip.
 */
static bool bts_ds_is_return(const struct bts_ds *d, const void *at)
{
	u64 to = bts_ds_word(at, 1);

	return bts_is_entry(bts_ds_word(at, 0)) &&
	       (d->pmi_user ? to < TASK_SIZE_MAX : to == d->pmi_ip);
}

/* Find the first record for which bts_ds_is_return() is true. Return @end if there is none. */
static const void *bts_ds_return(const struct bts_ds *d, const void *base, const void *end)
{
	const void *at;

	for (at = base; at < end && !bts_ds_is_return(d, at); at += ds_record_size())
		;
	return at;
}

/*
 * Count the records of the last PMI's exit path, see BTS_DS_LONG_EXIT. Return 0 if bts_ds_pmi() was
 * not called since the last pause. If the buffer lacks the return from that PMI, the exit path may
 * have filled the buffer: count all records. But if there is room left, and this NMI has
 * interrupted another address, the interrupted code has made progress: return 0.
 */
static u32 bts_ds_exit_records(const struct bts_ds *d, unsigned long ip)
{
	void *base = bts_ds_pos(d, DS_BASE), *max = bts_ds_pos(d, DS_MAXIMUM);
	void *index = min(bts_ds_pos(d, DS_INDEX), max);
	const void *at;

	if (!d->interrupted)
		return 0;
	at = bts_ds_return(d, base, index);
	if (at < index)
		return bts_ds_records(base, at) + 1;

	return index < max && ip != d->pmi_ip ? 0 : bts_ds_records(base, index);
}

/*
 * Tell whether this NMI may be a second NMI for the last PMI, which bts_ds_pmi() has handled.
 * There are two cases:
 *
 *  - The hardware may request a PMI for each record past the threshold. If the last PMI
 *    arrived late, the records made before its arrival may have requested further PMIs, which
 *    arrive late, too: before d->repeat_within further records.
 *  - No code has run between that PMI and this NMI: both have interrupted the same
 *    instruction, and the return from that PMI is the last record, or the record of the
 *    entry of this NMI follows it.
 */
static bool bts_ds_may_be_repeat(const struct bts_ds *d, unsigned long ip)
{
	void *base = bts_ds_pos(d, DS_BASE), *max = bts_ds_pos(d, DS_MAXIMUM);
	void *index = min(bts_ds_pos(d, DS_INDEX), max);
	const void *at;

	/*
	 * A second NMI for the last PMI should arrive within a tenth of a second. A later NMI may
	 * come from the NMI button, pressed because the CPU hangs.
	 */
	if (likely(!d->interrupted) || jiffies - d->pmi_when > HZ / 10)
		return false;
	if (bts_ds_held(d) < d->repeat_within)
		return true;
	if (ip != d->pmi_ip)
		return false;
	/* The CPL filter may have dropped the record of the return. */
	if (index == base)
		return true;
	at = bts_ds_return(d, base, index);
	if (at == index)
		return false;
	at += ds_record_size();

	return at == index || (bts_is_entry(bts_ds_word(at, 1)) &&
			       (d->pmi_user || bts_ds_word(at, 0) == ip));
}

/*
 * Choose the least threshold with which the interrupted code makes progress before the next PMI. If
 * NMI handlers or function tracing have made too many branches several times in a row, the CPU
 * would do little else than handle PMIs. Then set d->stuck. See BTS_DS_LONG_EXIT.
 */
static void bts_ds_measure(struct bts_ds *d, unsigned long ip)
{
	u32 records;

	if (!d->kernel)
		return;

	records = bts_ds_exit_records(d, ip);
	d->min_records_to_pmi = records + BTS_DS_PROGRESS;
	d->long_exits = records > BTS_DS_LONG_EXIT ? d->long_exits + 1 : 0;
	d->stuck = d->long_exits >= BTS_DS_MAX_LONG_EXITS;
}

/*
 * Calculate d->repeat_within. If the records past the threshold have requested a second PMI, it is
 * about as late as the first PMI: about as many records are made before it as were made from the
 * threshold to the first PMI. If NMIs were blocked, many more may be past the threshold, which says
 * nothing about the delay of PMIs, so the number is limited. A second NMI for the PMI before this
 * one may still be due within more records: take the larger number.
 */
static u32 bts_ds_repeat_within(const struct bts_ds *d)
{
	u32 held = bts_ds_held(d);
	u32 past = bts_ds_records(bts_ds_pos(d, DS_THRESHOLD), bts_ds_pos(d, DS_INDEX));

	if (d->interrupted && d->repeat_within > held)
		past = max(past, d->repeat_within - held);

	return min(past, BTS_DS_PROGRESS);
}

static void bts_ds_pmi(struct bts_ds *d, struct pt_regs *regs)
{
	WRITE_ONCE(d->state, BTS_DS_BUSY);
	d->repeat_within = bts_ds_repeat_within(d);
	/* Between a #DB and its handler, TR is clear. Note that before the write. */
	bts_note_cleared();
	ds_bts_write(0);
	bts_ds_learn(d);
	bts_ds_measure(d, regs->ip);
	bts_ds_drain(d);
	d->interrupted = true;
	d->pmi_ip = regs->ip;
	d->pmi_when = jiffies;
	d->pmi_user = user_mode(regs);
	bts_ds_mark_stuck(d);
	if (!bts_ds_resume())
		bts_deliver_gap();
}

/*
 * Called for an NMI that no NMI_LOCAL handler claims and for which the chipset reports no reason.
 * It may be a second NMI for the last PMI, or the NMI of a freeze. ds_unknown_nmi() claims the late
 * PMI of records that were delivered already.
 */
static int bts_ds_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);

	/* See bts_ds_may_be_repeat(). A third NMI for one PMI is not expected. */
	if (d->may_be_repeat) {
		d->may_be_repeat = false;
		d->repeat_within = 0;
		return NMI_HANDLED;
	}

	return branch_freeze_claims(&d->freeze) ? NMI_HANDLED : NMI_DONE;
}

/*
 * Freeze this CPU if another CPU has requested that. If the kernel is recorded, stop recording
 * until bts_ds_last_nmi(), except into a circular buffer. Called before all handlers that were
 * registered earlier, so that their branches are not recorded.
 */
static int bts_ds_first_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);
	int handled = NMI_DONE;

	if (branch_freeze_take_request(&d->freeze)) {
		if (bts_freeze_in_force())
			bts_ds_freeze();
		handled = NMI_HANDLED;
	}

	/*
	 * Do not stop a circular buffer: it needs no PMI, and should show the branches before
	 * an oops in another handler.
	 */
	if (READ_ONCE(bts_ds_claimed) && d->state == BTS_DS_ON && d->kernel && !d->circular) {
		d->halted = true;
		bts_note_cleared();
		ds_bts_write(0);
	}

	return handled;
}

/*
 * Handle the PMI, if this NMI is one, and resume recording if bts_ds_first_nmi() has stopped it.
 *
 * If the state is not ON, the interrupted code has stopped recording, or is about to stop it. Then,
 * or if the CPU is frozen, only stop BTS, and do not deliver the records. If BTS stayed on, the
 * exit path of each NMI would raise the next PMI until the buffer is full.
 *
 * Called after perf's handler, which unmasks LVTPC even if there is no event: see
 * x86_perf_claim_bts().
 */
static int bts_ds_last_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);
	bool halted = d->halted, ours;

	d->halted = false;
	if (!READ_ONCE(bts_ds_claimed))
		return NMI_DONE;
	/*
	 * While the CPU is frozen, the index may stay past the threshold. Then only the first NMI
	 * is recognized as the PMI.
	 */
	ours = bts_ds_past_threshold(d) && !(READ_ONCE(d->frozen) && READ_ONCE(d->pmi_seen));
	/* One NMI must not be taken for two PMIs: all handlers of unknown NMIs are called. */
	d->may_be_repeat = !ours && !ds_late_pmi_due() && bts_ds_may_be_repeat(d, regs->ip);
	if (ours)
		WRITE_ONCE(d->pmi_seen, true);
	else if (!halted)
		return NMI_DONE;
	/* If halted, handle any NMI like a PMI: the exit path of the NMI may need all room. */
	if (bts_ds_may_restart(d))
		bts_ds_pmi(d, regs);
	else
		ds_bts_write(0);

	return ours ? NMI_HANDLED : NMI_DONE;
}

/* Register the handlers at the first claim, as they slow down each NMI from then on. */
int bts_ds_watch_nmis(void)
{
	static bool watching;
	int err;

	if (watching)
		return 0;

	err = register_nmi_handler(NMI_LOCAL, bts_ds_first_nmi, NMI_FLAG_FIRST, "x86/bts first");
	if (err)
		return err;
	err = register_nmi_handler(NMI_LOCAL, bts_ds_last_nmi, 0, "x86/bts");
	if (err)
		goto no_last;
	err = register_nmi_handler(NMI_UNKNOWN, bts_ds_unknown_nmi, 0, "x86/bts");
	if (err)
		goto no_unknown;
	watching = true;

	return 0;

no_unknown:
	unregister_nmi_handler(NMI_LOCAL, "x86/bts");
no_last:
	unregister_nmi_handler(NMI_LOCAL, "x86/bts first");

	return err;
}
