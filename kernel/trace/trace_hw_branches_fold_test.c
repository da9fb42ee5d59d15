// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of folded branches
 *
 * The tests use invented branches, each with its kind. Functions begin at multiples of 0x100,
 * calls are 5 bytes long, and addresses of the kernel from THUNKS on are in thunks.
 */

#include <kunit/test.h>

#include "trace_hw_branches_fold.h"

#define THUNKS	0xf000
#define RETURNS	0xf800

struct fake {
	struct hw_branch	branch;
	enum hw_branch_kind	kind;
};

struct fakes {
	const struct fake	*fake;
	u32			nr;
};

/* The arrays of the tests have the order of execution: the oldest branch is the first element. */
static bool fake_get(void *data, u32 nr, struct hw_branch *branch)
{
	const struct fakes *fakes = data;

	if (nr >= fakes->nr)
		return false;
	*branch = fakes->fake[fakes->nr - 1 - nr].branch;

	return true;
}

static enum hw_branch_kind fake_kind(void *data, const struct hw_branch *branch, u64 *back)
{
	const struct fakes *fakes = data;
	u32 i;

	for (i = 0; i < fakes->nr; i++) {
		const struct fake *fake = &fakes->fake[i];

		if (fake->branch.from == branch->from && fake->branch.to == branch->to) {
			if (fake->kind == HW_BRANCH_CALL)
				*back = branch->from + 5;
			else if (fake->kind == HW_BRANCH_ENTRY)
				*back = branch->from;
			return fake->kind;
		}
	}

	return HW_BRANCH_OTHER;
}

static bool fake_is_thunk(void *data, u64 address)
{
	return address >= THUNKS;
}

static bool fake_is_return(void *data, u64 address)
{
	return address >= RETURNS;
}

static const struct hw_branches_reader fake_reader = {
	.get		= fake_get,
	.kind		= fake_kind,
	.is_thunk	= fake_is_thunk,
	.is_return	= fake_is_return,
};

/* The expected members of a line. A 0 in @lines or @times stands for 1. */
struct expected {
	u64	from;
	u64	to;
	u32	inside;
	int	depth;
	u32	lines;
	u32	times;
};

static void expect(struct kunit *test, const struct fake *fake, u32 nr,
		   const struct expected *expected, u32 lines)
{
	struct fakes fakes = { .fake = fake, .nr = nr, };
	struct hw_branches_fold *fold;
	struct hw_branches_line line;
	u32 i, records = 0;

	fold = kunit_kzalloc(test, sizeof(*fold), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fold);
	hw_branches_fold_begin(fold, 0, false, &fake_reader, &fakes);
	for (i = 0; i < lines; i++) {
		KUNIT_ASSERT_TRUE_MSG(test, hw_branches_fold_next(fold, &line), "line %u", i);
		KUNIT_EXPECT_EQ_MSG(test, line.branch.from, expected[i].from, "line %u", i);
		KUNIT_EXPECT_EQ_MSG(test, line.branch.to, expected[i].to, "line %u", i);
		KUNIT_EXPECT_EQ_MSG(test, line.inside, expected[i].inside, "line %u", i);
		KUNIT_EXPECT_EQ_MSG(test, line.depth, expected[i].depth, "line %u", i);
		KUNIT_EXPECT_EQ_MSG(test, line.lines, expected[i].lines ?: 1, "line %u", i);
		KUNIT_EXPECT_EQ_MSG(test, line.times, expected[i].times ?: 1, "line %u", i);
		records += line.records;
	}
	KUNIT_EXPECT_FALSE(test, hw_branches_fold_next(fold, &line));
	KUNIT_EXPECT_EQ(test, records, nr);
}

#define EXPECT(test, fake, ...) do {						\
	static const struct expected expected[] = { __VA_ARGS__ };		\
	expect(test, fake, ARRAY_SIZE(fake), expected, ARRAY_SIZE(expected));	\
} while (0)

