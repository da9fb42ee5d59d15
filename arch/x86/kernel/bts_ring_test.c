// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the rings of branch records, and of their filter
 */

#include <kunit/test.h>

#include <linux/limits.h>
#include <linux/slab.h>

#include <asm/bts.h>
#include <asm/cpufeature.h>
#include <asm/desc.h>
#include <asm/fred.h>
#include <asm/irq_vectors.h>
#include <asm/processor.h>
#include <asm/proto.h>
#include <asm/sections.h>

#include "bts_ring.h"

#define KERNEL_ADDR(n)	((u64)-0x10000000 + (n))
#define USER_ADDR(n)	(0x1000ULL + (n))

KUNIT_DEFINE_ACTION_WRAPPER(free_ring, bts_ring_free, struct bts_ring *);

/* The properties of the records of the tests: no flags, and no predictions */
static struct bts_record_props props;

static struct bts_ring *make_ring(struct kunit *test, u32 nr, u32 flags)
{
	struct bts_ring *ring = kunit_kzalloc(test, sizeof(*ring), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, 0, bts_ring_init(ring, nr, flags, &props));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_ring, ring));
	/* The first record need not be a branch back to the wanted mode. */
	ring->away = false;
	ring->crossed = false;

	return ring;
}

static u32 peek_oldest(struct bts_ring *ring, const struct x86_bts_record **rec)
{
	u64 oldest = 0;

	return bts_ring_peek(ring, &oldest, rec);
}

/* Put @n branches into the ring, from USER_ADDR(@first), USER_ADDR(@first + 1), and so on. */
static bool put_numbered(struct kunit *test, struct bts_ring *ring, u64 first, u32 n)
{
	struct bts_raw *raw = kcalloc(n, sizeof(*raw), GFP_KERNEL);
	bool full;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, raw);
	for (i = 0; i < n; i++) {
		raw[i].from = USER_ADDR(first + i);
		raw[i].to = USER_ADDR(0);
		raw[i].flags = U64_MAX;
	}
	full = bts_ring_put(ring, raw, n);
	kfree(raw);

	return full;
}

/* Consume @n records. They must be branches from USER_ADDR(@first), and so on. */
static void take_numbered(struct kunit *test, struct bts_ring *ring, u64 first, u32 n)
{
	const struct x86_bts_record *rec;
	u32 run, i;

	while (n) {
		run = peek_oldest(ring, &rec);
		KUNIT_ASSERT_GT(test, run, 0);
		KUNIT_ASSERT_LE(test, run, n);
		for (i = 0; i < run; i++) {
			KUNIT_EXPECT_EQ(test, rec[i].type, X86_BTS_BRANCH);
			KUNIT_EXPECT_EQ(test, rec[i].branch.from, USER_ADDR(first++));
		}
		KUNIT_EXPECT_EQ(test, 0, bts_ring_consume(ring, ring->tail, run));
		n -= run;
	}
}

static void ring_sizes(struct kunit *test)
{
	struct bts_ring ring;

	KUNIT_EXPECT_EQ(test, -EINVAL, bts_ring_init(&ring, 0, BTS_USER, &props));
	KUNIT_EXPECT_EQ(test, -EINVAL, bts_ring_init(&ring, BTS_MAX_RECORDS + 1, BTS_USER, &props));
	KUNIT_EXPECT_EQ(test, -EINVAL, bts_ring_init(&ring, U32_MAX, BTS_USER, &props));
	KUNIT_EXPECT_EQ(test, sizeof(struct x86_bts_record), 24);
}

static void ring_of_one(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 1, BTS_USER);

	KUNIT_EXPECT_EQ(test, 0, bts_ring_held(ring));
	KUNIT_EXPECT_TRUE(test, put_numbered(test, ring, 0, 1));
	take_numbered(test, ring, 0, 1);

	put_numbered(test, ring, 1, 500);
	KUNIT_EXPECT_EQ(test, 1, bts_ring_held(ring));
	take_numbered(test, ring, 500, 1);
	KUNIT_EXPECT_EQ(test, 499, ring->overwritten);
	KUNIT_EXPECT_EQ(test, 0, ring->lost);
}

