// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of branch traces that the Branch Trace Store makes. The tests are skipped if the
 * kernel cannot use the Branch Trace Store, or if claiming it fails with -EBUSY.
 */

#include <kunit/resource.h>
#include <kunit/test.h>

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/vmalloc.h>

#include <asm/bts.h>
#include <asm/ds.h>
#include <asm/processor.h>

static void end_context(void *ctx)
{
	bts_destroy(ctx);
}

static struct bts_context *new_ring(struct kunit *test, bool cpu, u32 flags, u32 nr)
{
	struct bts_attr attr = { .flags = flags, .nr = nr, };
	struct bts_context *ctx = NULL;
	int err;

	err = cpu ? bts_create_cpu(0, &attr, &ctx) : bts_create_task(current, &attr, &ctx);
	if (err == -EOPNOTSUPP)
		kunit_skip(test, "no Branch Trace Store here");
	if (err == -EBUSY)
		kunit_skip(test, "perf uses the Branch Trace Store");
	KUNIT_ASSERT_EQ(test, 0, err);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, end_context, ctx));

	return ctx;
}

static struct bts_context *new_context(struct kunit *test, bool cpu, u32 flags)
{
	return new_ring(test, cpu, flags, 100);
}

static void destroy(struct kunit *test, struct bts_context *ctx)
{
	kunit_release_action(test, end_context, ctx);
}

static u32 wanted(void)
{
	struct bts_want want;
	unsigned long flags;

	local_irq_save(flags);
	want = bts_want();
	local_irq_restore(flags);

	return want.flags;
}

static const struct {
	bool	cpu;
	u32	flags;
} union_contexts[] = {
	{ false, BTS_USER, },
	{ false, BTS_KERNEL, },
	{ true, BTS_USER | BTS_IDLE, },
	{ true, BTS_KERNEL, },
};

#define NR_UNION	ARRAY_SIZE(union_contexts)

/* Create all four contexts, and destroy them in the order that @nr encodes. */
static void union_in_one_order(struct kunit *test, u32 nr)
{
	struct bts_context *ctx[NR_UNION];
	u32 i, left, flags, pick;

	for (i = 0; i < NR_UNION; i++)
		ctx[i] = new_context(test, union_contexts[i].cpu, union_contexts[i].flags);
	KUNIT_EXPECT_EQ(test, wanted(), BTS_USER | BTS_KERNEL);

	for (left = NR_UNION; left; left--) {
		pick = nr % left;
		nr /= left;
		for (i = 0; !ctx[i] || pick; i++)
			pick -= !!ctx[i];

		destroy(test, ctx[i]);
		ctx[i] = NULL;

		for (i = 0, flags = 0; i < NR_UNION; i++)
			if (ctx[i])
				flags |= union_contexts[i].flags;
		KUNIT_EXPECT_EQ(test, wanted(), flags & (BTS_USER | BTS_KERNEL));
	}
}

static void union_in_every_order(struct kunit *test)
{
	u32 nr;

	for (nr = 0; nr < 4 * 3 * 2; nr++)
		union_in_one_order(test, nr);
}

static void flight_only_if_all_agree(struct kunit *test)
{
	struct bts_context *flight = new_context(test, true, BTS_KERNEL | BTS_FLIGHT);
	struct bts_context *other;

	KUNIT_EXPECT_EQ(test, wanted(), BTS_KERNEL | BTS_FLIGHT);
	other = new_context(test, true, BTS_KERNEL);
	KUNIT_EXPECT_EQ(test, wanted(), BTS_KERNEL);
	destroy(test, other);
	KUNIT_EXPECT_EQ(test, wanted(), BTS_KERNEL | BTS_FLIGHT);
	other = new_context(test, false, BTS_USER);
	KUNIT_EXPECT_EQ(test, wanted(), BTS_USER | BTS_KERNEL);
	destroy(test, other);
	KUNIT_EXPECT_EQ(test, wanted(), BTS_KERNEL | BTS_FLIGHT);
	destroy(test, flight);
	KUNIT_EXPECT_EQ(test, wanted(), 0);
}

static void nonsense_is_refused(struct kunit *test)
{
	static const struct {
		bool	cpu;
		u32	flags;
		u32	nr;
	} cases[] = {
		{ false, 0, 1, },
		{ true, 0, 1, },
		{ false, BTS_STOP_FULL, 1, },
		{ false, BTS_KERNEL | BTS_ENTRY, 1, },
		{ false, BTS_USER | BTS_IDLE, 1, },
		{ false, BTS_KERNEL | BTS_FLIGHT, 1, },
		{ true, BTS_FLIGHT, 1, },
		{ true, BTS_USER | BTS_FLIGHT, 1, },
		{ true, BTS_KERNEL | BTS_FLIGHT | BTS_SCHED, 1, },
		{ false, BTS_USER | BIT(10), 1, },
		{ true, BTS_USER | BIT(31), 1, },
		{ false, BTS_USER, 0, },
		{ true, BTS_USER, U32_MAX, },
	};
	struct bts_context *ctx;
	u32 i;

	destroy(test, new_context(test, true, BTS_KERNEL));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bts_attr attr = { .flags = cases[i].flags, .nr = cases[i].nr, };
		int err;

		if (cases[i].cpu)
			err = bts_create_cpu(0, &attr, &ctx);
		else
			err = bts_create_task(current, &attr, &ctx);

		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, err, "case %u", i);
	}

	struct bts_attr good = { .flags = BTS_USER, .nr = 1, };
	struct bts_attr no_source = { .flags = BTS_USER, .nr = 1, .source = U32_MAX, };

	KUNIT_EXPECT_EQ(test, -ENODEV, bts_create_cpu(0, &no_source, &ctx));
	KUNIT_EXPECT_EQ(test, -ENODEV, bts_create_task(current, &no_source, &ctx));
	KUNIT_EXPECT_EQ(test, -ENXIO, bts_create_cpu(-1, &good, &ctx));
	KUNIT_EXPECT_EQ(test, -ENXIO, bts_create_cpu(nr_cpu_ids, &good, &ctx));
	KUNIT_EXPECT_EQ(test, -EINVAL, bts_create_task(&init_task, &good, &ctx));
	KUNIT_EXPECT_EQ(test, wanted(), 0);
}

