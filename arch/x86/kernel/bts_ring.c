// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of branch records, and the filter in front of them
 *
 * A branch belongs to the mode that it arrives in. That is what the hardware's
 * own filter, BTS_OFF_OS and BTS_OFF_USR, does where it looks at the privilege
 * level after the branch, so that it may be used, and it keeps what a reader
 * needs to follow the control flow: where user mode was resumed, after a system
 * call, a fault, or into a signal handler. The mode is told from the address,
 * never from the hardware, so the result is the same with and without it.
 *
 * Hardware that looks at the level before the branch drops those that are
 * needed, where control comes back. That is noticed: after a branch that led out
 * of the modes that are wanted comes one that starts in them. Exactly one
 * record is missing in between; it is counted as lost and marked there. After some
 * of these in a row the hardware's filter is not used any more. A single one may come
 * from something else, such as an SMI.
 *
 * User code can forge both addresses of a record by jumping anywhere it likes.
 * They are compared and copied here, and never followed.
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
#include <asm/cpufeature.h>
#include <asm/fred.h>
#include <asm/processor.h>
#include <asm/sections.h>

#include "bts_ring.h"

static u32 bts_ring_size(u32 nr, u32 flags)
{
	return flags & BTS_STOP ? nr + BTS_RING_SKID : nr;
}

/**
 * bts_pages - how much memory the records of a context take
 * @nr: how many it holds
 * @flags: of its struct bts_attr
 *
 * Return: the number of pages.
 */
unsigned long bts_pages(u32 nr, u32 flags)
{
	return PFN_UP(array_size(bts_ring_size(nr, flags), sizeof(struct x86_bts_record)));
}

/* The first eight bytes of a record at once: type, flags, and no info. */
static __always_inline u64 bts_head(u16 type, u16 flags)
{
	return type | (u64)flags << 16;
}

/**
 * bts_ring_init - give a ring its memory
 * @ring: the ring
 * @nr: how many records it is to hold, at least 1
 * @flags: BTS_USER, BTS_KERNEL, BTS_ENTRY, BTS_STOP, BTS_MONOTONIC
 * @told: what the records of the source tell
 *
 * May sleep. The memory is charged to current's memory cgroup.
 *
 * Return: 0, -EINVAL for a size of 0 or beyond BTS_MAX_RECORDS, or -ENOMEM.
 */