static void ring_wrap_at_end(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 10, BTS_USER);
	u32 i;

	/* Each round moves ring->pos by 9 modulo 10, so that three rounds end at each index. */
	for (i = 0; i < 3 * ring->size; i++) {
		put_numbered(test, ring, 100 * i, 9);
		KUNIT_EXPECT_EQ(test, 9, bts_ring_held(ring));
		take_numbered(test, ring, 100 * i, 9);
		KUNIT_EXPECT_EQ(test, 0, bts_ring_held(ring));
	}
	KUNIT_EXPECT_EQ(test, 0, ring->overwritten);
}

static void ring_keeps_newest(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 10, BTS_USER);
	u32 n;

	for (n = 1; n < 4 * ring->size + 3; n++) {
		u32 held = min(n, 10);

		bts_ring_clear(ring);
		ring->overwritten = 0;
		put_numbered(test, ring, 0, n);
		KUNIT_EXPECT_EQ(test, held, bts_ring_held(ring));
		take_numbered(test, ring, n - held, held);
		KUNIT_EXPECT_EQ(test, n - held, ring->overwritten);
	}
}

static void ring_stops_and_counts(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 10, BTS_USER | BTS_STOP_FULL);
	const u32 room = 10 + BTS_RING_SKID;
	const struct x86_bts_record *rec;

	KUNIT_EXPECT_FALSE(test, put_numbered(test, ring, 0, 9));
	KUNIT_EXPECT_TRUE(test, put_numbered(test, ring, 9, 1));
	KUNIT_EXPECT_TRUE(test, put_numbered(test, ring, 10, room - 10));
	KUNIT_EXPECT_EQ(test, 0, ring->lost);
	KUNIT_EXPECT_TRUE(test, put_numbered(test, ring, room, 7));
	KUNIT_EXPECT_TRUE(test, put_numbered(test, ring, room + 7, 1));
	KUNIT_EXPECT_EQ(test, 8, ring->lost);
	KUNIT_EXPECT_EQ(test, room, bts_ring_held(ring));

	/* There is one X86_BTS_LOST record, at the position of the missing records. */
	take_numbered(test, ring, 0, room);
	KUNIT_EXPECT_EQ(test, 1, bts_ring_held(ring));
	put_numbered(test, ring, room + 8, 2);
	KUNIT_ASSERT_GT(test, peek_oldest(ring, &rec), 0);
	KUNIT_EXPECT_EQ(test, rec->type, X86_BTS_LOST);
	KUNIT_EXPECT_EQ(test, rec->lost.count, 8);
	bts_ring_consume(ring, ring->tail, 1);
	take_numbered(test, ring, room + 8, 2);
	KUNIT_EXPECT_EQ(test, 0, bts_ring_held(ring));
	KUNIT_EXPECT_EQ(test, 8, ring->lost);
}

static void ring_counts_only_its_own(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 1, BTS_USER | BTS_STOP_FULL);
	struct bts_raw foreign = { .from = KERNEL_ADDR(1), .to = KERNEL_ADDR(2) };

	put_numbered(test, ring, 0, 1 + BTS_RING_SKID);
	bts_ring_put(ring, &foreign, 1);
	KUNIT_EXPECT_EQ(test, 0, ring->lost);
}

/* An event for which there is no room is lost like any other record. */
static void ring_counts_a_lost_mark(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 1, BTS_USER | BTS_STOP_FULL);
	const struct x86_bts_record event = { .type = X86_BTS_EXEC }, *rec;
	const u32 room = 1 + BTS_RING_SKID;

	put_numbered(test, ring, 0, room);
	bts_ring_put_event(ring, &event);
	KUNIT_EXPECT_EQ(test, 1, ring->lost);
	KUNIT_EXPECT_EQ(test, room, bts_ring_held(ring));

	take_numbered(test, ring, 0, room);
	bts_ring_put_event(ring, &event);
	KUNIT_ASSERT_EQ(test, 2, peek_oldest(ring, &rec));
	KUNIT_EXPECT_EQ(test, rec[0].type, X86_BTS_LOST);
	KUNIT_EXPECT_EQ(test, rec[0].lost.count, 1);
	KUNIT_EXPECT_EQ(test, rec[1].type, X86_BTS_EXEC);
	KUNIT_EXPECT_EQ(test, 1, ring->lost);
}

