// SPDX-License-Identifier: GPL-2.0
/*
 * The NMIs of the Debug Store: see bts_ds.c
 *
 * One handler is called first, before those of others, and one last. A third is
 * called if nobody knows the NMI.
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
 * Only some models tell whether a branch was predicted right; on the others the bit
 * is never set. One record of each full buffer is enough to find out.
 */
static void bts_ds_learn(const void *at)
{
	if (!READ_ONCE(bts_ds_told.predicted) && bts_ds_word(at, 2) & BTS_RAW_PREDICTED)
		WRITE_ONCE(bts_ds_told.predicted, true);
}

/*
 * Is this the return from the NMI of the last PMI? Nothing before it goes from the
 * entry text to where that came from. In user mode that need not be the address
 * here, which is a linear one, and nothing before it goes there at all.
 */
static bool bts_ds_goes_back(const struct bts_ds *d, const void *at)
{
	u64 to = bts_ds_word(at, 1);

	return bts_is_entry(bts_ds_word(at, 0)) &&
	       (d->pmi_user ? to < TASK_SIZE_MAX : to == d->pmi_ip);
}

/* The record of that return, or @end if it is not there. */
static const void *bts_ds_return(const struct bts_ds *d, const void *base, const void *end)
{
	const void *at;

	for (at = base; at < end && !bts_ds_goes_back(d, at); at += ds_record_size())
		;
	return at;
}

/*
 * How many records the way out of the last PMI has made; all, if the end of it is
 * not there and nothing tells that the code that was interrupted got on.
 */
static u32 bts_ds_way_out(const struct bts_ds *d, unsigned long ip)
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
 * May this NMI be the last PMI, asked for once more? If each record past the threshold
 * asks, those that came before a late PMI have asked for others, as late. Or nothing has
 * run between that PMI and this NMI: it has interrupted the same instruction, and a record
 * of another branch than the return from that PMI and the way into this NMI is not there.
 */
static bool bts_ds_again(const struct bts_ds *d, unsigned long ip)
{
	void *base = bts_ds_pos(d, DS_BASE), *max = bts_ds_pos(d, DS_MAXIMUM);
	void *index = min(bts_ds_pos(d, DS_INDEX), max);
	const void *at;

	/* So soon that it cannot be the NMI button, pressed because the CPU hangs. */
	if (likely(!d->interrupted) || jiffies - d->pmi_when > HZ / 10)
		return false;
	if (bts_ds_held(d) < d->late)
		return true;
	if (ip != d->pmi_ip)
		return false;
	/* The filter may drop the return. */
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
 * The next PMI has to wait until the code that it interrupts has got on. There is
 * no room to wait that long if somebody else's handler of the NMI, or who traces
 * the functions on the way, makes too many branches. Then the kernel is not
 * recorded until the CPU is paused, or it would never do anything else again.
 */
static void bts_ds_measure(struct bts_ds *d, unsigned long ip)
{
	u32 out;

	if (!d->kernel)
		return;

	out = bts_ds_way_out(d, ip);
	d->patience = out + BTS_DS_PROGRESS;
	d->long_ways = out > BTS_DS_WAY_OUT ? d->long_ways + 1 : 0;
	d->stuck = d->long_ways >= BTS_DS_LONG_WAYS;
}

/*
 * How many of the records to come may be made before a PMI that was asked for comes? If
 * NMIs were blocked for long, many are past the threshold, and tell nothing of that.
 */
static u32 bts_ds_late(const struct bts_ds *d)
{
	u32 held = bts_ds_held(d);
	u32 past = bts_ds_records(bts_ds_pos(d, DS_THRESHOLD), bts_ds_pos(d, DS_INDEX));

	if (d->interrupted && d->late > held)
		past = max(past, d->late - held);

	return min(past, BTS_DS_PROGRESS);
}

static void bts_ds_pmi(struct bts_ds *d, struct pt_regs *regs)
{
	WRITE_ONCE(d->state, BTS_DS_BUSY);
	d->late = bts_ds_late(d);
	ds_bts_write(0);
	bts_ds_learn(bts_ds_pos(d, DS_BASE));
	bts_ds_measure(d, regs->ip);
	bts_ds_drain(d);
	d->interrupted = true;
	d->pmi_ip = regs->ip;
	d->pmi_when = jiffies;
	d->pmi_user = user_mode(regs);
	if (d->stuck)
		bts_deliver_kernel_gap();
	if (!bts_ds_resume())
		bts_deliver_gap();
}

/*
 * An NMI that nobody else claims, nor the ports of the chipset explain: it may be the
 * late PMI of records that are gone already.
 */
static int bts_ds_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);

	/* A PMI that was asked for twice. A third does not come. */
	if (d->again) {
		d->again = false;
		d->late = 0;
		return NMI_HANDLED;
	}
	if (d->slack && jiffies - READ_ONCE(d->drained) < HZ) {
		d->slack--;
		return NMI_HANDLED;
	}
	/* Later than that, they do not come. */
	d->slack = 0;

	return branch_freeze_claims(&d->freeze) ? NMI_HANDLED : NMI_DONE;
}

/*
 * Called before all handlers that were registered earlier, so that as little as possible
 * of them is recorded.
 */
static int bts_ds_first_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);
	int handled = NMI_DONE;

	if (branch_freeze_asked(&d->freeze)) {
		bts_ds_freeze();
		handled = NMI_HANDLED;
	}

	/* Without PMI, an oops of another handler is worth more. */
	if (READ_ONCE(bts_ds_claimed) && d->state == BTS_DS_ON && d->kernel && !d->circular) {
		d->halted = true;
		ds_bts_write(0);
	}

	return handled;
}

/*
 * If the interrupted code is about to stop the recording, or the CPU is frozen, this
 * stops BTS and no more: the way out of this NMI would bring the next one, and so on
 * until the buffer is full.
 *
 * Called after perf's handler, which unmasks the local vector at the latest when its
 * model wants that; ds_claim_bts() has seen to it.
 */
static int bts_ds_last_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct bts_ds *d = this_cpu_ptr(&bts_ds);
	bool halted = d->halted, ours;

	d->halted = false;
	if (!READ_ONCE(bts_ds_claimed))
		return NMI_DONE;
	/* Frozen, the positions stay, so they tell of one PMI only. */
	ours = bts_ds_past_threshold(d) && !(READ_ONCE(d->frozen) && READ_ONCE(d->pmi_seen));
	d->again = !ours && bts_ds_again(d, regs->ip);
	if (ours)
		WRITE_ONCE(d->pmi_seen, true);
	else if (!halted)
		return NMI_DONE;
	/* The way out of any NMI may need all the room. */
	if (d->state == BTS_DS_ON && !READ_ONCE(d->frozen))
		bts_ds_pmi(d, regs);
	else
		ds_bts_write(0);

	return ours ? NMI_HANDLED : NMI_DONE;
}

/* From the first claim on: before that, no NMI is to take longer for it. */
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
