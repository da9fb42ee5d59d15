// SPDX-License-Identifier: GPL-2.0
/*
 * The filter in front of a ring of branch records
 *
 * A branch belongs to the mode of its target: user mode or the kernel, depending on the address
 * of the target. So a trace of user mode has the branches back to user mode (after a system
 * call, a fault, or to a signal handler). A reader needs them to follow the control flow.
 *
 * The hardware may have a filter of its own, the CPL filter: the bits BTS_OFF_OS and BTS_OFF_USR
 * of DEBUGCTL. If the hardware tests the privilege level after the branch, it drops only records
 * that the filter in this file drops, too. There are two exceptions: records that BTS_ENTRY wants,
 * and bad jumps, for example of user mode to an address of the kernel. So without BTS_ENTRY, the
 * CPL filter may be used.
 *
 * If the hardware tests the privilege level before the branch, it also drops the branches back
 * to the wanted mode. Then a record that ends outside the wanted mode is followed by one that
 * starts in the wanted mode, and exactly one wanted record is missing in between. The ring counts
 * the missing record as lost, and stores an X86_BTS_LOST record.
 *
 * Such a missing record is a skew if the record before it leaves the wanted mode by the entry code.
 * A missing record is also a skew if bts_ring_put() has got no record since
 * bts_ring_expect_return(), or since bts_ring_change() without BTS_KERNEL. Other records tell
 * nothing about the CPL filter: the target may be wrong (see BTS_DS_UNRELIABLE), or the filter is
 * not in use, as the hardware has recorded the other mode. A single skew may have another cause,
 * such as an SMI. After BTS_RING_SKEWS skews in a row, bts_cpl_skewed is set: then the CPL filter
 * is not used for contexts for which bts_avoids_cpl_filter() returns true.
 *
 * User code can jump to any address. So it can forge the target in one record, and the source in
 * the next one. Therefore this file compares and copies addresses, but never dereferences them.
 */

#include <linux/kernel.h>

#include <asm/bts.h>
#include <asm/cpufeature.h>
#include <asm/fred.h>
#include <asm/processor.h>
#include <asm/sections.h>

#include "bts_ring.h"

/**
 * bts_is_entry_with - bts_is_entry(), on a processor with or without FRED
 * @addr: an address
 * @fred: whether events are delivered by FRED
 *
 * With FRED, the entry code is that at the entry points of FRED. It does not include
 * asm_fred_entry_from_kvm(), which KVM calls for an NMI or interrupt that caused a VM exit.
 *
 * Return: true if @addr is in the entry code.
 */
bool bts_is_entry_with(u64 addr, bool fred)
{
#ifdef CONFIG_X86_FRED
	if (fred)
		return addr >= (unsigned long)asm_fred_entrypoint_user &&
		       addr < (unsigned long)asm_fred_entrypoints_end;
#endif
	return addr >= (unsigned long)__entry_text_start &&
	       addr < (unsigned long)__entry_text_end;
}

/**
 * bts_is_entry - tell whether an address is in the code that enters and leaves the kernel
 * @addr: the address
 *
 * Any context.
 *
 * Return: true if @addr is in the entry code.
 */
bool bts_is_entry(u64 addr)
{
	return bts_is_entry_with(addr, cpu_feature_enabled(X86_FEATURE_FRED));
}

/**
 * bts_is_stray_jump - tell whether a branch is a jump of the kernel through a bad pointer
 * @raw: the branch
 *
 * A branch from the kernel to a user address counts as such a jump, except from the entry code,
 * which returns to user mode. Any context.
 *
 * Return: true if @raw is such a jump.
 */
bool bts_is_stray_jump(const struct bts_raw *raw)
{
	return raw->from >= TASK_SIZE_MAX && raw->to < TASK_SIZE_MAX &&
	       !bts_is_entry(raw->from);
}

/* Tell whether an address is in the mode that a ring wants, which is one mode only. */
static bool bts_is_inside(const struct bts_ring *ring, u64 addr)
{
	return (addr < TASK_SIZE_MAX) == !!(ring->flags & BTS_USER);
}

/* Tell whether a branch that ends outside the wanted mode leaves it by the entry code. */
static bool bts_is_crossing(const struct bts_ring *ring, const struct bts_raw *in)
{
	if (ring->flags & BTS_USER)
		return bts_is_inside(ring, in->from) && bts_is_entry(in->to);

	return bts_is_entry(in->from);
}

/*
 * The record before @in ended outside the wanted mode of a ring without BTS_ENTRY. Tell whether the
 * branch back to this mode is missing between that record and @in. In a ring of the kernel, it is
 * not missing between two exits in a row: the kernel branches between its entry and its exit, so it
 * is not recorded in between, because the CPU is stuck, see bts_ds_resume().
 */
static bool bts_misses_return(const struct bts_ring *ring, const struct bts_raw *in)
{
	return bts_is_inside(ring, in->from) &&
	       (ring->flags & BTS_USER || bts_is_inside(ring, in->to));
}

/*
 * Called for a branch @in that ends outside the wanted mode. If the branch back is missing behind
 * it, store an X86_BTS_LOST record at @out, and return true. Otherwise, return false. If @more is
 * false, the next record is not there yet: bts_ring_first() tests it later.
 */
