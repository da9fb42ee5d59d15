// SPDX-License-Identifier: GPL-2.0
/* Tests of last branch records that DEBUGCTL enables, alone and together with the Debug Store. */
#include "metal.h"

#define MISPREDICTED	(1ull << 63)
#define CHAIN		50

struct branch {
	u64 from;
	u64 to;
	u64 type;
};

extern const struct branch lbr_types_list[], lbr_types_end[];
extern const struct { u64 from, to; } lbr_nest_list[2];

static bool has_info(void)
{
	return machine.lbr == 32;
}

/* 8 LBRs are at other registers, without a filter and without a bit for predictions. */
static bool is_short(void)
{
	return machine.lbr == 8;
}

static u32 lbr_from(void)
{
	return is_short() ? MSR_LBR_SHORT_FROM : MSR_LBR_FROM;
}

static u32 lbr_to(void)
{
	return is_short() ? MSR_LBR_SHORT_TO : MSR_LBR_TO;
}

static void lbr_clear(u64 select)
{
	u32 i;

	if (!is_short())
		wrmsr(MSR_LBR_SELECT, select);
	for (i = 0; i < machine.lbr; i++) {
		wrmsr(lbr_from() + i, 0);
		wrmsr(lbr_to() + i, 0);
		if (has_info())
			wrmsr(MSR_LBR_INFO + i, 0);
	}
}

/* Returns the slot of the record with this @age. The newest has the age 0. */
static u32 slot(u32 age)
{
	return (rdmsr(MSR_LBR_TOS) - age) % machine.lbr;
}

static bool mispredicted(u32 age)
{
	if (is_short())
		return false;
	return rdmsr((has_info() ? MSR_LBR_INFO : lbr_from()) + slot(age)) & MISPREDICTED;
}

static void expect_lbr(u32 age, u64 from, u64 to)
{
	u64 got_from = rdmsr(lbr_from() + slot(age)), got_to = rdmsr(lbr_to() + slot(age));

	if (!has_info() && !is_short())
		got_from &= ~MISPREDICTED;
	expect(got_from == from && got_to == to,
	       "LBR %u before the newest: 0x%x -> 0x%x, expected 0x%x -> 0x%x", (u64)age,
	       got_from, got_to, from, to);
}

void expect_msr(u32 msr, u64 value, u64 want)
{
	u32 vector = wrmsr_fault(msr, value);

	expect(vector == (want == value ? 0 : VEC_GP), "MSR 0x%x = 0x%x: vector %u", (u64)msr,
	       value, (u64)vector);
	expect(rdmsr(msr) == want, "MSR 0x%x reads 0x%x, expected 0x%x", (u64)msr, rdmsr(msr),
	       want);
}

TEST(lbr_registers, "LBR: format, registers keep what they may hold and refuse the rest")
{
	u64 select = has_info() ? 0x3ff : 0x1ff, format = is_short() ? 2 : has_info() ? 5 : 3;
	u32 a, b, c, d, i;

	if (!machine.lbr)
		return;
	lbr_clear(0);
	cpuid(1, &a, &b, &c, &d);
	expect(c & CPUID_PDCM, "no PDCM");
	expect((rdmsr(MSR_PERF_CAPABILITIES) & 0x3f) == format, "format 0x%x",
	       rdmsr(MSR_PERF_CAPABILITIES));
	if (is_short()) {
		expect(wrmsr_fault(MSR_LBR_SELECT, 0) == VEC_GP, "there is LBR_SELECT");
	} else {
		expect_msr(MSR_LBR_SELECT, select, select);
		expect_msr(MSR_LBR_SELECT, select + 1, select);
		expect_msr(MSR_LBR_SELECT, 0, 0);
	}
	expect_msr(MSR_LBR_TOS, machine.lbr - 1, machine.lbr - 1);
	expect_msr(MSR_LBR_TOS, machine.lbr, machine.lbr - 1);
	for (i = 0; i < machine.lbr; i += machine.lbr - 1) {
		expect_msr(lbr_from() + i, 0xffff800000000000 + i, 0xffff800000000000 + i);
		expect_msr(lbr_to() + i, 0x7fffffffffff - i, 0x7fffffffffff - i);
		expect_msr(lbr_to() + i, 0x800000000000, 0x7fffffffffff - i);
	}
}

