// SPDX-License-Identifier: GPL-2.0
/* Tests of CPUID, of RDPMC, and of MSRs: which values they accept. */
#include "metal.h"

#define MISC_PMU	(1 << 7)
#define MISC_NO_BTS	(1 << 11)
#define MISC_NO_PEBS	(1 << 12)

static void expect_wrmsr(u32 msr, u64 value, bool accepted)
{
	u32 vector = wrmsr_fault(msr, value);

	if (accepted)
		expect(vector == 0, "wrmsr 0x%x, 0x%x: refused", (u64)msr, value);
	else
		expect(vector == VEC_GP, "wrmsr 0x%x, 0x%x: vector %u, expected #GP",
		       (u64)msr, value, (u64)vector);
}

static void expect_rdmsr(u32 msr, u64 value)
{
	u64 got = rdmsr(msr);

	expect(got == value, "rdmsr 0x%x: 0x%x, expected 0x%x", (u64)msr, got, value);
}

TEST(cpuid_features, "CPUID offers DS, DTES64, DS-CPL as asked for")
{
	u32 a, b, c, d;

	cpuid(1, &a, &b, &c, &d);
	expect(d & CPUID_DS, "no DS");
	expect(!!(c & CPUID_DTES64) == machine.dtes64, "DTES64 %u", (u64)!machine.dtes64);
	expect(!!(c & CPUID_DS_CPL) == machine.cpl, "DS-CPL %u", (u64)!machine.cpl);
}

TEST(cpuid_pmu, "CPUID 0xA: version 2, 48-bit counters")
{
	u32 a, b, c, d;

	cpuid(0, &a, &b, &c, &d);
	if (!machine.pmu && a < 10)
		return;
	expect(a >= 10, "CPUID ends at leaf %u", (u64)a);
	cpuid(10, &a, &b, &c, &d);
	if (!machine.pmu) {
		expect(!(a & 0xff), "PMU of version %u", (u64)(a & 0xff));
		return;
	}
	expect((a & 0xff) == 2, "PMU of version %u", (u64)(a & 0xff));
	expect((a >> 8 & 0xff) >= 2, "%u counters", (u64)(a >> 8 & 0xff));
	expect((a >> 16 & 0xff) == 48, "counters of %u bits", (u64)(a >> 16 & 0xff));
	expect((d & 0x1f) >= 1, "no fixed counter");
}

TEST(misc_enable, "MISC_ENABLE: BTS there, PEBS not, both read-only")
{
	u64 fixed = MISC_PMU | MISC_NO_BTS | MISC_NO_PEBS;
	u64 was = rdmsr(MSR_MISC_ENABLE);

	expect(!(was & MISC_NO_BTS), "BTS marked unavailable");
	expect(was & MISC_NO_PEBS, "PEBS not marked unavailable");
	expect(!(machine.pmu || NETBURST) || was & MISC_PMU, "PMU not marked available");
	wrmsr_fault(MSR_MISC_ENABLE, was ^ fixed);
	expect_rdmsr(MSR_MISC_ENABLE, was);
}

static u64 debugctl_bits(void)
{
	u64 bits = DBG_LBR | DBG_BTF | DBG_ON | DBG_BTINT;

	if (machine.cpl)
		bits |= DBG_OFF_OS | DBG_OFF_USR;
	if (machine.pmu)
		bits |= 3 << 11;
	return bits;
}

TEST(debugctl_bits_ok, "DEBUGCTL keeps each bit it has")
{
	u64 good = debugctl_bits();
	int i;

	for (i = 0; i < 64; i++) {
		if (!(good >> i & 1))
			continue;
		expect_wrmsr(MSR_DEBUGCTL, 1ull << i, true);
		expect_rdmsr(MSR_DEBUGCTL, 1ull << i);
	}
	expect_wrmsr(MSR_DEBUGCTL, good & ~DBG_TR, true);
	expect_rdmsr(MSR_DEBUGCTL, good & ~DBG_TR);
	expect_wrmsr(MSR_DEBUGCTL, 0, true);
	expect_store();
}

TEST(debugctl_bits_bad, "DEBUGCTL refuses each reserved bit by #GP and keeps its value")
{
	u64 good = debugctl_bits();
	int i;

	for (i = 0; i < 64; i++) {
		if (good >> i & 1)
			continue;
		expect_wrmsr(MSR_DEBUGCTL, DBG_BTINT, true);
		expect_wrmsr(MSR_DEBUGCTL, 1ull << i | DBG_BTS, false);
		expect_rdmsr(MSR_DEBUGCTL, DBG_BTINT);
	}
}