static void ring_marks_gaps(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 10, BTS_USER | BTS_STOP_FULL);
	const struct x86_bts_record *rec;

	put_numbered(test, ring, 0, 2);
	bts_ring_put_gap(ring);
	bts_ring_put_gap(ring);
	put_numbered(test, ring, 2, 1);

	KUNIT_ASSERT_EQ(test, 4, peek_oldest(ring, &rec));
	KUNIT_EXPECT_EQ(test, rec[1].type, X86_BTS_BRANCH);
	KUNIT_EXPECT_EQ(test, rec[2].type, X86_BTS_LOST);
	KUNIT_EXPECT_EQ(test, rec[2].lost.count, 0);
	KUNIT_EXPECT_EQ(test, rec[3].branch.from, USER_ADDR(2));
	KUNIT_EXPECT_EQ(test, 1, ring->gaps);
	KUNIT_EXPECT_EQ(test, 0, ring->lost);

	/* bts_ring_put_due_lost(), which bts_read() calls, marks a gap that no record follows. */
	bts_ring_consume(ring, ring->tail, 4);
	bts_ring_put_gap(ring);
	bts_ring_put_due_lost(ring);
	bts_ring_put_due_lost(ring);
	KUNIT_EXPECT_EQ(test, 1, bts_ring_held(ring));
	KUNIT_EXPECT_EQ(test, 2, ring->gaps);
}

/* Do nothing, or change the ring so that bts_ring_put_one() usually takes its slow path. */
static void disturb(struct bts_ring *ring, int how)
{
	switch (how % 5) {
	case 1:
		bts_ring_put_gap(ring);
		break;
	case 2:
		bts_ring_expect_return(ring);
		break;
	case 3:
		ring->lost++;
		ring->unmarked++;
		break;
	case 4:
		bts_ring_change(ring, ring->flags);
		break;
	}
}

static void put_both(struct kunit *test, struct bts_ring *one, struct bts_ring *many, int i)
{
	struct bts_raw raw = { .from = USER_ADDR(i), .to = USER_ADDR(2 * i) };

	if (i % 7 == 3)
		raw.from = KERNEL_ADDR(i);
	if (i % 11 == 5)
		raw.to = KERNEL_ADDR(0);
	KUNIT_EXPECT_EQ(test, bts_ring_put(many, &raw, 1),
			bts_ring_put_one(one, raw.from, raw.to));
	KUNIT_EXPECT_EQ(test, many->away, one->away);
	KUNIT_EXPECT_EQ(test, many->away && many->crossed, one->away && one->crossed);
}

static void compare_rings(struct kunit *test, const struct bts_ring *one,
			  const struct bts_ring *many)
{
	struct x86_bts_record a, b;
	u32 i;

	KUNIT_ASSERT_EQ(test, many->head, one->head);
	KUNIT_EXPECT_EQ(test, many->pos, one->pos);
	KUNIT_EXPECT_EQ(test, many->lost, one->lost);
	KUNIT_EXPECT_EQ(test, many->unmarked, one->unmarked);
	KUNIT_EXPECT_EQ(test, many->gaps, one->gaps);
	KUNIT_EXPECT_EQ(test, many->skews, one->skews);
	for (i = 0; i < bts_ring_held(one); i++) {
		KUNIT_ASSERT_EQ(test, 0, bts_ring_get(one, i, &a));
		KUNIT_ASSERT_EQ(test, 0, bts_ring_get(many, i, &b));
		KUNIT_ASSERT_EQ(test, b.type, a.type);
		if (a.type == X86_BTS_LOST)
			KUNIT_EXPECT_EQ(test, b.lost.count, a.lost.count);
		else
			KUNIT_EXPECT_MEMEQ(test, &b, &a, sizeof(a));
	}
}

/* bts_ring_put_one() does what bts_ring_put() does. */
static void ring_one_is_as_many(struct kunit *test)
{
	const u32 flags[] = {
		BTS_USER, BTS_USER | BTS_ENTRY, BTS_USER | BTS_STOP_FULL,
		BTS_USER | BTS_ENTRY | BTS_STOP_FULL,
	};
	struct bts_ring *one, *many;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		one = make_ring(test, 40, flags[i]);
		many = make_ring(test, 40, flags[i]);
		for (j = 0; j < 1000; j++) {
			disturb(one, j / 3);
			disturb(many, j / 3);
			put_both(test, one, many, j);
			if (j % 500 == 499) {
				compare_rings(test, one, many);
				bts_ring_clear(one);
				bts_ring_clear(many);
			}
		}
	}
}