static bool bts_sort_outside(struct bts_ring *ring, struct x86_bts_record *out,
			     const struct bts_raw *in, bool more)
{
	if (!more || !bts_misses_return(ring, in + 1))
		return false;

	if (bts_is_crossing(ring, in))
		ring->skews++;
	ring->lost++;
	bts_make_lost_record(ring, out, 1);

	return true;
}

/*
 * Return the first eight bytes of the record for @in: @head, plus X86_BTS_F_MISPREDICTED if
 * @predicted says that predictions are known, and @in was predicted wrongly.
 */
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
	bts_plain(ring->branch, ring->props->predicted, out, in);
}

/*
 * Store a branch back to user mode. The source has delivered this branch, so no CPL filter drops
 * such branches: reset the count of skews.
 */
static __always_inline struct x86_bts_record *bts_leave(struct bts_ring *ring,
							struct x86_bts_record *out, u64 to)
{
	ring->skews = 0;
	bts_branch(out, bts_head(X86_BTS_LEAVE, ring->props->flags), 0, to);

	return out + 1;
}

/*
 * Store at @out the record that the ring wants for @in, and return true. If the ring wants none,
 * return false and do not write to @out: in a full ring, @out may be the oldest record. @more:
 * another record follows @in.
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

	if (ring->flags & BTS_FLIGHT && bts_is_stray_jump(in)) {
		bts_whole(ring, out, in);
		return true;
	}

	if (ring->flags & BTS_ENTRY) {
		if (!from_user)
			return false;
		bts_branch(out, bts_head(X86_BTS_ENTER, ring->props->flags), in->from, 0);
		return true;
	}

	return bts_sort_outside(ring, out, in, more);
}

static __always_inline u64 bts_either(const struct bts_raw *in)
{
	return in->from | in->to;
}

/*
 * Copy four records and return true. If one of them may need bts_leave() or bts_sort(), copy none
 * and return false. One test for four records makes this fast: if the bitwise OR of all addresses
 * is below @limit, each address is below @limit.
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
	/* While @in is below @few, at least four records are left. */
	const struct bts_raw *few = n < 4 ? in : end - 3;
	/* In a ring for user mode only, bts_leave() stores the branches back to user mode. */
	const u64 leave = limit == TASK_SIZE_MAX ? limit : 0;

	for (;;) {
		for (; in < few && bts_copy_four(head, predicted, out, in, limit); in += 4)
			out += 4;
		/* Copy single records up to one that bts_leave() or bts_sort() has to handle. */
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

/* A second copy of the loop, so that only sources with predictions have to test the flags. */
static noinline void bts_ring_fill_predicted(struct bts_ring *ring, const struct bts_raw *in,
					     u32 n, bool more)
{
	__bts_ring_fill(ring, in, n, more, true);
}

/* Copy those of the @n records at @in that the context wants. There is room for all. */
static void bts_ring_fill(struct bts_ring *ring, const struct bts_raw *in, u32 n, bool more)
{
	if (READ_ONCE(ring->props->predicted))
		bts_ring_fill_predicted(ring, in, n, more);
	else
		__bts_ring_fill(ring, in, n, more, false);
}

/* Count those of the @n records at @in that the context wants. */
static u32 bts_ring_count(struct bts_ring *ring, const struct bts_raw *in, u32 n)
{
	struct x86_bts_record scratch;
	u32 count = 0;

	while (n--) {
		if (!bts_sort(ring, &scratch, in++, n))
			continue;
		count++;
		/* bts_sort() has added this record to ring->lost, and the caller adds @count. */
		if (scratch.type == X86_BTS_LOST)
			ring->lost--;
	}

	return count;
}

/*
 * @in is the first record after bts_ring.away was set. If the branch back is missing before @in,
 * count a lost record, and a skew if bts_ring.crossed is set.
 *
 * With BTS_ENTRY, count nothing: the hardware source uses the CPL filter only while the CPU is
 * stuck, and then the ring has gaps; the software source has no CPL filter.
 */
static void bts_ring_first(struct bts_ring *ring, const struct bts_raw *in)
{
	if (ring->flags & BTS_ENTRY || !bts_misses_return(ring, in))
		return;

	if (ring->crossed)
		ring->skews++;
	ring->lost++;
	ring->unmarked++;
}

/*
 * Tell whether a batch of records whose last branch goes to @to ends outside the wanted mode, so
 * that a branch back to this mode has to follow.
 */
static bool bts_ends_away(const struct bts_ring *ring, u64 to)
{
	const u32 both = BTS_USER | BTS_KERNEL;

	return (ring->flags & both) != both && !bts_is_inside(ring, to);
}

/**
 * bts_ring_put - filter records and append those that are wanted
 * @ring: the ring
 * @in: records as the source delivers them, oldest first
 * @n: the number of records
 *
 * If there is no room, a ring with BTS_STOP_FULL keeps its records, and counts the new ones as
 * lost. Other rings overwrite their oldest records.
 *
 * Return: true if the ring is full.
 */
bool bts_ring_put(struct bts_ring *ring, const struct bts_raw *in, u32 n)
{
	if (n) {
		if (ring->away)
			bts_ring_first(ring, in);
		ring->away = bts_ends_away(ring, in[n - 1].to);
		ring->crossed = ring->away && bts_is_crossing(ring, &in[n - 1]);
	}
	if (unlikely(ring->unmarked || ring->gap))
		bts_ring_put_due_lost(ring);

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
