// SPDX-License-Identifier: GPL-2.0
/* Tests of last branch records with an enable register of their own: architectural and AMD's. */
#include "metal.h"

#define CHAIN		50
#define TAKEN		(1ull << 63)
#define CTL_ENABLE	(1u << 0)
#define CTL_OS		(1u << 1)
#define CTL_USR		(1u << 2)
#define CTL_KINDS	(0x7fu << 16)
#define CTL_ALL		(CTL_ENABLE | CTL_OS | CTL_USR | CTL_KINDS)
#define AMD_ENABLE	(1u << 6)

struct branch {
	u64 from;
	u64 to;
	u64 type;
};

extern const struct branch lbr_types_list[], lbr_types_end[];

/* For each kind of branch in LBR_SELECT: the bit of IA32_LBR_CTL, the type in IA32_LBR_INFO */
static const struct {
	u32 ctl;
	u32 info;
} kinds[] = {
	[LBR_JCC]	= { 16, 0 },
	[LBR_JMP_REL]	= { 17, 2 },
	[LBR_JMP_IND]	= { 18, 1 },
	[LBR_CALL_REL]	= { 19, 4 },
	[LBR_CALL_IND]	= { 20, 3 },
	[LBR_RET]	= { 21, 5 },
	[LBR_FAR]	= { 22, 6 },
};

static u32 depth(void)
{
	return machine.arch_lbr ?: machine.amd_lbr;
}

static u32 from_msr(u32 age)
{
	return machine.arch_lbr ? MSR_ARCH_LBR_FROM + age : MSR_AMD_LBR_FROM + 2 * age;
}

static u32 to_msr(u32 age)
{
	return machine.arch_lbr ? MSR_ARCH_LBR_TO + age : MSR_AMD_LBR_FROM + 2 * age + 1;
}

static void erase(void)
{
	u32 i;

	if (machine.arch_lbr) {
		wrmsr(MSR_ARCH_LBR_DEPTH, depth());
		return;
	}
	for (i = 0; i < depth(); i++) {
		wrmsr(from_msr(i), 0);
		wrmsr(to_msr(i), 0);
	}
}

/* Run @code. Record its branches, except those filtered out by @select (bits as in LBR_SELECT). */
static void record(u64 code, u32 select)
{
	u32 ctl = CTL_ALL, i;

	erase();
	if (select & 1 << LBR_NO_OS)
		ctl &= ~CTL_OS;
	if (select & 1 << LBR_NO_USR)
		ctl &= ~CTL_USR;
	for (i = LBR_JCC; i <= LBR_FAR; i++) {
		if (select & 1 << i)
			ctl &= ~(1u << kinds[i].ctl);
	}
	if (machine.arch_lbr) {
		trace_msr = MSR_ARCH_LBR_CTL;
		trace(code, ctl);
	} else {
		wrmsr(MSR_AMD_LBR_SELECT, select);
		trace_msr = MSR_AMD_DBG_EXTN_CFG;
		trace(code, AMD_ENABLE);
	}
	trace_msr = MSR_DEBUGCTL;
}

static void expect_record(u32 age, u64 from, u64 to)
{
	u64 got_from = rdmsr(from_msr(age)) & ~TAKEN, got_to = rdmsr(to_msr(age));

	if (machine.amd_lbr && from) {
		expect(got_to & TAKEN, "record %u is not valid: 0x%x", (u64)age, got_to);
		got_to &= ~TAKEN;
	}
	expect(got_from == from && got_to == to,
	       "record %u before the newest: 0x%x -> 0x%x, expected 0x%x -> 0x%x", (u64)age,
	       got_from, got_to, from, to);
}

static void offers(void)
{
	u32 a, b, c, d;

	if (machine.amd_lbr) {
		cpuid(0x80000022, &a, &b, &c, &d);
		expect(a & 2 && (b >> 4 & 0x3f) == machine.amd_lbr, "CPUID 0x%x 0x%x", (u64)a,
		       (u64)b);
		return;
	}
	cpuid(7, &a, &b, &c, &d);
	expect(d & 1 << 19, "no architectural LBRs");
	cpuid(0x1c, &a, &b, &c, &d);
	expect((a & 0xff) == (2u << (depth() / 8 - 1)) - 1, "depths 0x%x", (u64)a);
	expect((b & 3) == 3, "no filters: 0x%x", (u64)b);
	expect((rdmsr(MSR_PERF_CAPABILITIES) & 0x3f) == 0x3f, "format 0x%x",
	       rdmsr(MSR_PERF_CAPABILITIES));
}

