// SPDX-License-Identifier: GPL-2.0
/* Tests of performance counters: of branches, and with QEMU's -icount also of instructions. */
#include "metal.h"

#define EV_BRANCHES	0xc4
#define EV_USR		(1 << 16)
#define EV_OS		(1 << 17)
#define EV_INT		(1 << 20)
#define EV_EN		(1 << 22)
#define FIXED_USR	2
#define FIXED_ALL	3

/*
 * Run @code. @select, for EVNTSEL0, has the event that counter 0 counts, and the CPLs at which it
 * counts. @fixed, for FIXED_CTRL, has the CPLs at which fixed counter 0 counts instructions. If
 * one of them is 0, its counter is off.
 */
static void run_counted(u64 code, u64 select, u64 fixed)
{
	set_gate(0x60, (u64)lbr_vector, 0);
	wrmsr(MSR_EVNTSEL0, select);
	wrmsr(MSR_FIXED_CTRL, fixed);
	wrmsr(MSR_FIXED_CTR0, 0);
	wrmsr(MSR_GLOBAL_CTRL, 1ull << 32 | 1);
	trace(code, 0);
	wrmsr(MSR_GLOBAL_CTRL, 0);
}

static u64 counted(u64 code, u64 select)
{
	wrmsr(MSR_PMC0, 0);
	run_counted(code, select | EV_EN, FIXED_ALL);
	return rdmsr(MSR_PMC0);
}

TEST(count_branches, "counters: branches, taken or not, of the levels that are wanted")
{
	u64 all = EV_BRANCHES | EV_OS | EV_USR, base, got;

	if (!machine.counts)
		return;
	base = counted(chain_at(1), all);
	got = counted(chain_at(41), all) - base;
	expect(got == 40, "%u of 40 branches", got);
	/* @base has the jump into the code, so the difference lacks it. */
	got = counted((u64)lbr_types, all) - base;
	expect(got == 13, "%u of 13 branches of each kind", got);
	/* three LOOPs, CALL, JMP, INT */
	got = counted((u64)user_branches, EV_BRANCHES | EV_USR);
	expect(got == 6, "%u of 6 branches of user mode", got);
	got = counted((u64)user_branches, EV_BRANCHES | EV_OS) - base;
	expect(got == 1, "%u of 1 branches of the supervisor more", got);
	got = counted(chain_at(41), EV_OS | EV_USR | 0x1234);
	expect(!got, "%u of an event that there is not", got);
}

TEST(count_instructions, "counters: instructions of the levels that are wanted")
{
	u64 base;

	if (!machine.counts || !machine.icount)
		return;
	run_counted(chain_at(1), 0, FIXED_ALL);
	base = rdmsr(MSR_FIXED_CTR0);
	run_counted(chain_at(101), 0, FIXED_ALL);
	expect(rdmsr(MSR_FIXED_CTR0) - base == 100, "%u of 100 instructions",
	       rdmsr(MSR_FIXED_CTR0) - base);
	/* MOV, three LOOPs, CALL, JMP, INT */
	run_counted((u64)user_branches, 0, FIXED_USR);
	expect(rdmsr(MSR_FIXED_CTR0) == 7, "%u of 7 instructions of user mode",
	       rdmsr(MSR_FIXED_CTR0));
}

static void run_overflow(u64 select, u32 lvt, u32 pmis)
{
	u64 status;

	pmi_count = 0;
	pmi_rip = 0;
	apic_write(APIC_LVTPC, lvt);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
	wrmsr(MSR_GLOBAL_OVF_CTRL, 1);
	wrmsr(MSR_PMC0, -5);
	run_counted(chain_at(40), select | EV_BRANCHES | EV_OS | EV_EN, 0);
	status = rdmsr(MSR_GLOBAL_STATUS);
	expect(status == 1, "GLOBAL_STATUS 0x%x", status);
	wrmsr(MSR_GLOBAL_OVF_CTRL, 1);
	status = rdmsr(MSR_GLOBAL_STATUS);
	expect(!status, "GLOBAL_STATUS 0x%x when cleared", status);
	expect(pmi_count == pmis, "%u PMIs, expected %u", (u64)pmi_count, (u64)pmis);
	expect(!pmis || (pmi_rip > chain_at(40) && pmi_rip < (u64)trace_done),
	       "PMI at 0x%x", pmi_rip);
	expect(apic_read(APIC_LVTPC) == (pmis ? lvt | LVT_MASKED : lvt), "LVTPC 0x%x",
	       (u64)apic_read(APIC_LVTPC));
	apic_write(APIC_LVTPC, LVT_MASKED);
}

TEST(count_overflow, "counters: one that overflows says so, and interrupts if it is to")
{
	if (!machine.counts)
		return;
	run_overflow(EV_INT, LVT_NMI, 1);
	run_overflow(EV_INT, LVT_NMI | LVT_MASKED, 0);
	run_overflow(0, LVT_NMI, 0);
}

TEST(count_freeze, "counters: a PMI freezes them if DEBUGCTL says so")
{
	if (!machine.counts)
		return;
	pmi_count = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
	wrmsr(MSR_EVNTSEL0, EV_BRANCHES | EV_OS | EV_INT | EV_EN);
	wrmsr(MSR_PMC0, -5);
	wrmsr(MSR_GLOBAL_CTRL, 1);
	trace(chain_at(40), DBG_FREEZE_PERFMON);
	expect(!rdmsr(MSR_GLOBAL_CTRL), "GLOBAL_CTRL 0x%x", rdmsr(MSR_GLOBAL_CTRL));
	expect(!rdmsr(MSR_PMC0), "%u branches after the freeze", rdmsr(MSR_PMC0));
	wrmsr(MSR_GLOBAL_CTRL, 0);
	wrmsr(MSR_GLOBAL_OVF_CTRL, 1);
	apic_write(APIC_LVTPC, LVT_MASKED);
}
