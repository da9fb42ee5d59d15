// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of struct branch_frozen_by: which branches are outdated after a thaw */

#include <kunit/test.h>

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/percpu.h>

#include "branch_freeze.h"

static DEFINE_PER_CPU(struct branch_frozen_by, frozen_by);

/* A CPU is frozen first by freeze @nr and then by the next one. A thaw undoes the first. */
static void freeze_twice(struct kunit *test, u32 nr)
{
	struct branch_frozen_by *by = this_cpu_ptr(&frozen_by);
	struct branch_freezes freezes = { .last = ATOMIC_INIT(nr), .thawed = ATOMIC_INIT(nr - 1), };
	u64 when;

	branch_forget_freeze(by);
	branch_note_freeze(&frozen_by, &freezes);
	when = by->when;
	KUNIT_EXPECT_NE(test, 0, when);
	KUNIT_EXPECT_FALSE(test, branch_is_outdated(by, &freezes));

	atomic_inc(&freezes.last);
	branch_note_freeze(&frozen_by, &freezes);
	KUNIT_EXPECT_EQ(test, when, by->when);
	atomic_set(&freezes.thawed, nr);
	KUNIT_EXPECT_TRUE(test, branch_freeze_in_force(&freezes));
	KUNIT_EXPECT_TRUE(test, branch_is_outdated(by, &freezes));

	branch_renew_freeze(&frozen_by, &freezes);
	KUNIT_EXPECT_FALSE(test, branch_is_outdated(by, &freezes));

	branch_forget_freeze(by);
	KUNIT_EXPECT_FALSE(test, branch_is_outdated(by, &freezes));
	branch_renew_freeze(&frozen_by, &freezes);
	KUNIT_EXPECT_EQ(test, 0, by->nr);
}

static void only_a_later_thaw_outdates(struct kunit *test)
{
	guard(irqsave)();
	freeze_twice(test, 1);
	freeze_twice(test, S32_MAX);
	freeze_twice(test, U32_MAX - 1);
}

/* A thaw undoes a freeze while its NMI freezes this CPU: only the next thaw makes it outdated. */
static void late_freeze_is_not_outdated(struct kunit *test)
{
	struct branch_freezes freezes = { .last = ATOMIC_INIT(5), .thawed = ATOMIC_INIT(5), };
	struct branch_frozen_by *by;

	guard(irqsave)();
	by = this_cpu_ptr(&frozen_by);
	branch_forget_freeze(by);
	branch_note_freeze(&frozen_by, &freezes);
	KUNIT_EXPECT_FALSE(test, branch_is_outdated(by, &freezes));
	atomic_set(&freezes.last, 6);
	KUNIT_EXPECT_FALSE(test, branch_is_outdated(by, &freezes));
	atomic_set(&freezes.thawed, 6);
	KUNIT_EXPECT_TRUE(test, branch_is_outdated(by, &freezes));
}

/* The number 0 means that the CPU is not frozen, so a count of 0 counts as 1. */
static void count_overflows(struct kunit *test)
{
	struct branch_freezes freezes = { .last = ATOMIC_INIT(0), .thawed = ATOMIC_INIT(-1), };
	struct branch_frozen_by *by;

	guard(irqsave)();
	by = this_cpu_ptr(&frozen_by);
	branch_forget_freeze(by);
	branch_note_freeze(&frozen_by, &freezes);
	KUNIT_EXPECT_EQ(test, 1, by->nr);
	KUNIT_EXPECT_FALSE(test, branch_is_outdated(by, &freezes));
	atomic_set(&freezes.thawed, 1);
	KUNIT_EXPECT_TRUE(test, branch_is_outdated(by, &freezes));
}

static struct kunit_case branch_freeze_cases[] = {
	KUNIT_CASE(only_a_later_thaw_outdates),
	KUNIT_CASE(late_freeze_is_not_outdated),
	KUNIT_CASE(count_overflows),
	{ }
};

static struct kunit_suite branch_freeze_suite = {
	.name = "branch_freeze",
	.test_cases = branch_freeze_cases,
};

kunit_test_suite(branch_freeze_suite);

MODULE_DESCRIPTION("KUnit tests of freezes");
MODULE_LICENSE("GPL");