int bts_ring_init(struct bts_ring *ring, u32 nr, u32 flags, const struct bts_told *told)
{
	if (!nr || nr > BTS_MAX_RECORDS)
		return -EINVAL;

	memset(ring, 0, sizeof(*ring));
	ring->nr = nr;
	ring->size = bts_ring_size(nr, flags);
	ring->told = told;
	ring->branch = bts_head(X86_BTS_BRANCH, told->flags);
	bts_ring_change(ring, flags);
	/* However large it is, it must not be at the expense of others. */
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
 * bts_ring_change - sort by other flags from here on
 * @ring: the ring
 * @flags: like those of bts_ring_init(), BTS_STOP and BTS_MONOTONIC as they are
 */
void bts_ring_change(struct bts_ring *ring, u32 flags)
{
	ring->flags = flags;
	ring->limit = bts_fast_limit(flags);
	/* The task whose trace is set up is in the kernel now. */
	ring->away = !(flags & BTS_KERNEL);
}

/**
 * bts_ring_free - give the memory of a ring back
 * @ring: a ring that no CPU can reach any more
 */
void bts_ring_free(struct bts_ring *ring)
{
	vfree(ring->rec);
	ring->rec = NULL;
}

/**
 * bts_is_entry_with - bts_is_entry(), on a processor with or without FRED
 * @addr: an address
 * @fred: whether events are delivered by FRED
 *
 * An NMI that made a guest exit is none with FRED: KVM calls
 * asm_fred_entry_from_kvm() for it.
 *
 * Return: whether exceptions and interrupts come in and go back there.
 */
bool bts_is_entry_with(u64 addr, bool fred)
{
#ifdef CONFIG_X86_FRED
	/*
	 * The entry point from the kernel is 256 bytes behind that from user mode,
	 * and not longer than that.
	 */
	if (fred)
		return addr - (unsigned long)asm_fred_entrypoint_user < 512;
#endif
	return addr >= (unsigned long)__entry_text_start &&
	       addr < (unsigned long)__entry_text_end;
}

/**
 * bts_is_entry - is this where exceptions and interrupts come in, and go back from?
 * @addr: an address
 *
 * Any context.
 *
 * Return: whether it is.
 */
bool bts_is_entry(u64 addr)
{
	return bts_is_entry_with(addr, cpu_feature_enabled(X86_FEATURE_FRED));
}

/**
 * bts_strays - is this a jump of the kernel through a bad pointer?
 * @raw: a branch
 *
 * The way back to user mode begins where the kernel is entered. Any context.
 *
 * Return: whether it is.
 */
bool bts_strays(const struct bts_raw *raw)
{
	return raw->from >= TASK_SIZE_MAX && raw->to < TASK_SIZE_MAX &&
	       !bts_is_entry(raw->from);
}

/* For a ring that wants one mode only. */
static bool bts_starts_inside(const struct bts_ring *ring, const struct bts_raw *in)
{
	return (in->from < TASK_SIZE_MAX) == !!(ring->flags & BTS_USER);
}

/**
 * bts_ring_clock - what time it is for the records of a ring
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
 * bts_lost_mark - make a record that tells of lost ones
 * @ring: of which ring
 * @rec: where
 * @count: how many; 0 if nobody knows
 */
void bts_lost_mark(const struct bts_ring *ring, struct x86_bts_record *rec, u64 count)
{
	*rec = (struct x86_bts_record) { .type = X86_BTS_LOST };
	rec->lost.clock = bts_ring_clock(ring);
	rec->lost.count = count;
}

/*
 * @in leads out of the modes that are wanted, and @more records follow it. Is
 * the way back missing? The mark goes where the way out would have been.
 */
static bool bts_sort_way_out(struct bts_ring *ring, struct x86_bts_record *out,
			     const struct bts_raw *in, bool more)
{
	ring->away = !more;
	if (!more || !bts_starts_inside(ring, in + 1))
		return false;

	ring->skews++;
	ring->lost++;
	bts_lost_mark(ring, out, 1);

	return true;
}

/* The head of a record that shows both sides of @in; @head if that was predicted */
static __always_inline u64 bts_branch_head(u64 head, const struct bts_raw *in, bool predicted)
{
	if (predicted && !(in->flags & BTS_RAW_PREDICTED))
		head |= bts_head(0, X86_BTS_F_MISPREDICTED);

	return head;
}

static __always_inline void bts_plain(u64 head, bool predicted, struct x86_bts_record *out,
				      const struct bts_raw *in)
{
	bts_branch(out, bts_branch_head(head, in, predicted), in->from, in->to);
}

static void bts_whole(const struct bts_ring *ring, struct x86_bts_record *out,
		      const struct bts_raw *in)
{
	bts_plain(ring->branch, ring->told->predicted, out, in);
}

/* A way back that is there: if others were missing, it was not for the filter. */
static __always_inline struct x86_bts_record *bts_leave(struct bts_ring *ring,
							struct x86_bts_record *out, u64 to)
{
	ring->skews = 0;
	bts_branch(out, bts_head(X86_BTS_LEAVE, ring->told->flags), 0, to);

	return out + 1;
}

/*
 * Turn @in into what the context wants of it: false if nothing. Then nothing may
 * be written either: @out is the oldest record as long as there is no newer one.
 */
static noinline bool bts_sort(struct bts_ring *ring, struct x86_bts_record *out,
			      const struct bts_raw *in, bool more)
{
	const u64 limit = TASK_SIZE_MAX;
	bool from_user = in->from < limit, to_user = in->to < limit;
	bool user = ring->flags & BTS_USER;

	if (user && ring->flags & BTS_KERNEL) {
		bts_whole(ring, out, in);
		return true;
	}

	if (to_user == user) {
		ring->skews = from_user == user ? ring->skews : 0;
		if (user && !from_user)
			bts_leave(ring, out, in->to);
		else
			bts_whole(ring, out, in);
		return true;
	}

	if (from_user != user)
		return false;

	if (ring->flags & BTS_FLIGHT && bts_strays(in)) {
		bts_whole(ring, out, in);
		return true;
	}

	if (ring->flags & BTS_ENTRY) {
		bts_branch(out, bts_head(X86_BTS_ENTER, ring->told->flags), in->from, 0);
		return true;
	}

	return bts_sort_way_out(ring, out, in, more);
}

static __always_inline u64 bts_either(const struct bts_raw *in)
{
	return in->from | in->to;
}

/*
 * Copy four records unless one of them needs a closer look. Addresses are all below
 * a limit if what comes of them by 'or' is; that, and four at a time, lets nearly
 * every record of a user context through in nine instructions.
 */
static __always_inline bool bts_copy_four(u64 head, bool predicted, struct x86_bts_record *out,
					  const struct bts_raw *in, u64 limit)
{
	if (unlikely((bts_either(&in[0]) | bts_either(&in[1]) |
		      bts_either(&in[2]) | bts_either(&in[3])) >= limit))
		return false;

	bts_plain(head, predicted, &out[0], &in[0]);
	bts_plain(head, predicted, &out[1], &in[1]);
	bts_plain(head, predicted, &out[2], &in[2]);
	bts_plain(head, predicted, &out[3], &in[3]);

	return true;
}

static __always_inline void __bts_ring_fill(struct bts_ring *ring, const struct bts_raw *in,
					    u32 n, bool more, bool predicted)
{
	const u64 head = ring->branch;
	struct x86_bts_record *start = ring->rec + ring->pos, *out = start;
	const struct bts_raw *end = in + n, *last = end - 1;
	const u64 limit = ring->limit;
	/* Before it there are four. */
	const struct bts_raw *few = n < 4 ? in : end - 3;
	/* A user's ring: what arrives below it came back from the kernel. */
	const u64 leave = limit == TASK_SIZE_MAX ? limit : 0;

	for (;;) {
		for (; in < few && bts_copy_four(head, predicted, out, in, limit); in += 4)
			out += 4;
		/* One by one, up to the one that needs it. */
		for (; in != end && bts_either(in) < limit; in++)
			bts_plain(head, predicted, out++, in);
		if (in == end)
			break;
		if (in->from >= limit && in->to < leave)
			out = bts_leave(ring, out, in->to);
		else
			out += bts_sort(ring, out, in, more || in != last);
		in++;
	}

	bts_ring_advance(ring, out - start);
}

/* To look at flags takes a third more instructions a record. */
static noinline void bts_ring_fill_predicted(struct bts_ring *ring, const struct bts_raw *in,
					     u32 n, bool more)
{
	__bts_ring_fill(ring, in, n, more, true);
}

/* Copy what the context wants of the @n records at @in; there is room for all. */
static void bts_ring_fill(struct bts_ring *ring, const struct bts_raw *in, u32 n, bool more)
{
	if (READ_ONCE(ring->told->predicted))
		bts_ring_fill_predicted(ring, in, n, more);
	else
		__bts_ring_fill(ring, in, n, more, false);
}

/* How many of the @n records at @in a context would have had. */
static u32 bts_ring_count(struct bts_ring *ring, const struct bts_raw *in, u32 n)
{
	struct x86_bts_record scratch;
	u32 count = 0;

	while (n--) {
		if (!bts_sort(ring, &scratch, in++, n))
			continue;
		count++;
		/* What this would have told of is counted already. */
		if (scratch.type == X86_BTS_LOST)
			ring->lost--;
	}

	return count;
}

/* @in is the first record after one that led away. */
static void bts_ring_first(struct bts_ring *ring, const struct bts_raw *in)
{
	if (ring->flags & BTS_ENTRY || !bts_starts_inside(ring, in))
		return;

	ring->skews++;
	ring->lost++;
	ring->unmarked++;
}

/**
 * bts_ring_put - filter records and append what is left of them
 * @ring: the ring
 * @in: records as the hardware has them, oldest first
 * @n: how many
 *
 * A ring with BTS_STOP keeps what it has and counts what finds no room; others
 * overwrite the oldest.
 *
 * Return: whether the ring is full.
 */
bool bts_ring_put(struct bts_ring *ring, const struct bts_raw *in, u32 n)
{
	if (n && ring->away) {
		ring->away = false;
		bts_ring_first(ring, in);
	}
	if (unlikely(ring->unmarked || ring->gap))
		bts_ring_settle(ring);

	while (n) {
		u32 chunk = min(n, bts_ring_room(ring));

		if (!chunk) {
			u32 lost = bts_ring_count(ring, in, n);

			ring->lost += lost;
			ring->unmarked += lost;
			break;
		}
		bts_ring_fill(ring, in, chunk, n > chunk);
		in += chunk;
		n -= chunk;
	}

	return ring->head - ring->tail >= ring->nr;
}

/**
 * bts_ring_settle - tell in the ring of what was lost before now
 * @ring: the ring
 *
 * Where there is no room for that record either it waits until there is.
 */
void bts_ring_settle(struct bts_ring *ring)
{
	if (!ring->unmarked && !ring->gap)
		return;
	if (!bts_ring_room(ring))
		return;

	bts_lost_mark(ring, ring->rec + ring->pos, ring->unmarked);
	ring->unmarked = 0;
	ring->gap = false;
	bts_ring_advance(ring, 1);
}

/**
 * bts_ring_put_event - append one record that is not a branch
 * @ring: the ring
 * @event: the record
 */
void bts_ring_put_event(struct bts_ring *ring, const struct x86_bts_record *event)
{
	bts_ring_settle(ring);

	if (!bts_ring_room(ring)) {
		ring->lost++;
		ring->unmarked++;
		return;
	}

	ring->rec[ring->pos] = *event;
	bts_ring_advance(ring, 1);
}

/* Is the newest record, which nobody has taken out, the mark of a gap? */
static bool bts_ring_ends_in_gap(const struct bts_ring *ring)
{
	const struct x86_bts_record *rec;

	if (ring->head == ring->tail)
		return false;
	rec = &ring->rec[(ring->pos ?: ring->size) - 1];

	return rec->type == X86_BTS_LOST && !rec->lost.count;
}

/**
 * bts_ring_put_gap - say that the source has lost records at this point
 * @ring: the ring
 *
 * The record that tells of it comes with what follows it, or with the reader:
 * so any number of times in a row makes one.
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
 * bts_ring_held - how many records a reader would find
 * @ring: the ring
 *
 * Return: the number.
 */
u32 bts_ring_held(const struct bts_ring *ring)
{
	return min_t(u64, ring->head - ring->tail, ring->size);
}

/* Where the record with the running number @seq stands; it is still there. */
static u32 bts_ring_index(const struct bts_ring *ring, u64 seq)
{
	u32 back = ring->head - seq;

	return ring->pos >= back ? ring->pos - back : ring->pos + ring->size - back;
}

/**
 * bts_ring_at - find one record
 * @ring: the ring, or a copy that nobody vouches for
 * @index: which one, 0 is the newest
 *
 * Return: where it is; NULL where there are not that many.
 */
const struct x86_bts_record *bts_ring_at(const struct bts_ring *ring, u64 index)
{
	if (index >= bts_ring_held(ring))
		return NULL;

	return &ring->rec[bts_ring_index(ring, ring->head - 1 - index)];
}

/**
 * bts_ring_get - read one record and leave it
 * @ring: the ring
 * @index: which one, 0 is the newest
 * @rec: where it goes
 *
 * Return: 0, or -EINVAL where there are not that many.
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
 * bts_ring_peek - find records
 * @ring: the ring
 * @seq: the running number of the first that is wanted; that of the oldest one goes
 *	here if the wanted one is gone
 * @rec: where a pointer to it goes
 *
 * Records that were overwritten unread are written off here.
 *
 * Return: how many stand in a row there; 0 if there are none.
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
 * bts_ring_consume - give up records that were read
 * @ring: the ring
 * @first: the running number of the first, as of bts_ring_peek()
 * @n: how many
 *
 * Return: how many of them, the oldest, were overwritten since bts_ring_peek():
 * what the reader has copied of those may be anything.
 */
u32 bts_ring_consume(struct bts_ring *ring, u64 first, u32 n)
{
	u64 oldest = ring->head > ring->size ? ring->head - ring->size : 0;
	u32 spoilt = oldest > first ? min_t(u64, oldest - first, n) : 0;

	ring->overwritten += spoilt;
	ring->tail = clamp(first + n, ring->tail, ring->head);
	bts_ring_settle(ring);

	return spoilt;
}

/**
 * bts_ring_clear - forget all records
 * @ring: the ring
 *
 * The counts of what was lost stay, a mark that is still due goes.
 */
void bts_ring_clear(struct bts_ring *ring)
{
	ring->overwritten += ring->head - ring->tail - bts_ring_held(ring);
	ring->tail = ring->head;
	ring->unmarked = 0;
	ring->gap = false;
}