#define CALL(a, b)	{ { (a), (b) }, HW_BRANCH_CALL }
#define RETURN(a, b)	{ { (a), (b) }, HW_BRANCH_RETURN }
#define JUMP(a, b)	{ { (a), (b) }, HW_BRANCH_JUMP }
#define COND(a, b)	{ { (a), (b) }, HW_BRANCH_OTHER }
#define ENTRY(a, b)	{ { (a), (b) }, HW_BRANCH_ENTRY }
#define EXIT(a, b)	{ { (a), (b) }, HW_BRANCH_EXIT }
#define USER(b)		{ { HW_BRANCH_USER, (b) }, HW_BRANCH_FROM_USER }
#define SWITCH(a, b)	{ { (a), (b) }, HW_BRANCH_BREAK }
#define GAP		{ { 0, 0 }, HW_BRANCH_BREAK }

static void a_returned_call_is_one_line(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), COND(0x210, 0x220), RETURN(0x230, 0x115), CALL(0x120, 0x300),
	};

	EXPECT(test, fake, { 0x120, 0x300, 0, -1 }, { 0x110, 0x200, 3, -1 });
}

static void calls_inside_one_another(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), CALL(0x210, 0x300), RETURN(0x330, 0x215),
		CALL(0x220, 0x300), RETURN(0x330, 0x225), RETURN(0x230, 0x115),
	};

	EXPECT(test, fake, { 0x110, 0x200, 6, 0 });
}

/* The function at 0x200 jumps to the one at 0x300, which returns to the caller of the first one. */
static void a_tail_call(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), JUMP(0x210, 0x300), RETURN(0x330, 0x115),
	};

	EXPECT(test, fake, { 0x110, 0x200, 3, 0 });
}

static void a_return_without_its_call(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x210, 0x300), RETURN(0x330, 0x215), RETURN(0x230, 0x115), COND(0x120, 0x130),
	};

	EXPECT(test, fake, { 0x120, 0x130, 0, 0 }, { 0x230, 0x115, 0, 1 },
	       { 0x210, 0x300, 2, 1 });
}

/* The return address was changed: the call and the return are lines of their own. */
static void a_return_to_elsewhere(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), RETURN(0x230, 0x140), COND(0x150, 0x160),
	};

	EXPECT(test, fake, { 0x150, 0x160, 0, 0 }, { 0x230, 0x140, 0, 1 }, { 0x110, 0x200, 0, 0 });
}

/* The return skips one level: it does not go to the instruction after the newest call. */
static void a_jump_out_of_two_levels(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), CALL(0x210, 0x300), RETURN(0x330, 0x115),
	};

	EXPECT(test, fake, { 0x330, 0x115, 0, 1 }, { 0x210, 0x300, 0, 0 },
	       { 0x110, 0x200, 0, -1 });
}

static void a_switch_of_tasks(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), SWITCH(0x210, 0x900), RETURN(0x930, 0x215),
		RETURN(0x230, 0x115),
	};

	EXPECT(test, fake, { 0x230, 0x115, 0, 1 }, { 0x930, 0x215, 0, 2 },
	       { 0x210, 0x900, 0, 2 }, { 0x110, 0x200, 0, 1 });
}

static void a_gap(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), GAP, RETURN(0x230, 0x115),
	};

	EXPECT(test, fake, { 0x230, 0x115, 0, 1 }, { 0, 0, 0, 1 }, { 0x110, 0x200, 0, 0 });
}

static void an_interrupt(struct kunit *test)
{
	static const struct fake fake[] = {
		ENTRY(0x117, 0xe00), CALL(0xe10, 0x200), RETURN(0x230, 0xe15), EXIT(0xe40, 0x117),
	};

	EXPECT(test, fake, { 0x117, 0xe00, 4, 0 });
}

