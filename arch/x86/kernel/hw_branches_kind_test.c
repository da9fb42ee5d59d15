// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of hw_branches_kind_of() */

#include <kunit/test.h>

#include "hw_branches_kind.h"

#define FROM	0xffffffff81000000ull
#define ENTRY	0xffffffff82000000ull

struct hw_branches_kind_case {
	const char		*name;
	struct hw_branches_insn	insn;
	enum hw_branch_kind	kind;
	u64			back;
};

static const struct hw_branches_kind_case hw_branches_kind_cases[] = {
	{
		.name = "call",
		.insn = { .byte = { 0xe8, 0xfb, 0x0f }, .n = 15, .from = FROM,
			  .to = FROM + 0x1000, },
		.kind = HW_BRANCH_CALL,
		.back = FROM + 5,
	},
	{
		.name = "call of a function that begins a byte after the padding",
		.insn = { .byte = { 0xe8, 2, 0, 0, 0, 0xcc, 0xcc, }, .n = 15, .from = FROM,
			  .to = FROM + 7, },
		.kind = HW_BRANCH_CALL,
		.back = FROM + 5,
	},
	{
		.name = "call of a function behind a jump",
		.insn = { .byte = { 0xe8, 6, 0, 0, 0, 0x5d, 0xe9, }, .n = 15, .from = FROM,
			  .to = FROM + 11, },
		.kind = HW_BRANCH_CALL,
		.back = FROM + 5,
	},
	{
		.name = "call that fills the return stack buffer",
		.insn = { .byte = { 0xe8, 1, 0, 0, 0, 0xcc, }, .n = 15, .from = FROM,
			  .to = FROM + 6, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "call of the next instruction",
		.insn = { .byte = { 0xe8, }, .n = 15, .from = FROM, .to = FROM + 5, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "call over PAUSE in a retpoline",
		.insn = { .byte = { 0xe8, 11, 0, 0, 0, 0xf3, 0x90, }, .n = 15, .from = FROM,
			  .to = FROM + 16, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "call backwards",
		.insn = { .byte = { 0xe8, 0xf0, 0xff, 0xff, 0xff, }, .n = 15, .from = FROM,
			  .to = FROM - 11, },
		.kind = HW_BRANCH_CALL,
		.back = FROM + 5,
	},
	{
		.name = "call that was interrupted",
		.insn = { .byte = { 0xe8, 0xfb, 0x0f, }, .n = 15, .from = FROM, .to = ENTRY,
			  .entry = true, },
		.kind = HW_BRANCH_ENTRY,
		.back = FROM,
	},
	{
		.name = "call that cannot be read to its end",
		.insn = { .byte = { 0xe8, 0xfb, 0x0f, }, .n = 3, .from = FROM,
			  .to = FROM + 0x1000, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "return",
		.insn = { .byte = { 0xc3, }, .n = 15, .from = FROM, .to = FROM + 0x1000, },
		.kind = HW_BRANCH_RETURN,
	},
	{
		.name = "return that was interrupted",
		.insn = { .byte = { 0xc3, }, .n = 15, .from = FROM, .to = ENTRY, .entry = true, },
		.kind = HW_BRANCH_ENTRY,
		.back = FROM,
	},
	{
		.name = "return to entry code that has called",
		.insn = { .byte = { 0xc3, }, .n = 15, .from = FROM, .to = ENTRY, .entry = true,
			  .after_call = true, },
		.kind = HW_BRANCH_RETURN,
	},
	{
		.name = "IRET",
		.insn = { .byte = { 0xcf, }, .n = 15, .from = FROM, .to = FROM + 0x1000, },
		.kind = HW_BRANCH_EXIT,
	},
	{
		.name = "IRET to the next instruction",
		.insn = { .byte = { 0xcf, }, .n = 15, .from = FROM, .to = FROM + 1, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "IRETQ to the next instruction",
		.insn = { .byte = { 0x48, 0xcf, }, .n = 15, .from = FROM, .to = FROM + 2,
			  .wide = true, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "indirect call",
		.insn = { .byte = { 0xff, 0xd0, }, .n = 15, .from = FROM, .to = FROM + 0x1000, },
		.kind = HW_BRANCH_CALL,
		.back = FROM + 2,
	},
	{
		.name = "indirect jump",
		.insn = { .byte = { 0xff, 0xe0, }, .n = 15, .from = FROM, .to = FROM + 0x1000, },
		.kind = HW_BRANCH_JUMP,
	},
	{
		.name = "indirect branch that cannot be read to its end",
		.insn = { .byte = { 0xff, }, .n = 1, .from = FROM, .to = FROM + 0x1000, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "instruction that cannot be read",
		.insn = { .n = 0, .from = FROM, .to = ENTRY, .entry = true, },
		.kind = HW_BRANCH_ENTRY,
		.back = FROM,
	},
	{
		.name = "prefix without an instruction",
		.insn = { .byte = { 0xf2, }, .n = 1, .from = FROM, .to = FROM + 0x1000, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "two-byte opcode that cannot be read to its end",
		.insn = { .byte = { 0x0f, }, .n = 1, .from = FROM, .to = FROM + 0x1000, },
		.kind = HW_BRANCH_OTHER,
	},
	{
		.name = "ERETS",
		.insn = { .byte = { 0xf2, 0x0f, 0x01, 0xca, }, .n = 15, .from = FROM,
			  .to = FROM + 0x1000, },
		.kind = HW_BRANCH_EXIT,
	},
	/* hw-branches takes any kind but this one and HW_BRANCH_EXIT for HW_BRANCH_BREAK. */
	{
		.name = "ERETU",
		.insn = { .byte = { 0xf3, 0x0f, 0x01, 0xca, }, .n = 15, .from = FROM,
			  .to = 0x401000, },
		.kind = HW_BRANCH_OTHER,
	},
};

KUNIT_ARRAY_PARAM_DESC(hw_branches_kind, hw_branches_kind_cases, name);

static void hw_branches_kind_of_test(struct kunit *test)
{
	const struct hw_branches_kind_case *c = test->param_value;
	u64 back = 1;

	KUNIT_EXPECT_EQ(test, hw_branches_kind_of(&c->insn, &back), c->kind);
	KUNIT_EXPECT_EQ(test, back, c->back);
}

static struct kunit_case hw_branches_kind_test_cases[] = {
	KUNIT_CASE_PARAM(hw_branches_kind_of_test, hw_branches_kind_gen_params),
	{}
};

static struct kunit_suite hw_branches_kind_test_suite = {
	.name = "hw_branches_kind",
	.test_cases = hw_branches_kind_test_cases,
};

kunit_test_suite(hw_branches_kind_test_suite);