static void registers(void)
{
	if (machine.amd_lbr) {
		expect_msr(MSR_AMD_LBR_SELECT, 0x1ff, 0x1ff);
		expect_msr(MSR_AMD_LBR_SELECT, 0x200, 0x1ff);
		expect_msr(MSR_AMD_LBR_SELECT, 0, 0);
		return;
	}
	expect_msr(MSR_ARCH_LBR_CTL, CTL_ALL - CTL_ENABLE, CTL_ALL - CTL_ENABLE);
	expect_msr(MSR_ARCH_LBR_CTL, 1u << 23, CTL_ALL - CTL_ENABLE);
	expect_msr(MSR_ARCH_LBR_CTL, 0, 0);
	expect_msr(MSR_ARCH_LBR_DEPTH, depth() - 1, depth());
	expect_msr(MSR_ARCH_LBR_DEPTH, depth() + 8, depth());
	wrmsr(MSR_ARCH_LBR_FROM, 0x1234);
	wrmsr(MSR_ARCH_LBR_TO + depth() - 1, 0x1234);
	expect_msr(MSR_ARCH_LBR_DEPTH, depth(), depth());
	expect(!rdmsr(MSR_ARCH_LBR_FROM) && !rdmsr(MSR_ARCH_LBR_TO + depth() - 1),
	       "a write of the depth erases nothing");
}

static void newest(void)
{
	u32 i;

	record(chain_at(CHAIN), 0);
	for (i = 0; i < depth(); i++)
		expect_record(i, chain_at(i + 2), i ? chain_at(i + 1) : (u64)trace_done);
}

static void disabled(void)
{
	erase();
	trace(chain_at(5), 0);
	expect_record(0, 0, 0);
}

static void run_types(u32 select)
{
	const struct branch *b;
	u32 age = 0, info;

	set_gate(0x60, (u64)lbr_vector, 0);
	record((u64)lbr_types, select);
	for (b = lbr_types_end - 1; b >= lbr_types_list; b--) {
		if (select >> b->type & 1)
			continue;
		if (machine.arch_lbr) {
			info = rdmsr(MSR_ARCH_LBR_INFO + age) >> 56 & 0xf;
			expect(info == kinds[b->type].info, "0x%x: type %u", b->from, (u64)info);
		}
		expect_record(age++, b->from, b->to);
	}
	expect_record(age, 0, 0);
}

static void filters(void)
{
	u32 type;

	run_types(0);
	for (type = LBR_JCC; type <= LBR_FAR; type++)
		run_types(1 << type);
}

/* The branches are trace_go, IRETQ, then LOOP twice, CALL, JMP and INT in user mode. */
static void levels(void)
{
	record((u64)user_branches, 1 << LBR_NO_USR);
	expect((rdmsr(to_msr(0)) & ~TAKEN) == (u64)trace_done, "OS: 0x%x is the newest",
	       rdmsr(to_msr(0)));
	expect_record(1, (u64)trace_go, (u64)user_branches);
	expect_record(2, 0, 0);
	record((u64)user_branches, 1 << LBR_NO_OS);
	expect(rdmsr(from_msr(4)) != 0, "USR: less than five");
	expect_record(5, 0, 0);
}

/* With FREEZE_LBRS_ON_PMI, a PMI freezes architectural LBRs until GLOBAL_OVF_CTRL thaws them. */
static void freeze(void)
{
	const u64 frozen = 1ull << 58;

	if (!machine.arch_lbr)
		return;
	want_none();
	ds_default();
	ds_set(DS_THRESHOLD, BUF + 3 * rec_size());
	pmi_count = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
	erase();
	wrmsr(MSR_ARCH_LBR_CTL, CTL_ALL);
	chain(8, DBG_BTINT | DBG_FREEZE_LBRS);
	wrmsr(MSR_ARCH_LBR_CTL, 0);
	expect(pmi_count == 1 && rdmsr(MSR_GLOBAL_STATUS) & frozen, "%u PMIs, status 0x%x",
	       (u64)pmi_count, rdmsr(MSR_GLOBAL_STATUS));
	expect_record(0, chain_at(7), chain_at(6));
	record(chain_at(5), 0);
	expect_record(0, 0, 0);
	wrmsr(MSR_GLOBAL_OVF_CTRL, frozen);
	expect(!(rdmsr(MSR_GLOBAL_STATUS) & frozen), "status 0x%x", rdmsr(MSR_GLOBAL_STATUS));
	record(chain_at(5), 0);
	expect_record(0, chain_at(2), (u64)trace_done);
	tally.records += 10;
	tally.pmis++;
	tally.masked += 7;
}

const struct test lbr_kind_tests[] = {
	{ "CPUID offers the LBRs", offers },
	{ "registers of the LBRs keep what they may hold and refuse the rest", registers },
	{ "the newest branches, record 0 the newest", newest },
	{ "nothing is recorded while the LBRs are disabled", disabled },
	{ "each bit of the filter keeps its kind of branch out", filters },
	{ "the CPL filter goes by where a branch ends", levels },
	{ "a PMI freezes architectural LBRs until it is acknowledged", freeze },
};

const u32 lbr_kind_tests_nr = sizeof(lbr_kind_tests) / sizeof(*lbr_kind_tests);