static void a_trap_goes_back_behind_it(struct kunit *test)
{
	static const struct fake fake[] = { ENTRY(0x117, 0xe00), EXIT(0xe40, 0x119), };

	EXPECT(test, fake, { 0x117, 0xe00, 2, 0 });
}

static void a_fault_that_is_fixed_up(struct kunit *test)
{
	static const struct fake fake[] = { ENTRY(0x117, 0xe00), EXIT(0xe40, 0x180), };

	EXPECT(test, fake, { 0xe40, 0x180, 0, 1 }, { 0x117, 0xe00, 0, 0 });
}

/* The return from a call does not match an interrupt. */
static void a_return_from_an_interrupt(struct kunit *test)
{
	static const struct fake fake[] = { ENTRY(0x117, 0xe00), RETURN(0xe40, 0x117), };

	EXPECT(test, fake, { 0xe40, 0x117, 0, 1 }, { 0x117, 0xe00, 0, 0 });
}

/* The stay of the newest branch has not ended: its lines are not folded. */
static void a_stay_that_has_ended(struct kunit *test)
{
	static const struct fake fake[] = {
		USER(0xe00), COND(0xe10, 0xe20), COND(0xe30, 0xe40), COND(0xe50, 0xe60),
		USER(0xe00), COND(0xe10, 0xe20),
	};

	EXPECT(test, fake, { 0xe10, 0xe20, 0, 0 }, { HW_BRANCH_USER, 0xe00, 0, 0 },
	       { HW_BRANCH_USER, 0xe00, 4, 0 });
}

/* The innermost call with at least half of the branches of the stay is shown, at its depth. */
static void the_longest_call_of_a_stay(struct kunit *test)
{
	static const struct fake fake[] = {
		USER(0xe00), CALL(0xe10, 0x100), CALL(0x110, 0x200), CALL(0x210, 0x300),
		COND(0x310, 0x320), RETURN(0x330, 0x215), COND(0x220, 0x230),
		CALL(0x240, 0x400), RETURN(0x410, 0x245), RETURN(0x250, 0x115),
		RETURN(0x120, 0xe15), COND(0xe20, 0xe30), USER(0xe00),
	};

	EXPECT(test, fake, { HW_BRANCH_USER, 0xe00, 0, 0 }, { 0x110, 0x200, 8, 1 },
	       { HW_BRANCH_USER, 0xe00, 12, 0 });
}

/* 3 of 6 branches are half of them, 3 of 7 are not. */
static void a_call_of_half_a_stay(struct kunit *test)
{
	static const struct fake fake[] = {
		USER(0xd00), COND(0xd10, 0xd20), COND(0xd30, 0xd40), COND(0xd50, 0xd60),
		CALL(0xd70, 0x200), COND(0x210, 0x220), RETURN(0x230, 0xd75),
		USER(0xe00), COND(0xe10, 0xe20), COND(0xe30, 0xe40),
		CALL(0xe50, 0x200), COND(0x210, 0x220), RETURN(0x230, 0xe55),
		USER(0xe00),
	};

	EXPECT(test, fake, { HW_BRANCH_USER, 0xe00, 0, 0 }, { 0xe50, 0x200, 3, 0 },
	       { HW_BRANCH_USER, 0xe00, 6, 0 }, { HW_BRANCH_USER, 0xd00, 7, 0 });
}

static void stays_that_are_repeated(struct kunit *test)
{
	static const struct fake fake[] = {
		USER(0xe00), CALL(0xe10, 0x200), RETURN(0x230, 0xe15),
		USER(0xe00), CALL(0xe10, 0x200), COND(0x210, 0x220), RETURN(0x230, 0xe15),
		USER(0xe00), CALL(0xe10, 0x200), RETURN(0x230, 0xe15),
		USER(0xd00),
	};

	EXPECT(test, fake, { HW_BRANCH_USER, 0xd00, 0, 0 }, { 0xe10, 0x200, 7, 0 },
	       { HW_BRANCH_USER, 0xe00, 10, 0, 2, 3 });
}