static int change(struct bts_context *ctx, u32 flags)
{
	struct bts_attr attr = { .flags = flags, };

	return bts_change_task(ctx, &attr);
}

static void change_takes_effect(struct kunit *test)
{
	struct bts_context *ctx = new_context(test, true, BTS_USER);

	KUNIT_EXPECT_EQ(test, -EINVAL, change(ctx, BTS_KERNEL));
	KUNIT_EXPECT_EQ(test, wanted(), BTS_USER);
	destroy(test, ctx);
	ctx = new_context(test, false, BTS_USER);
	KUNIT_EXPECT_EQ(test, 0, change(ctx, BTS_KERNEL));
	KUNIT_EXPECT_EQ(test, wanted(), BTS_KERNEL);
	KUNIT_EXPECT_EQ(test, 0, change(ctx, 0));
	KUNIT_EXPECT_EQ(test, wanted(), 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, change(ctx, BTS_USER | BTS_STOP_FULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, change(ctx, BTS_USER | BTS_IDLE));
	KUNIT_EXPECT_EQ(test, -EINVAL, change(ctx, BTS_ENTRY));
	KUNIT_EXPECT_EQ(test, wanted(), 0);
	KUNIT_EXPECT_EQ(test, 0, change(ctx, BTS_USER | BTS_ENTRY));
	KUNIT_EXPECT_EQ(test, wanted(), BTS_USER | BTS_KERNEL);
	destroy(test, ctx);
	KUNIT_EXPECT_EQ(test, wanted(), 0);
}

static noinline int leaf(int n)
{
	/* Without this side effect, the compiler could remove the calls of this function. */
	barrier();
	return n + 1;
}

#define NR_CALLS	10000

static noinline int many_calls(void)
{
	int i, sum = 0;

	for (i = 0; i < NR_CALLS; i++)
		sum = leaf(sum);

	return sum;
}

KUNIT_DEFINE_ACTION_WRAPPER(free_records, vfree, void *);

/* Each call of leaf() is recorded, also if the buffer is drained by PMIs several times. */
static void kernel_is_traced(struct kunit *test)
{
	const u32 nr = 50 * NR_CALLS;
	int n, i, calls = 0, others = 0;
	struct bts_context *ctx;
	struct x86_bts_record *rec;

	destroy(test, new_context(test, false, BTS_KERNEL));
	rec = vmalloc_array(nr, sizeof(*rec));
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_records, rec));
	ctx = new_ring(test, false, BTS_KERNEL, nr);
	KUNIT_EXPECT_EQ(test, NR_CALLS, many_calls());
	n = bts_read(ctx, rec, nr);
	destroy(test, ctx);

	for (i = 0; i < n; i++) {
		/* An interrupt may return to the address of leaf(), too: test @from. */
		if (rec[i].type == X86_BTS_BRANCH && rec[i].branch.to == (unsigned long)leaf &&
		    rec[i].branch.from - (unsigned long)many_calls < 256)
			calls++;
		others += rec[i].type != X86_BTS_BRANCH;
	}
	KUNIT_EXPECT_EQ(test, NR_CALLS, calls);
	KUNIT_EXPECT_EQ(test, 0, others);
}

static int use_cpu0(struct kunit *test)
{
	int err = set_cpus_allowed_ptr(current, cpumask_of(0));

	/* Most cases compare wanted() with the flags of their own contexts. */
	if (!err && wanted())
		kunit_skip(test, "CPU 0 is traced already");

	return err;
}

static struct kunit_case bts_context_cases[] = {
	KUNIT_CASE(union_in_every_order),
	KUNIT_CASE(flight_only_if_all_agree),
	KUNIT_CASE(nonsense_is_refused),
	KUNIT_CASE(change_takes_effect),
	KUNIT_CASE(kernel_is_traced),
	{ }
};

/* Other suites need BTS: give it back now. Otherwise the kernel keeps it for some seconds. */
static void give_back(struct kunit_suite *suite)
{
	if (ds_give_way(true))
		ds_end_give_way();
}

static struct kunit_suite bts_context_suite = {
	.name		= "bts_context",
	.suite_exit	= give_back,
	.init		= use_cpu0,
	.test_cases	= bts_context_cases,
};

kunit_test_suite(bts_context_suite);

MODULE_DESCRIPTION("KUnit tests of branch traces");
MODULE_LICENSE("GPL");
