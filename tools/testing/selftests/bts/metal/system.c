// SPDX-License-Identifier: GPL-2.0
/* Tests of INIT, on the second CPU, and of a task switch to other page tables. */
#include "metal.h"

#define ICR_INIT	0x4500
#define ICR_STARTUP	0x4600
#define AP_ID		1
#define AP_WAIT_LOOPS	20000000

struct low_vars {
	u32 phase;
	u32 reached;
	u32 debugctl;
	u32 ds_area;
	u32 smis;
	u32 nmis;
};

#define low ((volatile struct low_vars *)LOW_VARS)

u64 ap_addr(const u8 *label)
{
	return LOW_CODE + (label - ap_code);
}

bool start_ap(u32 phase)
{
	u32 i;

	low->phase = phase - 1;
	low->reached = 0;
	apic_write(APIC_ICR_HIGH, AP_ID << 24);
	apic_write(APIC_ICR, ICR_INIT);
	for (i = 0; i < 1000; i++)
		asm volatile("pause");
	apic_write(APIC_ICR_HIGH, AP_ID << 24);
	apic_write(APIC_ICR, ICR_STARTUP | LOW_CODE >> 12);
	for (i = 0; low->reached != phase && i < AP_WAIT_LOOPS; i++)
		asm volatile("pause");
	return expect(low->reached == phase, "the second CPU does not get to phase %u", (u64)phase);
}

TEST(reset, "a reset clears DEBUGCTL, or sets what the firmware leaves there")
{
	expect(first_debugctl == machine.debugctl, "DEBUGCTL 0x%x, expected 0x%x", first_debugctl,
	       (u64)machine.debugctl);
}

/* INIT sets DEBUGCTL as a reset does. */
TEST(init_clears, "INIT clears DEBUGCTL and DS_AREA and stops tracing; real mode is traced")
{
	ds_place(LOW_DS, LOW_DS + 0x100, 16 * rec_size());
	wrmsr(MSR_DS_AREA, WIN);
	copy((void *)LOW_CODE, ap_code, ap_code_end - ap_code);
	want_add((struct want) { .from = ap_addr(ap_first), .to = ap_addr(ap_first_to) });
	if (!start_ap(1))
		return;
	expect_at(LOW_DS + 0x100, 0, 1);
	expect(ds_get(DS_INDEX) == LOW_DS + 0x100 + rec_size(), "index 0x%x before INIT",
	       ds_get(DS_INDEX));
	if (!start_ap(2))
		return;
	expect(low->debugctl == machine.debugctl, "DEBUGCTL 0x%x after INIT", (u64)low->debugctl);
	expect(low->ds_area == 0, "DS_AREA 0x%x after INIT", (u64)low->ds_area);
	want_add((struct want) { .from = ap_addr(ap_second), .to = ap_addr(ap_second_to) });
	expect_at(LOW_DS + 0x100, 0, 2);
	expect(ds_get(DS_INDEX) == LOW_DS + 0x100 + 2 * rec_size(), "index 0x%x at last",
	       ds_get(DS_INDEX));
	tally.records += 2;
}

TEST(init_drops_pmi, "INIT drops a PMI that is kept")
{
	if (!machine.kept || machine.delay)
		return;
	ds_place(LOW_DS, LOW_DS + 0x100, 16 * rec_size());
	ds_set(DS_THRESHOLD, LOW_DS + 0x100 + rec_size());
	wrmsr(MSR_DS_AREA, WIN);
	copy((void *)LOW_CODE, ap_code, ap_code_end - ap_code);
	low->nmis = 0;
	if (!start_ap(4) || !start_ap(5))
		return;
	expect(!low->nmis, "%u PMIs after INIT", (u64)low->nmis);
	tally.records++;
	tally_masked(1);
}

TEST(task_cr3, "a task switch to other page tables: its record goes through the new ones")
{
	u32 size = rec_size();
	u8 *other = window_frame(WIN_PAGES);

	fill(other, 0xa5, 4096);
	*window_pte32_other(BUF) = (u64)other | 3;
	tss32_b((u64)task_other_end, (u64)pd32_other);
	trace32((u64)task_other, DBG_ON);
	gdt_init();
	want_add((struct want) { .from = (u64)trace32_go, .to = (u64)task_other });
	want_add((struct want) { .from = (u64)task_other_jmp, .to = (u64)task_other_end });
	want_add((struct want) { .from = (u64)task_other_end, .to = (u64)trace32_done });
	expect_at(BUF, 0, 1);
	untouched(BUF + size, WIN + WIN_PAGES * 4096);
	expect_at((u64)other + size, 1, 2);
	expect(ds_get(DS_INDEX) == BUF + 3 * size, "index 0x%x", ds_get(DS_INDEX));
	tally.records += 3;
}