/* The entry of the stay is not recorded. */
static void a_stay_without_its_entry(struct kunit *test)
{
	static const struct fake fake[] = {
		COND(0x110, 0x120), CALL(0xe10, 0x200), RETURN(0x230, 0xe15), USER(0xe00),
	};

	EXPECT(test, fake, { HW_BRANCH_USER, 0xe00, 0, 0 }, { 0xe10, 0x200, 2, 0 },
	       { 0x110, 0x120, 0, 0 });
}

/* A branch from user mode is never joined, even if its target is in a thunk. */
static void an_entry_to_a_thunk(struct kunit *test)
{
	static const struct fake fake[] = {
		USER(0xe00), COND(0xe10, 0xe20), USER(0xf900), RETURN(0xf900, 0xd00),
		COND(0xd10, 0xd20), USER(0xe00),
	};

	EXPECT(test, fake, { HW_BRANCH_USER, 0xe00, 0, 0 }, { HW_BRANCH_USER, 0xf900, 3, 0 },
	       { HW_BRANCH_USER, 0xe00, 2, 0 });
}

/* The line of a stay follows that of its longest call. No loop ends between these two lines. */
static void stays_of_different_calls(struct kunit *test)
{
	static const struct fake fake[] = {
		USER(0xe00), CALL(0xe10, 0x200), RETURN(0x230, 0xe15),
		USER(0xe00), CALL(0xe10, 0x200), RETURN(0x230, 0xe15),
		USER(0xe00), CALL(0xe20, 0x300), RETURN(0x330, 0xe25),
		USER(0xd00),
	};

	EXPECT(test, fake, { HW_BRANCH_USER, 0xd00, 0, 0 }, { 0xe20, 0x300, 2, 0 },
	       { HW_BRANCH_USER, 0xe00, 3, 0 }, { 0xe10, 0x200, 4, 0 },
	       { HW_BRANCH_USER, 0xe00, 6, 0, 2, 2 });
}

/* A stay in which the CPU has switched to another task is not folded. */
static void a_stay_of_two_tasks(struct kunit *test)
{
	static const struct fake fake[] = {
		USER(0xe00), SWITCH(0x210, 0x900), COND(0x910, 0x920), USER(0xe00),
	};

	EXPECT(test, fake, { HW_BRANCH_USER, 0xe00, 0, 0 }, { 0x910, 0x920, 0, 0 },
	       { 0x210, 0x900, 0, 0 }, { HW_BRANCH_USER, 0xe00, 0, 0 });
}

/* The search for the call of a return does not continue before the entry from user mode. */
static void a_return_of_an_earlier_stay(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), USER(0xe00), RETURN(0x230, 0x115),
	};

	EXPECT(test, fake, { 0x230, 0x115, 0, 1 }, { HW_BRANCH_USER, 0xe00, 0, 1 },
	       { 0x110, 0x200, 0, 0 });
}

static void calls_and_returns_through_thunks(struct kunit *test)
{
	static const struct fake fake[] = {
		/* an indirect call through a retpoline */
		CALL(0x110, 0xf100), CALL(0xf100, 0xf10c), RETURN(0xf110, 0x200),
		COND(0x210, 0x220),
		/* a return through a thunk that contains a call */
		JUMP(0x230, 0xf800), CALL(0xf800, 0xf820), RETURN(0xf824, 0x115),
		/* a direct call, and a return through a thunk that contains no call */
		CALL(0x120, 0x300), JUMP(0x330, 0xf900), RETURN(0xf900, 0x125),
	};

	EXPECT(test, fake, { 0x120, 0x300, 3, 0 }, { 0x110, 0x200, 7, 0 });
}

static void a_jump_through_a_thunk(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), JUMP(0x210, 0xf100), CALL(0xf100, 0xf10c),
		RETURN(0xf110, 0x300), RETURN(0x330, 0x115), JUMP(0x130, 0xf100),
		JUMP(0xf100, 0x400),
	};

	EXPECT(test, fake, { 0x130, 0x400, 0, 0 }, { 0x110, 0x200, 5, 0 });
}

