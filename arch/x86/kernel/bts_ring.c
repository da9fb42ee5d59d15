// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of branch records: see bts_filter.c for how branches are put in
 */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/pfn.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include <asm/bts.h>
#include <asm/processor.h>

#include "bts_ring.h"

static u32 bts_ring_size(u32 nr, u32 flags)
{
	return flags & BTS_STOP_FULL ? nr + BTS_RING_SKID : nr;
}

/**
 * bts_pages - calculate how much memory the records of a context take
 * @nr: the number of records with which its ring is full
 * @flags: the flags of its struct bts_attr
 *
 * Return: the number of pages.
 */
unsigned long bts_pages(u32 nr, u32 flags)
{
	return PFN_UP(array_size(bts_ring_size(nr, flags), sizeof(struct x86_bts_record)));
}

/**
 * bts_ring_init - initialize a ring and allocate its memory
 * @ring: the ring
 * @nr: the number of records with which it is full, at least 1
 * @flags: the flags of the context
 * @props: the properties of the records of the source
 *
 * May sleep. The memory is charged to current's memory cgroup.
 *
 * Return: 0, -EINVAL for a size of 0 or beyond BTS_MAX_RECORDS, or -ENOMEM.
 */
int bts_ring_init(struct bts_ring *ring, u32 nr, u32 flags, const struct bts_record_props *props)
{
	if (!nr || nr > BTS_MAX_RECORDS)
		return -EINVAL;

	memset(ring, 0, sizeof(*ring));
	ring->nr = nr;
	ring->size = bts_ring_size(nr, flags);
	ring->props = props;
	ring->branch = bts_head(X86_BTS_BRANCH, props->flags);
	bts_ring_change(ring, flags);
	/* The allocation of a large ring must fail rather than invoke the OOM killer. */
	ring->rec = __vmalloc_array(ring->size, sizeof(*ring->rec), GFP_KERNEL_ACCOUNT |
				    __GFP_NOWARN | __GFP_RETRY_MAYFAIL);

	return ring->rec ? 0 : -ENOMEM;
}

static u64 bts_fast_limit(u32 flags)
{
	if (!(flags & BTS_USER))
		return 0;

	return flags & BTS_KERNEL ? U64_MAX : TASK_SIZE_MAX;
}

/**
 * bts_ring_expect_return - note that the next branch has to be one back to the wanted mode
 * @ring: the ring
 *
 * If that branch is missing, that is a skew.
 */
void bts_ring_expect_return(struct bts_ring *ring)
{
	ring->away = true;
	ring->crossed = true;
}

/**
 * bts_ring_change - filter by other flags from here on
 * @ring: the ring
 * @flags: like those of bts_ring_init(); BTS_STOP_FULL and BTS_MONOTONIC must not change
 */
void bts_ring_change(struct bts_ring *ring, u32 flags)
{
	ring->flags = flags;
	ring->limit = bts_fast_limit(flags);
	/*
	 * When recording with these flags begins, the traced task or CPU is in the kernel. Without
	 * BTS_KERNEL, expect a return to user mode.
	 */
	ring->away = !(flags & BTS_KERNEL);
	ring->crossed = true;
}

/**
 * bts_ring_free - free the memory of a ring
 * @ring: a ring that no CPU can reach any more
 */
void bts_ring_free(struct bts_ring *ring)
{
	vfree(ring->rec);
	ring->rec = NULL;
}

/**
 * bts_ring_clock - read the clock of the records of a ring
 * @ring: the ring
 *
 * Any context.
 *
 * Return: the time in nanoseconds.
 */
u64 bts_ring_clock(const struct bts_ring *ring)
{
	return ring->flags & BTS_MONOTONIC ? ktime_get_mono_fast_ns() : local_clock();
}

/**
 * bts_make_lost_record - make a record that says that records are missing
 * @ring: the ring that lost them
 * @rec: where to store the record
 * @count: the number of missing records; 0 if it is not known
 */
void bts_make_lost_record(const struct bts_ring *ring, struct x86_bts_record *rec, u64 count)
{
	*rec = (struct x86_bts_record) { .type = X86_BTS_LOST };
	rec->lost.clock = bts_ring_clock(ring);
	rec->lost.count = count;
}

/**
 * bts_ring_put_due_lost - append an X86_BTS_LOST record if records are missing and not marked yet
 * @ring: the ring
 *
 * If there is no room for that record, nothing changes.
 */
void bts_ring_put_due_lost(struct bts_ring *ring)
{
	if (!ring->unmarked && !ring->gap)
		return;
	if (!bts_ring_room(ring))
		return;

	bts_make_lost_record(ring, ring->rec + ring->pos, ring->unmarked);
	ring->unmarked = 0;
	ring->gap = false;
	bts_ring_advance(ring, 1);
}

/**
 * bts_ring_put_event - append one record that is not a branch
 * @ring: the ring
 * @event: the record; if there is no room for it, it is counted as lost
 */