static void ring_get_newest_first(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 10, BTS_USER);
	struct x86_bts_record rec;
	u32 i;

	KUNIT_EXPECT_EQ(test, -EINVAL, bts_ring_get(ring, 0, &rec));
	put_numbered(test, ring, 0, 73);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, 0, bts_ring_get(ring, i, &rec));
		KUNIT_EXPECT_EQ(test, rec.branch.from, USER_ADDR(72 - i));
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, bts_ring_get(ring, 10, &rec));
	KUNIT_EXPECT_EQ(test, -EINVAL, bts_ring_get(ring, U64_MAX, &rec));
	KUNIT_EXPECT_EQ(test, -EINVAL, bts_ring_get(ring, 1ULL << 32, &rec));
}

static void ring_tells_what_was_spoilt(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 10, BTS_USER);
	const struct x86_bts_record *rec;
	u64 first;

	put_numbered(test, ring, 0, 10);
	KUNIT_EXPECT_EQ(test, 10, peek_oldest(ring, &rec));
	first = ring->tail;
	put_numbered(test, ring, 10, 4);
	KUNIT_EXPECT_EQ(test, 4, bts_ring_consume(ring, first, 10));
	KUNIT_EXPECT_EQ(test, 4, ring->overwritten);
	take_numbered(test, ring, 10, 4);

	put_numbered(test, ring, 14, 3);
	KUNIT_EXPECT_EQ(test, 3, bts_ring_held(ring));
	peek_oldest(ring, &rec);
	first = ring->tail;
	put_numbered(test, ring, 17, 100);
	KUNIT_EXPECT_EQ(test, 3, bts_ring_consume(ring, first, 3));
	take_numbered(test, ring, 107, 10);
	KUNIT_EXPECT_EQ(test, 4 + 3 + 90, ring->overwritten);
}

/* A record that is not wanted does not overwrite the oldest one in a full ring. */
static void ring_keeps_oldest(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 10, BTS_USER);
	const struct bts_raw foreign[] = {
		{ .from = USER_ADDR(1), .to = KERNEL_ADDR(2), },
		{ .from = KERNEL_ADDR(1), .to = KERNEL_ADDR(2), },
	};

	put_numbered(test, ring, 0, 15);
	bts_ring_put(ring, foreign, 2);
	take_numbered(test, ring, 5, 10);
}

/* The record that a branch becomes in a ring with these flags; X86_BTS_INVALID stands for none */
static const struct filter_case {
	const char	*name;
	bool		from_user;
	bool		to_user;
	u32		flags;
	u64		type;
	bool		hide_from;
	bool		hide_to;
} filter_cases[] = {
	{ "user to user, user", true, true, BTS_USER, X86_BTS_BRANCH, },
	{ "user to kernel, user", true, false, BTS_USER, X86_BTS_INVALID, },
	{ "user to kernel, entry", true, false, BTS_USER | BTS_ENTRY, X86_BTS_ENTER,
	  .hide_to = true, },
	{ "kernel to user, user", false, true, BTS_USER, X86_BTS_LEAVE, .hide_from = true, },
	{ "kernel to kernel, user", false, false, BTS_USER, X86_BTS_INVALID, },
	{ "kernel to kernel, entry", false, false, BTS_USER | BTS_ENTRY, X86_BTS_INVALID, },
	{ "user to user, kernel", true, true, BTS_KERNEL, X86_BTS_INVALID, },
	{ "user to kernel, kernel", true, false, BTS_KERNEL, X86_BTS_BRANCH, },
	{ "kernel to user, kernel", false, true, BTS_KERNEL, X86_BTS_INVALID, },
	{ "kernel to kernel, kernel", false, false, BTS_KERNEL, X86_BTS_BRANCH, },
	{ "kernel astray, flight", false, true, BTS_KERNEL | BTS_FLIGHT, X86_BTS_BRANCH, },
	{ "user to user, flight", true, true, BTS_KERNEL | BTS_FLIGHT, X86_BTS_INVALID, },
	{ "user to user, both", true, true, BTS_USER | BTS_KERNEL, X86_BTS_BRANCH, },
	{ "user to kernel, both", true, false, BTS_USER | BTS_KERNEL, X86_BTS_BRANCH, },
	{ "kernel to user, both", false, true, BTS_USER | BTS_KERNEL, X86_BTS_BRANCH, },
	{ "kernel to kernel, both", false, false, BTS_USER | BTS_KERNEL, X86_BTS_BRANCH, },
};

