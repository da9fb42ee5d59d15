/* SPDX-License-Identifier: GPL-2.0 */
/* The Debug Store as a source: shared by bts_ds.c, bts_ds_buffer.c and bts_ds_nmi.c */
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
 * struct bts_ds - the state of the Debug Store of a CPU
 * @store:	the positions: base, index, maximum, threshold
 * @state:	OFF: paused, or nothing is to be recorded; ON: recording, unless @frozen, @halted
 *		or held (see ds_bts_hold()); BUSY: records are being delivered
 * @frozen:	the CPU does not record, and its records are kept and not delivered
 * @freeze:	the NMI by which another CPU requests @frozen
 * @circular:	the hardware overwrites the oldest records when the buffer is full
 * @pmi_seen:	bts_ds_last_nmi() has recognized the PMI that the records in the buffer requested
 * @min_records_to_pmi: if @kernel, the threshold is at least this number of records, if the buffer
 *		has room for them
 * @kernel:	branches of the kernel are recorded
 * @stuck:	@long_exits has reached BTS_DS_MAX_LONG_EXITS: until the next pause, the hardware
 *		must not record the kernel. Without a CPL filter, it records nothing then
 * @halted:	bts_ds_first_nmi() has stopped recording until bts_ds_last_nmi()
 * @bits:	the value that bts_ds_record() writes to the BTS field of DEBUGCTL
 * @interrupted: bts_ds_pmi() was called since the last pause; if so, @pmi_user, @pmi_ip and
 *		@pmi_when are those of the last call
 * @may_be_repeat: the current NMI may be a second NMI for the last PMI, see
 *		bts_ds_may_be_repeat()
 * @repeat_within: until this many further records are made, an NMI that comes soon enough may be
 *		a second NMI for the last PMI, see bts_ds_may_be_repeat()
 * @pmi_user:	the NMI of the last bts_ds_pmi() interrupted user mode
 * @long_exits:	how many exit paths in a row had more than BTS_DS_LONG_EXIT records
 * @pmi_ip:	the address that the NMI of the last bts_ds_pmi() interrupted
 * @pmi_when:	when that NMI arrived, in jiffies
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
	bool			may_be_repeat;
	bool			pmi_user;
	u8			long_exits;
	u32			min_records_to_pmi;
	u32			repeat_within;
	u64			bits;
	struct branch_freeze_nmi freeze;
	unsigned long		pmi_ip;
	unsigned long		pmi_when;
};

DECLARE_PER_CPU(struct bts_ds, bts_ds);

/*
 * True from bts_ds_get() to bts_ds_put(). If false, the NMI handlers must not change BTS or its
 * positions.
 */
extern bool bts_ds_claimed;
extern struct bts_record_props bts_ds_props;
extern bool bts_ds_filters;

/*
 * If the kernel is recorded, so is the exit path of the NMI: the code from the end of
 * bts_ds_last_nmi() to the return from the NMI. If the threshold were too low, the records of
 * the exit path alone would raise the next PMI, and the interrupted code would make no progress.
 * The number of these records depends on NMI handlers that were registered later and on function
 * tracing. So each PMI counts the records of the last PMI's exit path. The next threshold is at
 * least this number plus BTS_DS_PROGRESS for the interrupted code, if the buffer has room for that.
 * The first threshold is at least BTS_DS_PROGRESS.
 *
 * If an exit path makes more than BTS_DS_LONG_EXIT records, the interrupted code may make less than
 * a fifth of all records. If BTS_DS_MAX_LONG_EXITS exit paths in a row are that long, bts_ds.stuck
 * is set until the next pause. A single long exit path may be due to a message of nmi.c.
 */
#define BTS_DS_PROGRESS	256
#define BTS_DS_LONG_EXIT	(4 * BTS_DS_PROGRESS)
#define BTS_DS_MAX_LONG_EXITS	8

static inline void *bts_ds_pos(const struct bts_ds *d, enum ds_field field)
{
	return (void *)(unsigned long)ds_read(d->store, DS_BTS, field);
}

/* Read a word of the record at @at: 0 is from, 1 is to, 2 is flags. */
static inline u64 bts_ds_word(const void *at, unsigned int nr)
{
	return ds_word(at, nr, ds_field_size());
}

static inline u32 bts_ds_records(const void *from, const void *to)
{
	return to > from ? (unsigned long)(to - from) / ds_record_size() : 0;
}

/* Count the records in the buffer, which must not be circular. */
static inline u32 bts_ds_held(const struct bts_ds *d)
{
	return bts_ds_records(bts_ds_pos(d, DS_BASE), bts_ds_pos(d, DS_INDEX));
}

/* Tell whether the hardware has requested a PMI, or would have if BTINT were set. */
static inline bool bts_ds_past_threshold(const struct bts_ds *d)
{
	return bts_ds_pos(d, DS_INDEX) >= bts_ds_pos(d, DS_THRESHOLD);
}

/*
 * Reset what bts_ds_measure() has set. Called in a pause, as code that is not part of an NMI has
 * run since the last PMI, and when BTS is claimed or released. If d->interrupted is false, there is
 * nothing to reset.
 */
static inline void bts_ds_reset_backoff(struct bts_ds *d)
{
	d->min_records_to_pmi = BTS_DS_PROGRESS;
	d->stuck = false;
	d->long_exits = 0;
	d->interrupted = false;
}

/*
 * Tell whether this CPU records, so that the records may be delivered and recording resumed. Test
 * both flags of a freeze: a freeze sets @frozen before bts_frozen() becomes true, and a thaw clears
 * @frozen before bts_frozen() becomes false.
 */
static inline bool bts_ds_may_restart(const struct bts_ds *d)
{
	return d->state == BTS_DS_ON && !READ_ONCE(d->frozen) && !bts_frozen(smp_processor_id());
}

bool bts_ds_pause(void);
void bts_ds_drain(struct bts_ds *d);
void bts_ds_mark_stuck(const struct bts_ds *d);
bool bts_ds_resume(void);
void bts_ds_freeze(void);

int bts_ds_watch_nmis(void);

#endif /* _X86_KERNEL_BTS_DS_H */