TEST(ds_area_canonical, "DS_AREA takes canonical addresses only")
{
	static const u64 good[] = {
		0, 8, WIN, 0x7ffffffff000, 0xffff800000000000, 0xfffffffffffff000,
	};
	static const u64 bad[] = {
		0x0000800000000000, 0xffff7ffffffff000, 0x8000000000000000, 0x1000000000000,
		0x00ffffffffffffff,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		expect_wrmsr(MSR_DS_AREA, good[i], true);
		expect_rdmsr(MSR_DS_AREA, good[i]);
	}
	wrmsr(MSR_DS_AREA, WIN);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		expect_wrmsr(MSR_DS_AREA, bad[i], false);
		expect_rdmsr(MSR_DS_AREA, WIN);
	}
}

TEST(pmu_registers, "PMU registers store what is written")
{
	static const struct {
		u32 msr;
		u64 value;
	} regs[] = {
		{ 0x186, 0x5300c0 },
		{ 0x187, 0x5300c4 },
		{ 0x38d, 0xb },
		{ MSR_GLOBAL_CTRL, 0x100000003 },
		{ MSR_PMC0, 0x1234 },
		{ MSR_PMC0 + 1, 0x7fffffff },
		{ MSR_FIXED_CTR0, 0x123456789abc },
	};
	u32 i;

	for (i = 0; machine.pmu && i < ARRAY_SIZE(regs); i++) {
		expect_wrmsr(regs[i].msr, regs[i].value, true);
		expect_rdmsr(regs[i].msr, regs[i].value);
		expect_wrmsr(regs[i].msr, 0, true);
		expect_rdmsr(regs[i].msr, 0);
	}
}

TEST(netburst_registers, "Netburst's PMU registers store what is written, counters 40 bits")
{
	static const struct {
		u32 msr;
		u64 value;
		u64 kept;
	} regs[] = {
		{ 0x300, 0x123456789abc, 0x3456789abc },
		{ 0x311, 0xffffffffff, 0xffffffffff },
		{ 0x360, 0x4003b000, 0x4003b000 },
		{ 0x371, 0x30000, 0x30000 },
		{ 0x3a0, 0x7fffffff, 0x7fffffff },
		{ 0x3e1, 0x200, 0x200 },
		{ 0x3f2, 0x1, 0x1 },
	};
	u32 i;

	for (i = 0; NETBURST && i < ARRAY_SIZE(regs); i++)
		expect_wrmsr(regs[i].msr, regs[i].value, true);
	for (i = 0; NETBURST && i < ARRAY_SIZE(regs); i++) {
		expect_rdmsr(regs[i].msr, regs[i].kept);
		wrmsr(regs[i].msr, 0);
	}
}

TEST(pmc_sign, "PMC writes are extended from 32 to 48 bits")
{
	if (!machine.pmu)
		return;
	expect_wrmsr(MSR_PMC0, 0x80000001, true);
	expect_rdmsr(MSR_PMC0, 0xffff80000001);
	expect_wrmsr(MSR_PMC0, 0xffffffff7fffffff, true);
	expect_rdmsr(MSR_PMC0, 0x7fffffff);
	expect_wrmsr(MSR_PMC0, 0, true);
}

TEST(global_status, "GLOBAL_STATUS is read-only, its clearing register is not")
{
	if (!machine.pmu)
		return;
	expect_wrmsr(MSR_GLOBAL_STATUS, 0, false);
	expect_wrmsr(MSR_GLOBAL_STATUS, 1, false);
	expect_rdmsr(MSR_GLOBAL_STATUS, 0);
	expect_wrmsr(MSR_GLOBAL_OVF_CTRL, 3, true);
	expect_rdmsr(MSR_GLOBAL_STATUS, 0);
}

TEST(rdpmc_reads, "RDPMC reads the counters, #GP for others")
{
	u64 value = 0;
	u32 vector;

	if (!machine.pmu)
		return;
	wrmsr(MSR_PMC0 + 1, 0xfedcba98);
	wrmsr(MSR_FIXED_CTR0, 0xabc123456789);
	vector = rdpmc_fault(1, &value);
	expect(!vector && value == 0xfffffedcba98, "counter 1: vector %u, 0x%x",
	       (u64)vector, value);
	vector = rdpmc_fault(1 << 30, &value);
	expect(!vector && value == 0xabc123456789, "fixed counter 0: vector %u, 0x%x",
	       (u64)vector, value);
	vector = rdpmc_fault(0x1000, &value);
	expect(vector == VEC_GP, "counter 0x1000: vector %u", (u64)vector);
}

TEST(netburst_rdpmc, "RDPMC reads Netburst's counters, or half of one, #GP for others")
{
	u64 value = 0;
	u32 vector;

	if (!NETBURST)
		return;
	wrmsr(0x311, 0xfedcba9876);
	vector = rdpmc_fault(17, &value);
	expect(!vector && value == 0xfedcba9876, "counter 17: vector %u, 0x%x", (u64)vector,
	       value);
	vector = rdpmc_fault(1u << 31 | 17, &value);
	expect(!vector && value == 0xdcba9876, "half of it: vector %u, 0x%x", (u64)vector, value);
	vector = rdpmc_fault(18, &value);
	expect(vector == VEC_GP, "counter 18: vector %u", (u64)vector);
	wrmsr(0x311, 0);
}