KUNIT_ARRAY_PARAM_DESC(filter, filter_cases, name);

static void filter_record(struct kunit *test)
{
	const struct filter_case *c = test->param_value;
	struct bts_ring *ring = make_ring(test, 4, c->flags);
	u64 from = c->from_user ? USER_ADDR(1) : KERNEL_ADDR(1);
	u64 to = c->to_user ? USER_ADDR(2) : KERNEL_ADDR(2);
	struct bts_raw raw = { .from = from, .to = to, };
	struct x86_bts_record rec;

	bts_ring_put(ring, &raw, 1);
	if (!c->type) {
		KUNIT_EXPECT_EQ(test, 0, bts_ring_held(ring));
		return;
	}
	KUNIT_ASSERT_EQ(test, 0, bts_ring_get(ring, 0, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, c->type);
	KUNIT_EXPECT_EQ(test, rec.branch.from, c->hide_from ? 0 : from);
	KUNIT_EXPECT_EQ(test, rec.branch.to, c->hide_to ? 0 : to);
}

/* Addresses of the kernel must not appear in a ring of user mode. */
static void filter_edges(struct kunit *test)
{
	static const u64 foreign[] = {
		(u64)-1, (u64)-10 * 1024 * 1024, (u64)LONG_MIN, 0,
	};
	struct bts_ring *ring = make_ring(test, 16, BTS_USER);
	struct x86_bts_record rec;
	struct bts_raw raw;
	u32 i;

	for (i = 0; i <= ARRAY_SIZE(foreign); i++) {
		u64 addr = i < ARRAY_SIZE(foreign) && foreign[i] ? foreign[i] : TASK_SIZE_MAX;

		raw = (struct bts_raw){ .from = USER_ADDR(0), .to = addr, };
		bts_ring_put(ring, &raw, 1);
		KUNIT_EXPECT_EQ(test, 0, bts_ring_held(ring));

		raw = (struct bts_raw){ .from = addr, .to = USER_ADDR(0), };
		bts_ring_put(ring, &raw, 1);
		KUNIT_ASSERT_EQ(test, 0, bts_ring_get(ring, 0, &rec));
		KUNIT_EXPECT_EQ(test, rec.type, X86_BTS_LEAVE);
		KUNIT_EXPECT_EQ(test, rec.branch.from, 0);
		bts_ring_clear(ring);
	}

	/* The bitwise OR of two user addresses may exceed the limit. */
	raw = (struct bts_raw){ .from = TASK_SIZE_MAX - 1, .to = 0x40001000, };
	KUNIT_ASSERT_GE(test, raw.from | raw.to, (u64)TASK_SIZE_MAX);
	bts_ring_put(ring, &raw, 1);
	KUNIT_ASSERT_EQ(test, 0, bts_ring_get(ring, 0, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, X86_BTS_BRANCH);
	KUNIT_EXPECT_EQ(test, rec.branch.from, raw.from);
	KUNIT_EXPECT_EQ(test, rec.branch.to, raw.to);
}

/* Two records of a system call, user to kernel and kernel to user, and one of a branch after it */
static struct bts_raw round_trip[] = {
	{ .from = USER_ADDR(0), },
	{ .to = USER_ADDR(1), },
	{ .from = USER_ADDR(1), .to = USER_ADDR(2), },
};

/* The filter compares these addresses with those of the entry code. */
static int set_round_trip(struct kunit_suite *suite)
{
	u64 entry = (unsigned long)__entry_text_start;

#ifdef CONFIG_X86_FRED
	if (cpu_feature_enabled(X86_FEATURE_FRED))
		entry = (unsigned long)asm_fred_entrypoint_user;
#endif
	round_trip[0].to = entry;
	round_trip[1].from = entry + 1;

	return 0;
}

static void expect_lost_one(struct kunit *test, struct bts_ring *ring, u32 skews)
{
	const struct x86_bts_record *rec;

	KUNIT_EXPECT_EQ(test, skews, ring->skews);
	KUNIT_EXPECT_EQ(test, 1, ring->lost);
	KUNIT_ASSERT_EQ(test, 2, peek_oldest(ring, &rec));
	KUNIT_EXPECT_EQ(test, rec[0].type, X86_BTS_LOST);
	KUNIT_EXPECT_EQ(test, rec[0].lost.count, 1);
	KUNIT_EXPECT_EQ(test, rec[1].type, X86_BTS_BRANCH);
	KUNIT_EXPECT_EQ(test, rec[1].branch.from, USER_ADDR(1));
}

/* Put in @first records of @raw, and then @rest more. One record is missing. */
static void expect_loss(struct kunit *test, const struct bts_raw *raw, u32 first, u32 rest,
			u32 skews)
{
	struct bts_ring *ring = make_ring(test, 16, BTS_USER);

	bts_ring_put(ring, raw, first);
	bts_ring_put(ring, raw + first, rest);
	expect_lost_one(test, ring, skews);
}

static void filter_trusts_sound_hardware(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 16, BTS_USER);

	bts_ring_expect_return(ring);
	/* The hardware drops nothing. */
	bts_ring_put(ring, round_trip + 1, 2);
	bts_ring_put(ring, round_trip, 3);
	bts_ring_put(ring, round_trip, 1);
	bts_ring_put(ring, round_trip + 1, 2);
	/* The hardware drops branches whose target is in the kernel. */
	bts_ring_put(ring, round_trip + 2, 1);
	bts_ring_put(ring, round_trip + 1, 2);
	KUNIT_EXPECT_EQ(test, 0, ring->skews);
	KUNIT_EXPECT_EQ(test, 0, ring->lost);
}

/* The branch back to user mode is missing: in a batch, between two batches, before the first. */
static void filter_notices_a_skew(struct kunit *test)
{
	const struct bts_raw inside[] = { round_trip[0], round_trip[2], };
	struct bts_ring *ring;

	expect_loss(test, inside, 2, 0, 1);
	expect_loss(test, inside, 1, 1, 1);

	ring = make_ring(test, 16, BTS_USER);
	bts_ring_expect_return(ring);
	bts_ring_put(ring, inside + 1, 1);
	expect_lost_one(test, ring, 1);

	ring = make_ring(test, 16, BTS_USER);
	bts_ring_change(ring, BTS_USER);
	bts_ring_put(ring, inside + 1, 1);
	expect_lost_one(test, ring, 1);
}

/*
 * The branch back is missing, but that is no skew: the record before has a wrong target, is a
 * branch in the kernel, or is one from the kernel to the entry code.
 */
static void filter_counts_only_skews(struct kunit *test)
{
	const struct bts_raw wrong = { .from = USER_ADDR(0), .to = KERNEL_ADDR(0), };
	const struct bts_raw kernel = { .from = KERNEL_ADDR(1), .to = KERNEL_ADDR(2), };
	const struct bts_raw ret = { .from = KERNEL_ADDR(1), .to = round_trip[0].to, };
	const struct bts_raw garbled[] = { wrong, round_trip[2], };
	const struct bts_raw inside[][3] = {
		{ round_trip[0], kernel, round_trip[2], },
		{ round_trip[0], ret, round_trip[2], },
	};
	int i;

	expect_loss(test, garbled, 2, 0, 0);
	expect_loss(test, garbled, 1, 1, 0);
	for (i = 0; i < ARRAY_SIZE(inside); i++) {
		expect_loss(test, inside[i], 3, 0, 0);
		expect_loss(test, inside[i], 2, 1, 0);
	}
}

/* Of several batches that end outside the wanted mode, the last one decides. */
static void filter_forgets_an_older_crossing(struct kunit *test)
{
	const struct bts_raw wrong = { .from = USER_ADDR(0), .to = KERNEL_ADDR(0), };
	struct bts_ring *ring = make_ring(test, 16, BTS_USER);

	bts_ring_expect_return(ring);
	bts_ring_put(ring, round_trip + 1, 1);
	bts_ring_put(ring, round_trip, 1);
	bts_ring_put(ring, round_trip + 1, 1);
	bts_ring_clear(ring);
	bts_ring_put(ring, &wrong, 1);
	bts_ring_put(ring, round_trip + 2, 1);
	expect_lost_one(test, ring, 0);
}

/* The branch back is missing between the last record before the ring wraps and the next one. */
static void filter_notices_a_skew_at_the_wrap(struct kunit *test)
{
	const struct bts_raw inside[] = { round_trip[0], round_trip[2], };
	struct bts_ring *ring = make_ring(test, 16, BTS_USER);
	struct x86_bts_record rec;

	put_numbered(test, ring, 0, 15);
	bts_ring_put(ring, inside, 2);
	KUNIT_EXPECT_EQ(test, 1, ring->skews);
	KUNIT_EXPECT_EQ(test, 1, ring->lost);
	KUNIT_ASSERT_EQ(test, 0, bts_ring_get(ring, 1, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, X86_BTS_LOST);
}

static void filter_counts_a_skew_once(struct kunit *test)
{
	const struct bts_raw inside[] = { round_trip[0], round_trip[2], };
	struct bts_ring *ring = make_ring(test, 1, BTS_USER | BTS_STOP_FULL);

	put_numbered(test, ring, 0, 1 + BTS_RING_SKID);
	bts_ring_put(ring, inside, 2);
	KUNIT_EXPECT_EQ(test, 2, ring->lost);
	KUNIT_EXPECT_EQ(test, 2, ring->unmarked);
}

/* A branch back to the wanted mode resets the count of skews. */
static void filter_counts_skews_in_a_row(struct kunit *test)
{
	const struct bts_raw inside[] = { round_trip[0], round_trip[2], };
	struct bts_ring *ring = make_ring(test, 64, BTS_USER);
	u32 i;

	for (i = 0; i < 2 * BTS_RING_SKEWS; i++) {
		bts_ring_put(ring, inside, 2);
		KUNIT_EXPECT_EQ(test, 1, ring->skews);
		bts_ring_put(ring, round_trip, 3);
		KUNIT_EXPECT_EQ(test, 0, ring->skews);
	}
	for (i = 1; i <= BTS_RING_SKEWS; i++) {
		bts_ring_put(ring, inside, 2);
		KUNIT_EXPECT_EQ(test, i, ring->skews);
	}
}

static void filter_skew_of_the_kernel(struct kunit *test)
{
	const struct bts_raw out = round_trip[1];
	const struct bts_raw in = { .from = KERNEL_ADDR(0), .to = KERNEL_ADDR(1), };
	const struct bts_raw user = round_trip[2];
	struct bts_ring *ring = make_ring(test, 16, BTS_KERNEL);

	/* Two exits in a row: the kernel is not recorded. */
	bts_ring_put(ring, (struct bts_raw[]){ out, out, }, 2);
	bts_ring_put(ring, (struct bts_raw[]){ out, user, out, }, 3);
	bts_ring_put(ring, (struct bts_raw[]){ out, round_trip[0], in, }, 3);
	KUNIT_EXPECT_EQ(test, 0, ring->skews);
	bts_ring_put(ring, (struct bts_raw[]){ out, in, }, 2);
	KUNIT_EXPECT_EQ(test, 1, ring->skews);
	bts_ring_put(ring, (struct bts_raw[]){ out, }, 1);
	bts_ring_put(ring, (struct bts_raw[]){ in, }, 1);
	KUNIT_EXPECT_EQ(test, 2, ring->skews);
	/* A branch of user mode is recorded, so the CPL filter is not used. */
	bts_ring_put(ring, (struct bts_raw[]){ out, user, in, }, 3);
	KUNIT_EXPECT_EQ(test, 2, ring->skews);
	KUNIT_EXPECT_EQ(test, 3, ring->lost);
}

/* After a gap, the ring does not know whether the last branch left the wanted mode. */
static void filter_forgives_a_gap(struct kunit *test)
{
	struct bts_ring *ring = make_ring(test, 16, BTS_USER);

	bts_ring_put(ring, round_trip, 1);
	bts_ring_put_gap(ring);
	bts_ring_put(ring, round_trip + 2, 1);
	KUNIT_EXPECT_EQ(test, 0, ring->skews);
	KUNIT_EXPECT_EQ(test, 0, ring->lost);
}

static void expect_entry(struct kunit *test, const void *addr)
{
	KUNIT_EXPECT_TRUE_MSG(test, bts_is_entry_with((unsigned long)addr, false), "%pS", addr);
}

static void filter_entry(struct kunit *test)
{
#ifdef CONFIG_X86_64
	expect_entry(test, entry_SYSCALL_64);
#else
	expect_entry(test, entry_SYSENTER_32);
#endif
#ifdef CONFIG_IA32_EMULATION
	expect_entry(test, entry_SYSENTER_compat);
	expect_entry(test, entry_SYSCALL_compat);
#endif
	KUNIT_EXPECT_FALSE(test, bts_is_entry_with((unsigned long)bts_is_entry, false));
	KUNIT_EXPECT_FALSE(test, bts_is_entry_with(USER_ADDR(0), false));
}

/* Each gate of the IDT must lead to the entry code. */
static void filter_entry_gates(struct kunit *test)
{
	struct desc_ptr idt;
	const gate_desc *gate;
	unsigned long addr;
	u32 i, nr = 0;

	/* In a guest of Xen PV, SIDT returns the IDT of Xen, which the guest must not read. */
	if (cpu_feature_enabled(X86_FEATURE_XENPV) || cpu_feature_enabled(X86_FEATURE_FRED))
		kunit_skip(test, "the kernel does not use the IDT");

	store_idt(&idt);
	gate = (const gate_desc *)idt.address;
	for (i = 0; i < (idt.size + 1) / sizeof(*gate); i++) {
		addr = gate_offset(&gate[i]);
		/* On 32 bit, the gate of #DF has the selector of a TSS instead of an address. */
		if (!gate[i].bits.p || gate[i].bits.type == GATE_TASK)
			continue;
		/* Some vectors below 32 still have the handlers of early boot. */
		if (is_kernel_inittext(addr))
			continue;
		expect_entry(test, (const void *)addr);
		nr += i >= FIRST_EXTERNAL_VECTOR;
	}
	KUNIT_EXPECT_EQ(test, nr, NR_VECTORS - FIRST_EXTERNAL_VECTOR);
}

/* bts_is_entry_with() depends on the order of the entry points of FRED. */
static void filter_entry_fred(struct kunit *test)
{
#ifdef CONFIG_X86_FRED
	u64 user = (unsigned long)asm_fred_entrypoint_user;
	u64 kernel = (unsigned long)asm_fred_entrypoint_kernel;
	u64 end = (unsigned long)asm_fred_entrypoints_end;

	KUNIT_EXPECT_GT(test, kernel, user);
	KUNIT_EXPECT_GT(test, end, kernel);
	KUNIT_EXPECT_FALSE(test, bts_is_entry_with(user - 1, true));
	KUNIT_EXPECT_TRUE(test, bts_is_entry_with(user, true));
	KUNIT_EXPECT_TRUE(test, bts_is_entry_with(kernel, true));
	KUNIT_EXPECT_TRUE(test, bts_is_entry_with(end - 1, true));
	KUNIT_EXPECT_FALSE(test, bts_is_entry_with(end, true));
	KUNIT_EXPECT_FALSE(test, bts_is_entry_with((unsigned long)entry_SYSCALL_64, true));
#endif
}

static struct kunit_case bts_ring_cases[] = {
	KUNIT_CASE(ring_sizes),
	KUNIT_CASE(ring_of_one),
	KUNIT_CASE(ring_wrap_at_end),
	KUNIT_CASE(ring_keeps_newest),
	KUNIT_CASE(ring_keeps_oldest),
	KUNIT_CASE(ring_stops_and_counts),
	KUNIT_CASE(ring_counts_only_its_own),
	KUNIT_CASE(ring_counts_a_lost_mark),
	KUNIT_CASE(ring_marks_gaps),
	KUNIT_CASE(ring_one_is_as_many),
	KUNIT_CASE(ring_get_newest_first),
	KUNIT_CASE(ring_tells_what_was_spoilt),
	KUNIT_CASE_PARAM(filter_record, filter_gen_params),
	KUNIT_CASE(filter_edges),
	KUNIT_CASE(filter_entry),
	KUNIT_CASE(filter_entry_gates),
	KUNIT_CASE(filter_entry_fred),
	KUNIT_CASE(filter_trusts_sound_hardware),
	KUNIT_CASE(filter_notices_a_skew),
	KUNIT_CASE(filter_counts_only_skews),
	KUNIT_CASE(filter_forgets_an_older_crossing),
	KUNIT_CASE(filter_notices_a_skew_at_the_wrap),
	KUNIT_CASE(filter_counts_a_skew_once),
	KUNIT_CASE(filter_counts_skews_in_a_row),
	KUNIT_CASE(filter_skew_of_the_kernel),
	KUNIT_CASE(filter_forgives_a_gap),
	{ }
};

static struct kunit_suite bts_ring_suite = {
	.name		= "bts_ring",
	.suite_init	= set_round_trip,
	.test_cases	= bts_ring_cases,
};

kunit_test_suite(bts_ring_suite);

MODULE_DESCRIPTION("KUnit tests of rings of branch records");
MODULE_LICENSE("GPL");
