// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the decoder, of loop counters and of linear addresses, included by bts_step.c.
 * They also cover instructions that the processor may not have.
 */

#include <kunit/test.h>

/* The selector of 32-bit code */
#ifdef CONFIG_X86_64
#define BTS_STEP_TEST_CS	__USER32_CS
#else
#define BTS_STEP_TEST_CS	__USER_CS
#endif

static const struct {
	const char		*name;
	u8			bytes[8];
	int			n;
	enum bts_step_kind	wide;
	enum bts_step_kind	narrow;
} bts_step_insns[] = {
	{ "nop", { 0x90, }, 1, BTS_STEP_OTHER, BTS_STEP_OTHER, },
	{ "jmp", { 0xeb, 0x01, }, 2, BTS_STEP_JUMP, BTS_STEP_JUMP, },
	{ "rep ret", { 0xf3, 0xc3, }, 2, BTS_STEP_JUMP, BTS_STEP_JUMP, },
	{ "jz", { 0x0f, 0x84, }, 2, BTS_STEP_JCC, BTS_STEP_JCC, },
	{ "half of jz", { 0x0f, }, 1, BTS_STEP_UNKNOWN, BTS_STEP_UNKNOWN, },
	{ "mov ss", { 0x8e, 0xd0, }, 2, BTS_STEP_SS, BTS_STEP_SS, },
	{ "jmp *reg", { 0xff, 0xe0, }, 2, BTS_STEP_JUMP, BTS_STEP_JUMP, },
	{ "call far *mem", { 0xff, 0x18, }, 2, BTS_STEP_FAR, BTS_STEP_FAR, },
	{ "jmp far *mem", { 0xff, 0x28, }, 2, BTS_STEP_FAR, BTS_STEP_FAR, },
	{ "push *reg", { 0xff, 0xf0, }, 2, BTS_STEP_OTHER, BTS_STEP_OTHER, },
	{ "rex jmp *reg", { 0x41, 0xff, 0xe0, }, 3, BTS_STEP_JUMP, BTS_STEP_OTHER, },
	/* In 16-bit and 32-bit code, 0xd5 is AAD. */
	{ "rex2", { 0xd5, }, 1, BTS_STEP_UNKNOWN, BTS_STEP_OTHER, },
	{ "rex2 nothing", { 0xd5, 0x11, }, 2, BTS_STEP_UNKNOWN, BTS_STEP_OTHER, },
	{ "rex2 mov", { 0xd5, 0x11, 0x89, 0xc0, }, 4, BTS_STEP_OTHER, BTS_STEP_OTHER, },
	{ "rex2 jmp *r16", { 0xd5, 0x10, 0xff, 0xe0, }, 4, BTS_STEP_JUMP, BTS_STEP_OTHER, },
	{ "rex2 push r16", { 0xd5, 0x10, 0xff, 0xf0, }, 4, BTS_STEP_OTHER, BTS_STEP_OTHER, },
	{ "pushf", { 0x9c, }, 1, BTS_STEP_PUSHF, BTS_STEP_PUSHF, },
	{ "popf", { 0x9d, }, 1, BTS_STEP_POPF, BTS_STEP_POPF, },
	{ "66 popf", { 0x66, 0x9d, }, 2, BTS_STEP_POPF, BTS_STEP_POPF, },
	{ "rex2 pushf", { 0xd5, 0x08, 0x9c, }, 3, BTS_STEP_PUSHF, BTS_STEP_OTHER, },
	{ "66 rex2 popf", { 0x66, 0xd5, 0x00, 0x9d, }, 4, BTS_STEP_POPF, BTS_STEP_OTHER, },
	{ "rex2 0f jz", { 0xd5, 0x80, 0x84, }, 3, BTS_STEP_JCC, BTS_STEP_OTHER, },
	{ "rex2 0f pushf", { 0xd5, 0x80, 0x9c, }, 3, BTS_STEP_OTHER, BTS_STEP_OTHER, },
	{ "rex2 0f nothing", { 0xd5, 0x80, }, 2, BTS_STEP_UNKNOWN, BTS_STEP_OTHER, },
	{ "rex2 like jo", { 0xd5, 0x70, 0x89, }, 3, BTS_STEP_OTHER, BTS_STEP_OTHER, },
	{ "jmpabs", { 0xd5, 0x00, 0xa1, }, 3, BTS_STEP_JUMP, BTS_STEP_OTHER, },
	{ "mov, but for rex2 jmpabs", { 0xa1, }, 1, BTS_STEP_OTHER, BTS_STEP_OTHER, },
};