/* With call depth tracking, some returns make 16 calls in the thunk. */
static void a_return_that_fills_the_return_stack_buffer(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), JUMP(0x230, 0xf800), COND(0xf801, 0xf810),
		COND(0xf810, 0xf816), COND(0xf816, 0xf81c), COND(0xf81c, 0xf822),
		COND(0xf822, 0xf828), COND(0xf828, 0xf82e), COND(0xf82e, 0xf834),
		COND(0xf834, 0xf83a), COND(0xf83a, 0xf840), COND(0xf840, 0xf846),
		COND(0xf846, 0xf84c), COND(0xf84c, 0xf852), COND(0xf852, 0xf858),
		COND(0xf858, 0xf85e), COND(0xf85e, 0xf864), COND(0xf864, 0xf86a),
		COND(0xf86a, 0xf870), RETURN(0xf880, 0x115),
	};

	EXPECT(test, fake, { 0x110, 0x200, 20, 0 });
}

static void a_thunk_that_has_not_ended(struct kunit *test)
{
	static const struct fake fake[] = {
		JUMP(0x230, 0xf800), COND(0xf801, 0xf810), COND(0xf810, 0xf816),
	};

	EXPECT(test, fake, { 0xf810, 0xf816, 0, 0 }, { 0xf801, 0xf810, 0, 0 },
	       { 0x230, 0xf800, 0, 0 });
}

static void a_thunk_that_is_interrupted(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), JUMP(0x230, 0xf900), ENTRY(0xf900, 0xe00), EXIT(0xe40, 0xf900),
		RETURN(0xf900, 0x115),
	};

	EXPECT(test, fake, { 0x110, 0x200, 5, 0 });
}

/* A function that only jumps to another one is not a thunk: its jump is a branch of its own. */
static void a_function_that_jumps(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x800), JUMP(0x800, 0x200), RETURN(0x230, 0x115), CALL(0x120, 0x800),
		JUMP(0x800, 0x200),
	};

	EXPECT(test, fake, { 0x800, 0x200, 0, 0 }, { 0x120, 0x800, 0, -1 },
	       { 0x110, 0x800, 3, -1 });
}

static void a_loop_of_one_branch(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), COND(0x220, 0x210), COND(0x220, 0x210), COND(0x220, 0x210),
	};

	EXPECT(test, fake, { 0x220, 0x210, 0, 0, 1, 3 }, { 0x110, 0x200, 0, -1 });
}

static void a_loop_of_several(struct kunit *test)
{
	static const struct fake fake[] = {
		COND(0x100, 0x110),
		CALL(0x118, 0x200), RETURN(0x230, 0x11d), COND(0x120, 0x110),
		CALL(0x118, 0x200), COND(0x210, 0x220), RETURN(0x230, 0x11d), COND(0x120, 0x110),
		CALL(0x118, 0x200), RETURN(0x230, 0x11d), COND(0x120, 0x110),
	};

	EXPECT(test, fake, { 0x120, 0x110, 0, 0 }, { 0x118, 0x200, 7, 0, 2, 3 },
	       { 0x100, 0x110, 0, 0 });
}

static void deep_recursion(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), CALL(0x210, 0x200), CALL(0x210, 0x200), CALL(0x210, 0x200),
	};

	EXPECT(test, fake, { 0x210, 0x200, 0, -1, 1, 3 }, { 0x110, 0x200, 0, -4 });
}

static void recursion_that_returns(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x210, 0x200), CALL(0x210, 0x200), RETURN(0x230, 0x215),
		RETURN(0x230, 0x215), COND(0x220, 0x228),
	};

	EXPECT(test, fake, { 0x220, 0x228, 0, 0 }, { 0x210, 0x200, 4, 0 });
}