TEST(lbr_chain, "LBR: the newest branches, as many as there are entries, oldest overwritten")
{
	u32 i;

	if (!machine.lbr)
		return;
	lbr_clear(0);
	chain(CHAIN, DBG_LBR);
	for (i = 0; i < machine.lbr; i++)
		expect_lbr(i, chain_at(i + 2), i ? chain_at(i + 1) : (u64)trace_done);
	want_chain(0, CHAIN, CHAIN);
	expect_store();
}

TEST(lbr_off, "LBR: nothing is recorded while DEBUGCTL.LBR is clear")
{
	if (!machine.lbr)
		return;
	lbr_clear(0);
	trace(chain_at(5), 0);
	expect_lbr(0, 0, 0);
}

/* Check that the branches in lbr_types_list are recorded, except those that @select filters out. */
static void run_types(u64 select)
{
	const struct branch *b;
	u32 age = 0;

	lbr_clear(select);
	set_gate(0x60, (u64)lbr_vector, 0);
	trace((u64)lbr_types, DBG_LBR);
	for (b = lbr_types_end - 1; b >= lbr_types_list; b--) {
		if (select >> b->type & 1)
			continue;
		if (age == machine.lbr)
			return;
		expect(mispredicted(age) == (!is_short() && b->type == LBR_JCC && b->to > b->from),
		       "0x%x: mispredicted %u", b->from, (u64)mispredicted(age));
		expect_lbr(age++, b->from, b->to);
	}
	expect_lbr(age, 0, 0);
}

TEST(lbr_filters, "LBR: each bit of LBR_SELECT keeps its kind of branch out")
{
	u32 type;

	if (!machine.lbr)
		return;
	run_types(0);
	if (is_short())
		return;
	for (type = LBR_JCC; type <= LBR_FAR; type++)
		run_types(1 << type);
}

/* The branches are trace_go, IRETQ, then LOOP twice, CALL, JMP and INT in user mode. */
TEST(lbr_cpl, "LBR: the CPL filter goes by where a branch ends")
{
	if (!machine.lbr || is_short())
		return;
	lbr_clear(1 << LBR_NO_USR);
	trace((u64)user_branches, DBG_LBR);
	expect(rdmsr(lbr_to() + slot(0)) == (u64)trace_done, "OS: 0x%x is the newest",
	       rdmsr(lbr_to() + slot(0)));
	expect_lbr(1, (u64)trace_go, (u64)user_branches);
	expect_lbr(2, 0, 0);
	lbr_clear(1 << LBR_NO_OS);
	trace((u64)user_branches, DBG_LBR);
	expect(rdmsr(lbr_from() + slot(4)) != 0, "USR: less than five");
	expect_lbr(5, 0, 0);
}

TEST(lbr_callstack, "LBR: as a call stack it holds what has not returned")
{
	if (!has_info())
		return;
	lbr_clear(1 << LBR_CALLSTACK | 1 << LBR_JCC | 1 << LBR_JMP_IND | 1 << LBR_JMP_REL |
		  1 << LBR_FAR);
	trace((u64)lbr_nest, DBG_LBR);
	expect_lbr(0, lbr_nest_list[1].from, lbr_nest_list[1].to);
	expect_lbr(1, lbr_nest_list[0].from, lbr_nest_list[0].to);
	expect_lbr(2, 0, 0);
}

TEST(lbr_freeze, "LBR: a PMI freezes them if DEBUGCTL says so, and not else")
{
	u32 freeze;

	if (!machine.lbr || machine.pmi != PMI_EACH)
		return;
	for (freeze = 0; freeze <= DBG_FREEZE_LBRS; freeze += DBG_FREEZE_LBRS) {
		lbr_clear(0);
		want_none();
		ds_default();
		ds_set(DS_THRESHOLD, BUF + 3 * rec_size());
		pmi_count = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		set_gate(VEC_NMI, (u64)pmi_note, 0);
		chain(8, DBG_BTINT | DBG_LBR | freeze);
		expect(pmi_count == 1, "%u PMIs", (u64)pmi_count);
		if (freeze)
			expect_lbr(0, chain_at(7), chain_at(6));
		else
			expect_lbr(0, chain_at(2), (u64)trace_done);
		want_chain(0, 3, 8);
		want_pmi(chain_at(6), (u64)pmi_note, (u64)pmi_note_iret);
		want_chain(3, 8, 8);
		expect_store();
		tally.pmis++;
		tally.masked += 7;
	}
}
