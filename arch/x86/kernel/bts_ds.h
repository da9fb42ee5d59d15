/* SPDX-License-Identifier: GPL-2.0 */
/* The Debug Store as a source: what bts_ds.c and its NMI handlers share. */
#ifndef _X86_KERNEL_BTS_DS_H
#define _X86_KERNEL_BTS_DS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/ds.h>

#include "branch_freeze.h"

enum bts_ds_state {
	BTS_DS_OFF,
	BTS_DS_ON,
	BTS_DS_BUSY,
};

/**
 * struct bts_ds - what the Debug Store of a CPU is doing
 * @store:	its positions
 * @state:	OFF: paused; ON: recording; BUSY: records are being handed up
 * @frozen:	nothing is recorded and nothing handed up
 * @freeze:	the NMI with which another CPU asks for @frozen
 * @circular:	the buffer wraps
 * @pmi_seen:	the PMI of the records in the buffer has come
 * @slack:	so many PMIs of records that are gone already may still come
 * @patience:	how many records the PMI waits for at least if @kernel
 * @kernel:	branches of the kernel are recorded
 * @stuck:	@long_ways has come to BTS_DS_LONG_WAYS: no branch of the kernel is
 *		recorded until the next pause
 * @halted:	not recording while the handlers of an NMI run
 * @bits:	what is in DEBUGCTL if @state is ON and not @halted
 * @interrupted: an NMI handed records up since the last pause: its way out is recorded
 * @again:	this NMI may be the last PMI once more, see bts_ds_again()
 * @late:	up to how many records later the last PMI may come once more
 * @pmi_user:	that NMI interrupted user mode
 * @long_ways:	how many ways out in a row were longer than BTS_DS_WAY_OUT
 * @drained:	when @slack last grew, in jiffies
 * @pmi_ip:	what it interrupted, if @interrupted
 * @pmi_when:	when it came, in jiffies, if @interrupted
 * @frozen_at:	when @frozen was set, by ktime_get_mono_fast_ns()
 */
struct bts_ds {
	struct debug_store	*store;
	enum bts_ds_state	state;
	bool			frozen;
	bool			circular;
	bool			pmi_seen;
	bool			kernel;
	bool			stuck;
	bool			halted;
	bool			interrupted;
	bool			again;
	bool			pmi_user;
	u8			long_ways;
	u32			patience;
	u32			slack;
	u32			late;
	u64			bits;
	struct branch_freeze_nmi freeze;
	unsigned long		drained;
	unsigned long		pmi_ip;
	unsigned long		pmi_when;
	u64			frozen_at;
};

DECLARE_PER_CPU(struct bts_ds, bts_ds);

/* The store is ours, and not another claimant's, whose NMIs we leave alone. */
extern bool bts_ds_claimed;
extern struct bts_told bts_ds_told;

/*
 * If the kernel is recorded, so is the way out of the NMI. With too low a threshold
 * that alone would raise the next PMI, and the interrupted code would not get on.
 * How many records the way out makes depends on handlers of the NMI that were registered
 * later and on who traces it. So each NMI measures the way out of the last one, and the next
 * threshold is that many and BTS_DS_PROGRESS for the interrupted code; the first
 * is BTS_DS_PROGRESS alone. If the way out took more than BTS_DS_WAY_OUT, which
 * leaves less than a fifth to the interrupted code, BTS_DS_LONG_WAYS times in a row,
 * the kernel is not recorded until the next pause. A single long way may come from
 * a message of nmi.c.
 */
#define BTS_DS_PROGRESS	256
#define BTS_DS_WAY_OUT	(4 * BTS_DS_PROGRESS)
#define BTS_DS_LONG_WAYS	8

static inline void *bts_ds_pos(const struct bts_ds *d, enum ds_field field)
{
	return (void *)(unsigned long)ds_read(d->store, DS_BTS, field);
}

/* One of the three words of the record at @at. */
static inline u64 bts_ds_word(const void *at, unsigned int nr)
{
	return ds_word(at, nr, ds_field_size());
}

static inline u32 bts_ds_records(const void *from, const void *to)
{
	return to > from ? (unsigned long)(to - from) / ds_record_size() : 0;
}

/* How many records are in the buffer, if it does not wrap? */
static inline u32 bts_ds_held(const struct bts_ds *d)
{
	return bts_ds_records(bts_ds_pos(d, DS_BASE), bts_ds_pos(d, DS_INDEX));
}

/* Has the hardware asked for an interrupt, or would it if it could? */
static inline bool bts_ds_past_threshold(const struct bts_ds *d)
{
	return bts_ds_pos(d, DS_INDEX) >= bts_ds_pos(d, DS_THRESHOLD);
}

void bts_ds_drain(struct bts_ds *d);
bool bts_ds_resume(void);
void bts_ds_freeze(void);

int bts_ds_watch_nmis(void);

#endif /* _X86_KERNEL_BTS_DS_H */
