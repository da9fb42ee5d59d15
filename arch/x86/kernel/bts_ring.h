/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_BTS_RING_H
#define _ARCH_X86_KERNEL_BTS_RING_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include <asm/bts.h>

/*
 * A ring holds the records of one context. If the source has lost records, or if the ring had no
 * room for them, an X86_BTS_LOST record marks the place. If the number of lost records is not
 * known, the place is called a gap. There is no mark for old records that new ones have
 * overwritten.
 */

/*
 * A ring with BTS_STOP_FULL has room for this many records more than were requested. If the context
 * has @overflow of struct bts_attr, the source may notice up to 256 records (BTS_DS_PROGRESS) late
 * that the ring is full, not counting the records of its own interrupt. Then the task makes further
 * records until it stops, before it returns to user mode. Without an APIC, the hardware source has
 * no interrupt, and may notice it later.
 */
#define BTS_RING_SKID	(256 + 64)

/* After this many skews in a row, bts_cpl_skewed is set: see bts_filter.c. */
#define BTS_RING_SKEWS	4

/**
 * struct bts_ring - the records of one context
 * @rec:	the records, @size of them
 * @nr:		the number of records with which it is full
 * @size:	the number of records that it has room for; more than @nr with BTS_STOP_FULL
 * @pos:	the index of the next record: @head modulo @size
 * @flags:	the flags of the context; the ring uses BTS_USER, BTS_KERNEL, BTS_ENTRY,
 *		BTS_STOP_FULL, BTS_FLIGHT, BTS_MONOTONIC of <asm/bts.h>
 * @limit:	if the bitwise OR of the addresses of a branch is below @limit, the branch is
 *		stored without bts_sort()
 * @props:	the properties of the records of the source
 * @branch:	the first eight bytes of an X86_BTS_BRANCH record, without X86_BTS_F_MISPREDICTED
 * @head:	the number of records that were ever put in
 * @tail:	the number of those that were consumed, cleared, or counted in @overwritten
 * @overwritten: the number of records that were overwritten before they were consumed. The newest
 *		of these are added only when records are read or cleared
 * @lost:	the number of records that are known to be missing: there was no room for them, or
 *		a branch back to the wanted mode was missing, see bts_filter.c
 * @unmarked:	the number of those in @lost that are still to be marked in the ring
 * @gaps:	the number of places where the source may have lost records without counting them
 * @gap:	one of @gaps is still to be marked in the ring
 * @away:	a branch back to the wanted mode has to follow, unless a gap does: the last record
 *		of the source ended outside this mode, or bts_ring_change() was called without
 *		BTS_KERNEL, or a #DB has hidden the way out, see bts_expect_return()
 * @crossed:	whether it is a skew if that branch is missing; valid only while @away is true
 * @skews:	the number of skews in a row, see bts_filter.c
 *
 * A ring has no lock: see the locking rules in bts.c. But the records that bts_ring_peek() has
 * found may be read on any CPU at any time, see bts_peek().
 */
struct bts_ring {
	struct x86_bts_record	*rec;
	u32			nr;
	u32			size;
	u32			pos;
	u32			flags;
	u64			limit;
	const struct bts_record_props	*props;
	u64			branch;
	u64			head;
	u64			tail;
	u64			overwritten;
	u64			lost;
	u64			unmarked;
	u32			gaps;
	bool			gap;
	bool			away;
	bool			crossed;
	u32			skews;
};

int bts_ring_init(struct bts_ring *ring, u32 nr, u32 flags, const struct bts_record_props *props);
void bts_ring_change(struct bts_ring *ring, u32 flags);
void bts_ring_expect_return(struct bts_ring *ring);
void bts_ring_free(struct bts_ring *ring);

bool bts_ring_put(struct bts_ring *ring, const struct bts_raw *in, u32 n);
void bts_ring_put_event(struct bts_ring *ring, const struct x86_bts_record *event);
void bts_ring_put_gap(struct bts_ring *ring);
void bts_ring_put_due_lost(struct bts_ring *ring);

u32 bts_ring_held(const struct bts_ring *ring);
const struct x86_bts_record *bts_ring_at(const struct bts_ring *ring, u64 index);
int bts_ring_get(const struct bts_ring *ring, u64 index, struct x86_bts_record *rec);
u32 bts_ring_peek(struct bts_ring *ring, u64 *seq, const struct x86_bts_record **rec);
u32 bts_ring_consume(struct bts_ring *ring, u64 first, u32 n);
void bts_ring_clear(struct bts_ring *ring);

u64 bts_ring_clock(const struct bts_ring *ring);
void bts_make_lost_record(const struct bts_ring *ring, struct x86_bts_record *rec, u64 count);

bool bts_is_stray_jump(const struct bts_raw *raw);

bool bts_is_entry_with(u64 addr, bool fred);

/* Return how many records fit until the ring wraps or, with BTS_STOP_FULL, has no room left. */
static __always_inline u32 bts_ring_room(const struct bts_ring *ring)
{
	u32 room = ring->size - ring->pos;

	if (ring->flags & BTS_STOP_FULL)
		room = min_t(u64, room, ring->size - (ring->head - ring->tail));

	return room;
}

static __always_inline void bts_ring_advance(struct bts_ring *ring, u32 n)
{
	ring->head += n;
	ring->pos += n;
	if (ring->pos == ring->size)
		ring->pos = 0;
}

/* Make the first eight bytes of a record: type, flags, and info, which is 0. */
static __always_inline u64 bts_head(u16 type, u16 flags)
{
	return type | (u64)flags << 16;
}

static __always_inline void bts_branch(struct x86_bts_record *rec, u64 head, u64 from, u64 to)
{
	*(u64 *)rec = head;
	rec->branch.from = from;
	rec->branch.to = to;
}

/**
 * bts_ring_put_one - bts_ring_put() for one branch of a source without predictions
 * @ring: the ring
 * @from: the address of the branch
 * @to: its target
 *
 * Return: true if the ring is full.
 */
static __always_inline bool bts_ring_put_one(struct bts_ring *ring, u64 from, u64 to)
{
	if (unlikely((from | to) >= ring->limit || ring->away || ring->gap || ring->unmarked ||
		     (ring->flags & BTS_STOP_FULL && !bts_ring_room(ring)))) {
		const struct bts_raw raw = { .from = from, .to = to };

		return bts_ring_put(ring, &raw, 1);
	}

	bts_branch(ring->rec + ring->pos, ring->branch, from, to);
	bts_ring_advance(ring, 1);

	return ring->head - ring->tail >= ring->nr;
}

#endif /* _ARCH_X86_KERNEL_BTS_RING_H */