static void bts_step_decode_one(struct kunit *test, unsigned int i, bool wide)
{
	enum bts_step_kind kind = wide ? bts_step_insns[i].wide : bts_step_insns[i].narrow;
	struct bts_step_insn insn;

	bts_step_decode(&insn, bts_step_insns[i].bytes, bts_step_insns[i].n, wide);
	KUNIT_EXPECT_EQ_MSG(test, kind, insn.kind, "%s in %u-bit code", bts_step_insns[i].name,
			    wide ? 64 : 32);
	if (kind == BTS_STEP_PUSHF || kind == BTS_STEP_POPF)
		KUNIT_EXPECT_EQ_MSG(test, bts_step_insns[i].n, insn.length,
				    "length of %s in %u-bit code", bts_step_insns[i].name,
				    wide ? 64 : 32);
}

static void bts_step_decodes(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bts_step_insns); i++) {
		bts_step_decode_one(test, i, true);
		bts_step_decode_one(test, i, false);
	}
}

/*
 * Outside 64-bit code, linear addresses wrap at 4 GiB. This is tested here, as QEMU 7.2 does not
 * execute code at addresses that wrap, if the kernel is a 64-bit one.
 */
static void bts_step_wraps(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0x1000UL, bts_step_add(0, 0x1000));
	KUNIT_EXPECT_EQ(test, 0x3000UL, bts_step_add(0x2000, 0x1000));
	KUNIT_EXPECT_EQ(test, 0x1000UL, bts_step_add(0xfffff000, 0x2000));
}

static const struct {
	u8		op;
	unsigned long	cx;
	bool		zero;
	bool		taken;
} bts_step_loop_cases[] = {
	/* LOOPNE */
	{ 0xe0, 1, false, true, },
	{ 0xe0, 1, true, false, },
	{ 0xe0, 0, false, false, },
	/* LOOPE */
	{ 0xe1, 1, true, true, },
	{ 0xe1, 1, false, false, },
	{ 0xe1, 0, true, false, },
	/* LOOP */
	{ 0xe2, 1, false, true, },
	{ 0xe2, 0, false, false, },
	/* JCXZ */
	{ 0xe3, 1, false, false, },
	{ 0xe3, 0, false, true, },
};

static void bts_step_ends_loops(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bts_step_loop_cases); i++) {
		struct bts_step_insn insn = { .op = bts_step_loop_cases[i].op, };
		struct pt_regs regs = {
			.cs	= __USER_CS,
			.cx	= bts_step_loop_cases[i].cx,
			.flags	= bts_step_loop_cases[i].zero ? X86_EFLAGS_ZF : 0,
		};

		KUNIT_EXPECT_EQ_MSG(test, bts_step_loop_cases[i].taken,
				    bts_step_loops(&regs, &insn), "case %u", i);
	}
}

/* With a prefix, LOOP and JCXZ use CX in 32-bit code, and ECX in 64-bit code. */
static void bts_step_counts_cx(struct kunit *test)
{
	struct pt_regs regs = { .cs = BTS_STEP_TEST_CS, .cx = 0x10002, };

	KUNIT_EXPECT_EQ(test, 0x10002UL, bts_step_counter(&regs, false));
	KUNIT_EXPECT_EQ(test, 2UL, bts_step_counter(&regs, true));
#ifdef CONFIG_X86_64
	regs.cs = __USER_CS;
	regs.cx = BIT(32) | 2;
	KUNIT_EXPECT_EQ(test, BIT(32) | 2, bts_step_counter(&regs, false));
	KUNIT_EXPECT_EQ(test, 2UL, bts_step_counter(&regs, true));
#endif
}

static struct kunit_case bts_step_cases[] = {
	KUNIT_CASE(bts_step_decodes),
	KUNIT_CASE(bts_step_ends_loops),
	KUNIT_CASE(bts_step_counts_cx),
	KUNIT_CASE(bts_step_wraps),
	{ }
};

static struct kunit_suite bts_step_suite = {
	.name		= "bts_step",
	.test_cases	= bts_step_cases,
};

kunit_test_suite(bts_step_suite);
