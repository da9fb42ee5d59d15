/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_BTS_RING_H
#define _ARCH_X86_KERNEL_BTS_RING_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include <asm/bts.h>

/*
 * A ring that stops has room for this many records beyond the size that was
 * asked for: what a task still produces between the interrupt that says 'full'
 * and its own stop on the way to user mode. A source may be late by 256 records,
 * not counting those of its own interrupt.
 */
#define BTS_RING_SKID	(256 + 64)

/* So many in a row, and the hardware's filter is to blame. */
#define BTS_RING_SKEWS	4

/**
 * struct bts_ring - the records of one context
 * @rec:	the records, @size of them
 * @nr:		how many it may hold before it counts as full
 * @size:	how many there is room for; more than @nr with BTS_STOP
 * @pos:	where the next one goes: @head modulo @size
 * @flags:	BTS_USER, BTS_KERNEL, BTS_ENTRY, BTS_STOP, BTS_FLIGHT, BTS_MONOTONIC of
 *		<asm/bts.h>
 * @limit:	a branch whose addresses are below it needs no closer look
 * @told:	what the records of the source tell
 * @branch:	the first eight bytes of a branch that shows both sides
 * @head:	how many were ever put in
 * @tail:	how many of those the reader has done with, or will never see
 * @overwritten: how many were overwritten before they were taken out
 * @lost:	how many are missing, as far as they were counted: there was no room,
 *		or the hardware's filter has dropped them
 * @unmarked:	how many of @lost no record in the ring tells of yet
 * @gaps:	how often the source lost records, it does not know how many
 * @gap:	one of @gaps has no record in the ring yet
 * @away:	the last record led out of the modes that are wanted
 * @skews:	how often in a row the hardware dropped a record that was wanted
 *
 * A ring has no lock. All but the reading of records that bts_ring_peek()
 * pointed out happens on the CPU where the context is live, with interrupts off
 * and its source at rest, or while the context is not live anywhere.
 */
struct bts_ring {
	struct x86_bts_record	*rec;
	u32			nr;
	u32			size;
	u32			pos;
	u32			flags;
	u64			limit;
	const struct bts_told	*told;
	u64			branch;
	u64			head;
	u64			tail;
	u64			overwritten;
	u64			lost;
	u64			unmarked;
	u32			gaps;
	bool			gap;
	bool			away;
	u32			skews;
};

int bts_ring_init(struct bts_ring *ring, u32 nr, u32 flags, const struct bts_told *told);
void bts_ring_change(struct bts_ring *ring, u32 flags);
void bts_ring_free(struct bts_ring *ring);

bool bts_ring_put(struct bts_ring *ring, const struct bts_raw *in, u32 n);
void bts_ring_put_event(struct bts_ring *ring, const struct x86_bts_record *event);
void bts_ring_put_gap(struct bts_ring *ring);
void bts_ring_settle(struct bts_ring *ring);

u32 bts_ring_held(const struct bts_ring *ring);
const struct x86_bts_record *bts_ring_at(const struct bts_ring *ring, u64 index);
int bts_ring_get(const struct bts_ring *ring, u64 index, struct x86_bts_record *rec);
u32 bts_ring_peek(struct bts_ring *ring, u64 *seq, const struct x86_bts_record **rec);
u32 bts_ring_consume(struct bts_ring *ring, u64 first, u32 n);
void bts_ring_clear(struct bts_ring *ring);

u64 bts_ring_clock(const struct bts_ring *ring);
void bts_lost_mark(const struct bts_ring *ring, struct x86_bts_record *rec, u64 count);

bool bts_strays(const struct bts_raw *raw);

bool bts_is_entry_with(u64 addr, bool fred);

/* How many records fit in behind ring->pos without a turn or an overwrite. */
static __always_inline u32 bts_ring_room(const struct bts_ring *ring)
{
	u32 room = ring->size - ring->pos;

	if (ring->flags & BTS_STOP)
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

static __always_inline void bts_branch(struct x86_bts_record *rec, u64 head, u64 from, u64 to)
{
	*(u64 *)rec = head;
	rec->branch.from = from;
	rec->branch.to = to;
}

/**
 * bts_ring_put_one - bts_ring_put() of one branch, nobody knows whether it was predicted
 * @ring: the ring
 * @from: where it was
 * @to: where it went
 *
 * Return: likewise.
 */
static __always_inline bool bts_ring_put_one(struct bts_ring *ring, u64 from, u64 to)
{
	if (unlikely((from | to) >= ring->limit || ring->away || ring->gap || ring->unmarked ||
		     (ring->flags & BTS_STOP && !bts_ring_room(ring)))) {
		const struct bts_raw raw = { .from = from, .to = to };

		return bts_ring_put(ring, &raw, 1);
	}

	bts_branch(ring->rec + ring->pos, ring->branch, from, to);
	bts_ring_advance(ring, 1);

	return ring->head - ring->tail >= ring->nr;
}

#endif /* _ARCH_X86_KERNEL_BTS_RING_H */
