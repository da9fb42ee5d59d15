// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of hw_branches_lbr_decode() with each format of last branch records */

#include <kunit/test.h>

#include "hw_branches_lbr.h"

#define KERNEL_FROM	0xffffffff81234567ull
#define KERNEL_TO	0xffff888012345678ull
#define USER_ADDRESS	0x00007f0012345678ull

struct hw_branches_lbr_case {
	const char			*name;
	const struct x86_lbr_stack	*stack;
	u64				from;
	u64				to;
	u64				want_from;
	u64				want_to;
	bool				taken;
};

static const struct x86_lbr_stack lbr_plain;
static const struct x86_lbr_stack lbr_predicts = { .from_flags = 1 };
static const struct x86_lbr_stack lbr_transactions = { .from_flags = 3 };
static const struct x86_lbr_stack lbr_cycles = { .from_flags = 1, .to_flags = 16 };

static const struct x86_lbr_stack lbr_amd = {
	.from_flags	= 16,
	.to_flags	= 16,
	.to_mask	= BIT_ULL(63) | BIT_ULL(61),
	.to_taken	= BIT_ULL(63),
};

static const struct x86_lbr_stack lbr_amd_57_bits = {
	.from_flags	= 7,
	.to_flags	= 7,
	.to_mask	= BIT_ULL(63) | BIT_ULL(61),
	.to_taken	= BIT_ULL(63),
};

/*
 * An address as AMD's records contain it. The highest bit of the address fills the bits up to the
 * flags, which are bit 63 of the source, and bits 61 to 63 of the target.
 */
#define LBR_AMD_FROM(address)	((address) & GENMASK_ULL(62, 0))
#define LBR_AMD_TO(address)	((address) & GENMASK_ULL(60, 0))

static const struct hw_branches_lbr_case hw_branches_lbr_cases[] = {
	{
		.name = "addresses only",
		.stack = &lbr_plain,
		.from = KERNEL_FROM, .to = KERNEL_TO,
		.want_from = KERNEL_FROM, .want_to = KERNEL_TO, .taken = true,
	}, {
		.name = "mispredicted",
		.stack = &lbr_predicts,
		.from = BIT_ULL(63) | USER_ADDRESS, .to = KERNEL_TO,
		.want_from = USER_ADDRESS, .want_to = KERNEL_TO, .taken = true,
	}, {
		.name = "predicted",
		.stack = &lbr_predicts,
		.from = KERNEL_FROM & ~BIT_ULL(63), .to = USER_ADDRESS,
		.want_from = KERNEL_FROM, .want_to = USER_ADDRESS, .taken = true,
	}, {
		.name = "flags of transactions",
		.stack = &lbr_transactions,
		.from = KERNEL_FROM & GENMASK_ULL(60, 0), .to = KERNEL_TO,
		.want_from = KERNEL_FROM, .want_to = KERNEL_TO, .taken = true,
	}, {
		.name = "cycles above the target",
		.stack = &lbr_cycles,
		.from = KERNEL_FROM, .to = 0x1234ull << 48 | (KERNEL_TO & GENMASK_ULL(47, 0)),
		.want_from = KERNEL_FROM, .want_to = KERNEL_TO, .taken = true,
	}, {
		.name = "AMD",
		.stack = &lbr_amd,
		.from = LBR_AMD_FROM(KERNEL_FROM), .to = BIT_ULL(63) | LBR_AMD_TO(KERNEL_TO),
		.want_from = KERNEL_FROM, .want_to = KERNEL_TO, .taken = true,
	}, {
		.name = "AMD, mispredicted, speculative",
		.stack = &lbr_amd,
		.from = BIT_ULL(63) | USER_ADDRESS,
		.to = BIT_ULL(63) | BIT_ULL(62) | LBR_AMD_TO(KERNEL_TO),
		.want_from = USER_ADDRESS, .want_to = KERNEL_TO, .taken = true,
	}, {
		.name = "AMD, 57 bits",
		.stack = &lbr_amd_57_bits,
		.from = LBR_AMD_FROM(0xff11000012345678ull),
		.to = BIT_ULL(63) | LBR_AMD_TO(KERNEL_TO),
		.want_from = 0xff11000012345678ull, .want_to = KERNEL_TO, .taken = true,
	}, {
		.name = "AMD, the wrong path",
		.stack = &lbr_amd,
		.from = LBR_AMD_FROM(KERNEL_FROM), .to = BIT_ULL(62) | LBR_AMD_TO(KERNEL_TO),
	}, {
		.name = "AMD, not valid",
		.stack = &lbr_amd,
		.from = LBR_AMD_FROM(KERNEL_FROM), .to = LBR_AMD_TO(KERNEL_TO),
	}, {
		.name = "AMD, wrong record",
		.stack = &lbr_amd,
		.from = LBR_AMD_FROM(KERNEL_FROM),
		.to = BIT_ULL(63) | BIT_ULL(61) | LBR_AMD_TO(KERNEL_TO),
	},
};

KUNIT_ARRAY_PARAM_DESC(hw_branches_lbr, hw_branches_lbr_cases, name);

static void hw_branches_lbr_decode_test(struct kunit *test)
{
	const struct hw_branches_lbr_case *c = test->param_value;
	struct bts_raw raw = { };

	KUNIT_ASSERT_EQ(test, hw_branches_lbr_decode(c->stack, c->from, c->to, &raw), c->taken);
	KUNIT_EXPECT_EQ(test, raw.from, c->want_from);
	KUNIT_EXPECT_EQ(test, raw.to, c->want_to);
}

static struct kunit_case hw_branches_lbr_test_cases[] = {
	KUNIT_CASE_PARAM(hw_branches_lbr_decode_test, hw_branches_lbr_gen_params),
	{}
};

static struct kunit_suite hw_branches_lbr_test_suite = {
	.name = "hw_branches_lbr",
	.test_cases = hw_branches_lbr_test_cases,
};

kunit_test_suite(hw_branches_lbr_test_suite);