void bts_ring_put_event(struct bts_ring *ring, const struct x86_bts_record *event)
{
	bts_ring_put_due_lost(ring);

	if (!bts_ring_room(ring)) {
		ring->lost++;
		ring->unmarked++;
		return;
	}

	ring->rec[ring->pos] = *event;
	bts_ring_advance(ring, 1);
}

/* Tell whether the newest record is an X86_BTS_LOST without a count, and was not consumed. */
static bool bts_ring_ends_in_gap(const struct bts_ring *ring)
{
	const struct x86_bts_record *rec;

	if (ring->head == ring->tail)
		return false;
	rec = &ring->rec[(ring->pos ?: ring->size) - 1];

	return rec->type == X86_BTS_LOST && !rec->lost.count;
}

/**
 * bts_ring_put_gap - note that the source may have lost records at this point
 * @ring: the ring
 *
 * bts_ring_put_due_lost() appends the X86_BTS_LOST record later. So several calls in a row make one
 * such record.
 */
void bts_ring_put_gap(struct bts_ring *ring)
{
	ring->away = false;
	if (ring->gap || bts_ring_ends_in_gap(ring))
		return;

	ring->gaps++;
	ring->gap = true;
}

/**
 * bts_ring_held - count the records that can be read
 * @ring: the ring
 *
 * Return: the number.
 */
u32 bts_ring_held(const struct bts_ring *ring)
{
	return min_t(u64, ring->head - ring->tail, ring->size);
}

/* Return the index of the record with the sequence number @seq, which is in the ring. */
static u32 bts_ring_index(const struct bts_ring *ring, u64 seq)
{
	u32 back = ring->head - seq;

	return ring->pos >= back ? ring->pos - back : ring->pos + ring->size - back;
}

/**
 * bts_ring_at - find one record
 * @ring: the ring, or a copy that may be corrupt
 * @index: the number of newer records, 0 for the newest record
 *
 * Return: the address of the record; NULL if the ring does not hold so many records.
 */
const struct x86_bts_record *bts_ring_at(const struct bts_ring *ring, u64 index)
{
	if (index >= bts_ring_held(ring))
		return NULL;

	return &ring->rec[bts_ring_index(ring, ring->head - 1 - index)];
}

/**
 * bts_ring_get - read one record without removing it
 * @ring: the ring
 * @index: the number of newer records, 0 for the newest record
 * @rec: where to store the record
 *
 * Return: 0, or -EINVAL if the ring does not hold so many records.
 */
int bts_ring_get(const struct bts_ring *ring, u64 index, struct x86_bts_record *rec)
{
	u32 held = bts_ring_held(ring);

	if (index >= held)
		return -EINVAL;

	index = array_index_nospec((unsigned long)index, held);
	*rec = ring->rec[bts_ring_index(ring, ring->head - 1 - index)];
	return 0;
}

/**
 * bts_ring_peek - find records without removing them
 * @ring: the ring
 * @seq: the sequence number of the first record that is wanted; if that record is gone,
 *	the number of the oldest one is stored here
 * @rec: where to store a pointer to the first record that was found
 *
 * Records that were overwritten before they were consumed are counted in @ring->overwritten.
 *
 * Return: the number of contiguous records there; 0 if there are none.
 */
u32 bts_ring_peek(struct bts_ring *ring, u64 *seq, const struct x86_bts_record **rec)
{
	u32 held = bts_ring_held(ring), first, skip;
	u64 oldest = ring->head - held;

	ring->overwritten += oldest - ring->tail;
	ring->tail = oldest;
	*seq = max(*seq, oldest);
	if (*seq >= ring->head)
		return 0;

	skip = array_index_nospec((unsigned long)(*seq - oldest), held);
	first = bts_ring_index(ring, oldest + skip);
	*rec = ring->rec + first;

	return min(held - skip, ring->size - first);
}

/**
 * bts_ring_consume - remove records that were read, and all older ones
 * @ring: the ring
 * @first: the sequence number of the first record, from bts_ring_peek()
 * @n: the number of records
 *
 * Return: the number of these records, beginning with the oldest, that were overwritten
 * since bts_ring_peek(): the reader's copies of them may be invalid.
 */
u32 bts_ring_consume(struct bts_ring *ring, u64 first, u32 n)
{
	u64 oldest = ring->head > ring->size ? ring->head - ring->size : 0;
	u32 spoilt = oldest > first ? min_t(u64, oldest - first, n) : 0;

	ring->overwritten += spoilt;
	ring->tail = clamp(first + n, ring->tail, ring->head);
	bts_ring_put_due_lost(ring);

	return spoilt;
}

/**
 * bts_ring_clear - remove all records
 * @ring: the ring
 *
 * The counts of lost records do not change. Missing records that have no mark in the ring yet get
 * none.
 */
void bts_ring_clear(struct bts_ring *ring)
{
	ring->overwritten += ring->head - ring->tail - bts_ring_held(ring);
	ring->tail = ring->head;
	ring->unmarked = 0;
	ring->gap = false;
}
