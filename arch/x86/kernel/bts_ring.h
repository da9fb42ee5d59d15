/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_BTS_RING_H
#define _ARCH_X86_KERNEL_BTS_RING_H

#include <linux/types.h>
#include <uapi/asm/bts.h>

struct bts_raw;

/*
 * A ring that stops has room for this many records beyond the size that was
 * asked for: what a task still produces between the interrupt that says 'full'
 * and its own stop on the way to user mode. A source may be late by 256 records,
 * not counting those of its own interrupt.
 */
#define BTS_RING_SKID	(256 + 64)

/**
 * struct bts_ring - the records of one context
 * @rec:	the records, @size of them
 * @nr:		how many it may hold before it counts as full
 * @size:	how many there is room for; more than @nr with BTS_STOP
 * @pos:	where the next one goes: @head modulo @size
 * @flags:	BTS_USER, BTS_KERNEL, BTS_ENTRY, BTS_STOP, BTS_FLIGHT of <asm/bts.h>
 * @head:	how many were ever put in
 * @tail:	how many of those the reader has done with, or will never see
 * @overwritten: how many were overwritten before anybody read them
 * @lost:	how many are missing, as far as they were counted: there was no room,
 *		or the hardware's filter has dropped them
 * @unmarked:	how many of @lost no record in the ring tells of yet
 * @gaps:	how often the source lost records, it does not know how many
 * @gap:	one of @gaps has no record in the ring yet
 * @away:	the last record led out of the modes that are wanted
 * @skewed:	the hardware dropped a record that was wanted
 *
 * A ring has no lock. All but the reading of records that bts_ring_peek()
 * pointed out happens on the CPU where the context is live, with interrupts off
 * and its source at rest, or while the context is not live anywhere.
 */
struct bts_ring {
	struct bts_record	*rec;
	u32			nr;
	u32			size;
	u32			pos;
	u32			flags;
	u64			head;
	u64			tail;
	u64			overwritten;
	u64			lost;
	u64			unmarked;
	u32			gaps;
	bool			gap;
	bool			away;
	bool			skewed;
};

int bts_ring_init(struct bts_ring *ring, u32 nr, u32 flags);
void bts_ring_change(struct bts_ring *ring, u32 flags);
void bts_ring_free(struct bts_ring *ring);

bool bts_ring_put(struct bts_ring *ring, const struct bts_raw *in, u32 n);
void bts_ring_put_event(struct bts_ring *ring, const struct bts_record *event);
void bts_ring_put_gap(struct bts_ring *ring);
void bts_ring_settle(struct bts_ring *ring);

u32 bts_ring_held(const struct bts_ring *ring);
int bts_ring_get(const struct bts_ring *ring, u64 index, struct bts_record *rec);
u32 bts_ring_peek(struct bts_ring *ring, const struct bts_record **rec);
u32 bts_ring_consume(struct bts_ring *ring, u64 first, u32 n);
void bts_ring_clear(struct bts_ring *ring);

void bts_lost_mark(struct bts_record *rec, u64 count);

bool bts_strays(const struct bts_raw *raw);

bool bts_is_entry_with(u64 addr, bool fred);

#endif /* _ARCH_X86_KERNEL_BTS_RING_H */