/* A conditional jump to the instruction after a call is not taken for a return. */
static void a_loop_behind_a_call(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), RETURN(0x230, 0x115), COND(0x120, 0x115), COND(0x120, 0x115),
	};

	EXPECT(test, fake, { 0x120, 0x115, 0, 0, 1, 2 }, { 0x110, 0x200, 2, 0 });
}

static void plain_lines(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), COND(0x220, 0x210), COND(0x220, 0x210), RETURN(0x230, 0x115),
	};
	struct fakes fakes = { .fake = fake, .nr = ARRAY_SIZE(fake), };
	struct hw_branches_fold *fold;
	struct hw_branches_line line;
	u32 n = 0;

	fold = kunit_kzalloc(test, sizeof(*fold), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fold);
	hw_branches_fold_begin(fold, 0, true, &fake_reader, &fakes);
	while (hw_branches_fold_next(fold, &line)) {
		n++;
		KUNIT_EXPECT_EQ(test, line.branch.from, fake[fakes.nr - n].branch.from);
		KUNIT_EXPECT_EQ(test, line.times, 1);
		KUNIT_EXPECT_EQ(test, line.inside, 0);
	}
	KUNIT_EXPECT_EQ(test, n, fakes.nr);
}

static void the_outermost_depth(struct kunit *test)
{
	static const struct fake fake[] = {
		CALL(0x110, 0x200), CALL(0x210, 0x300), RETURN(0x330, 0x215), CALL(0x220, 0x400),
	};
	struct fakes fakes = { .fake = fake, .nr = ARRAY_SIZE(fake), };
	struct hw_branches_fold *fold;
	u32 records;

	fold = kunit_kzalloc(test, sizeof(*fold), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fold);
	hw_branches_fold_begin(fold, 0, false, &fake_reader, &fakes);
	KUNIT_EXPECT_EQ(test, hw_branches_fold_base(fold, 32, &records), -2);
	KUNIT_EXPECT_EQ(test, records, 4);
	KUNIT_EXPECT_EQ(test, hw_branches_fold_base(fold, 2, &records), -1);
	KUNIT_EXPECT_EQ(test, records, 3);
}

/**
 * struct endless - counters of endless_reader and long_stay_reader
 * @read:	the number of calls of endless_get() or long_stay_get()
 * @lines:	the number of calls of endless_progress()
 */
struct endless {
	u32	read;
	u32	lines;
};

static bool endless_get(void *data, u32 nr, struct hw_branch *branch)
{
	struct endless *endless = data;

	endless->read++;
	branch->from = THUNKS + nr * 0x10;
	/* Only the newest branch leaves the thunks. */
	branch->to = nr ? THUNKS + (nr + 1) * 0x10 : 0x110;

	return nr < 1000;
}

static enum hw_branch_kind endless_kind(void *data, const struct hw_branch *branch, u64 *back)
{
	return HW_BRANCH_JUMP;
}

static void endless_progress(void *data)
{
	struct endless *endless = data;

	endless->lines++;
}

static const struct hw_branches_reader endless_reader = {
	.get		= endless_get,
	.kind		= endless_kind,
	.is_thunk	= fake_is_thunk,
	.is_return	= fake_is_return,
	.progress	= endless_progress,
};

static void a_chain_of_thunks_has_an_end(struct kunit *test)
{
	struct endless endless = { };
	struct hw_branches_fold *fold;
	u32 records;

	fold = kunit_kzalloc(test, sizeof(*fold), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fold);
	hw_branches_fold_begin(fold, 0, false, &endless_reader, &endless);
	hw_branches_fold_base(fold, 100, &records);
	KUNIT_EXPECT_EQ(test, records, 100);
	/*
	 * The walk also fills fold->ahead. It reads at most 3 branches for each line, and at most
	 * 22 for the branch that leaves the thunks.
	 */
	KUNIT_EXPECT_LE(test, endless.read, (100 + 2 * HW_BRANCHES_LOOP) * 3 + 22);
	KUNIT_EXPECT_EQ(test, endless.lines, 100);
}

/* A branch from user mode, and before it 1,000,000 branches of a stay without its entry */
static bool long_stay_get(void *data, u32 nr, struct hw_branch *branch)
{
	struct endless *endless = data;

	endless->read++;
	branch->from = nr ? 0x110 : HW_BRANCH_USER;
	branch->to = 0xe00;

	return nr <= 1000000;
}

static enum hw_branch_kind long_stay_kind(void *data, const struct hw_branch *branch, u64 *back)
{
	return branch->from == HW_BRANCH_USER ? HW_BRANCH_FROM_USER : HW_BRANCH_OTHER;
}

static const struct hw_branches_reader long_stay_reader = {
	.get		= long_stay_get,
	.kind		= long_stay_kind,
	.is_thunk	= fake_is_thunk,
	.is_return	= fake_is_return,
};

static void the_search_for_an_entry_has_an_end(struct kunit *test)
{
	struct endless endless = { };
	struct hw_branches_fold *fold;
	struct hw_branches_line line;

	fold = kunit_kzalloc(test, sizeof(*fold), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fold);
	hw_branches_fold_begin(fold, 0, false, &long_stay_reader, &endless);
	KUNIT_EXPECT_TRUE(test, hw_branches_fold_next(fold, &line));
	KUNIT_EXPECT_EQ(test, line.inside, 0);
	KUNIT_EXPECT_LE(test, endless.read, 100000);
}

/**
 * struct deep - two entries from user mode, between them calls inside one another, which return
 * @depth:	the number of calls
 * @inner:	the number of branches in the innermost call
 * @read:	the number of calls of deep_get()
 *
 * Call number n, from 0, goes from n * 0x100 + 0x10 to (n + 1) * 0x100.
 */
struct deep {
	u32	depth;
	u32	inner;
	u32	read;
};

static bool deep_get(void *data, u32 nr, struct hw_branch *branch)
{
	struct deep *deep = data;
	u32 end = 2 * deep->depth + deep->inner + 1;

	deep->read++;
	branch->from = HW_BRANCH_USER;
	branch->to = 0xe00;
	if (!nr || nr == end)
		return true;
	if (nr <= deep->depth) {
		branch->from = nr * 0x100 + 0x20;
		branch->to = (nr - 1) * 0x100 + 0x15;
	} else if (nr <= deep->depth + deep->inner) {
		branch->from = deep->depth * 0x100 + 0x18;
		branch->to = deep->depth * 0x100 + 0x10;
	} else {
		branch->from = (end - 1 - nr) * 0x100 + 0x10;
		branch->to = (end - nr) * 0x100;
	}

	return nr < end;
}

static enum hw_branch_kind deep_kind(void *data, const struct hw_branch *branch, u64 *back)
{
	*back = branch->from + 5;
	switch (branch->from & 0xff) {
	case 0x10:
		return HW_BRANCH_CALL;
	case 0x20:
		return HW_BRANCH_RETURN;
	default:
		return HW_BRANCH_OTHER;
	}
}

static bool deep_is_thunk(void *data, u64 address)
{
	return false;
}

static const struct hw_branches_reader deep_reader = {
	.get		= deep_get,
	.kind		= deep_kind,
	.is_thunk	= deep_is_thunk,
	.is_return	= deep_is_thunk,
};

/*
 * The innermost call at a depth of at most HW_BRANCHES_LEVELS is found. The walk reads almost all
 * branches in two searches, and for each of them also the next older branch.
 */
static void a_deep_call_in_a_stay(struct kunit *test)
{
	static const u32 depths[] = { 1, 18, HW_BRANCHES_LEVELS, HW_BRANCHES_LEVELS + 6 };
	struct hw_branches_fold *fold;
	struct hw_branches_line line;
	u32 i;

	fold = kunit_kzalloc(test, sizeof(*fold), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fold);
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		u32 shown = min(depths[i], HW_BRANCHES_LEVELS);
		struct deep deep = { .depth = depths[i], .inner = 2600, };

		hw_branches_fold_begin(fold, 0, false, &deep_reader, &deep);
		KUNIT_EXPECT_TRUE(test, hw_branches_fold_next(fold, &line));
		KUNIT_EXPECT_EQ(test, line.branch.from, HW_BRANCH_USER);
		KUNIT_EXPECT_TRUE(test, hw_branches_fold_next(fold, &line));
		KUNIT_EXPECT_EQ(test, line.branch.to, shown * 0x100);
		KUNIT_EXPECT_EQ(test, line.inside, 2600 + 2 * (depths[i] - shown + 1));
		KUNIT_EXPECT_EQ(test, line.depth, (int)shown - 1);
		KUNIT_EXPECT_TRUE(test, hw_branches_fold_next(fold, &line));
		KUNIT_EXPECT_EQ(test, line.inside, 2600 + 2 * depths[i] + 1);
		KUNIT_EXPECT_FALSE(test, hw_branches_fold_next(fold, &line));
		KUNIT_EXPECT_LE(test, deep.read, 12000);
	}
}

static struct kunit_case hw_branches_fold_cases[] = {
	KUNIT_CASE(a_returned_call_is_one_line),
	KUNIT_CASE(calls_inside_one_another),
	KUNIT_CASE(a_tail_call),
	KUNIT_CASE(a_return_without_its_call),
	KUNIT_CASE(a_return_to_elsewhere),
	KUNIT_CASE(a_jump_out_of_two_levels),
	KUNIT_CASE(a_switch_of_tasks),
	KUNIT_CASE(a_gap),
	KUNIT_CASE(an_interrupt),
	KUNIT_CASE(a_trap_goes_back_behind_it),
	KUNIT_CASE(a_fault_that_is_fixed_up),
	KUNIT_CASE(a_return_from_an_interrupt),
	KUNIT_CASE(a_stay_that_has_ended),
	KUNIT_CASE(the_longest_call_of_a_stay),
	KUNIT_CASE(a_call_of_half_a_stay),
	KUNIT_CASE(stays_that_are_repeated),
	KUNIT_CASE(a_stay_without_its_entry),
	KUNIT_CASE(an_entry_to_a_thunk),
	KUNIT_CASE(stays_of_different_calls),
	KUNIT_CASE(a_stay_of_two_tasks),
	KUNIT_CASE(a_return_of_an_earlier_stay),
	KUNIT_CASE(calls_and_returns_through_thunks),
	KUNIT_CASE(a_jump_through_a_thunk),
	KUNIT_CASE(a_return_that_fills_the_return_stack_buffer),
	KUNIT_CASE(a_thunk_that_has_not_ended),
	KUNIT_CASE(a_thunk_that_is_interrupted),
	KUNIT_CASE(a_function_that_jumps),
	KUNIT_CASE(a_loop_of_one_branch),
	KUNIT_CASE(a_loop_of_several),
	KUNIT_CASE(deep_recursion),
	KUNIT_CASE(recursion_that_returns),
	KUNIT_CASE(a_loop_behind_a_call),
	KUNIT_CASE(plain_lines),
	KUNIT_CASE(the_outermost_depth),
	KUNIT_CASE(a_chain_of_thunks_has_an_end),
	KUNIT_CASE(the_search_for_an_entry_has_an_end),
	KUNIT_CASE(a_deep_call_in_a_stay),
	{ },
};

static struct kunit_suite hw_branches_fold_suite = {
	.name		= "hw_branches_fold",
	.test_cases	= hw_branches_fold_cases,
};

kunit_test_suite(hw_branches_fold_suite);

MODULE_DESCRIPTION("KUnit tests of folded branches");
MODULE_LICENSE("GPL");
