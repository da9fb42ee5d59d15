// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of when the Debug Store must raise a PMI, with the PMI as an NMI. debug.S has the tests of
 * PMIs that need exact code.
 */
#include "metal.h"

struct pmi_case {
	const char *text;
	u32 debugctl;
	u32 lvt;
	/* distance of the threshold from the base: this many records, plus this many bytes */
	int records;
	int bytes;
};

#define CHAIN 8

static const struct pmi_case pmi_cases[] = {
	{ "threshold reached exactly", DBG_BTINT, LVT_NMI, 3, 0 },
	{ "threshold one byte before the end of a record", DBG_BTINT, LVT_NMI, 3, -1 },
	{ "threshold one byte after the end of a record", DBG_BTINT, LVT_NMI, 3, 1 },
	{ "threshold at the base", DBG_BTINT, LVT_NMI, 0, 0 },
	{ "threshold before the base", DBG_BTINT, LVT_NMI, -2, 0 },
	{ "threshold one record past the last", DBG_BTINT, LVT_NMI, CHAIN + 1, 0 },
	{ "BTINT = 0", 0, LVT_NMI, 3, 0 },
	{ "masked", DBG_BTINT, LVT_NMI | LVT_MASKED, 3, 0 },
};

/*
 * @at: the number of the record behind which the PMI must come, or 0 if none may come. @masked: the
 * number of PMIs that must find the vector masked.
 */
struct foreseen {
	u32 at;
	u32 masked;
};

/* Returns whether record @nr (the first is 1) requests a PMI, which may come later. */
static bool asks(u32 nr, u64 threshold)
{
	u64 index = BUF + nr * rec_size();

	switch (machine.pmi) {
	case PMI_CROSSED:
		return index - rec_size() < threshold && index >= threshold;
	case PMI_EQUAL:
		return index == threshold;
	default:
		return index >= threshold;
	}
}

static struct foreseen foresee(const struct pmi_case *c, u64 threshold)
{
	struct foreseen f = { };
	u32 i, end = CHAIN, due = 0;

	for (i = 1; c->debugctl & DBG_BTINT && i <= end; i++) {
		bool comes = due && !--due;

		if (asks(i, threshold)) {
			comes |= !machine.delay;
			due = due ?: machine.delay;
		}
		if (!comes)
			continue;
		if (f.at || c->lvt & LVT_MASKED) {
			f.masked++;
		} else {
			f.at = i;
			/* the NMI and the IRETQ of its handler are records, too */
			end += 2;
		}
	}
	/* When recording stops, a timer delivers a PMI that is due. */
	f.masked += !!due;
	return f;
}

static void expect_pmi(const struct pmi_case *c, u32 at)
{
	u64 rip = at ? chain_at(CHAIN - at + 1) : 0;
	u64 index = at ? BUF + (at + 1) * rec_size() : 0;
	u32 lvt = at ? c->lvt | LVT_MASKED : c->lvt;
	u32 got = apic_read(APIC_LVTPC);

	expect(pmi_count == !!at, "%s: %u PMIs", c->text, (u64)pmi_count);
	expect(pmi_rip == rip, "%s: taken at 0x%x, expected 0x%x", c->text, pmi_rip, rip);
	expect(pmi_index == index, "%s: index in the handler 0x%x, expected 0x%x", c->text,
	       (u64)pmi_index, index);
	expect(got == lvt, "%s: LVTPC 0x%x, expected 0x%x", c->text, (u64)got, (u64)lvt);
	expect(!at || pmi_lvt == lvt, "%s: LVTPC in the handler 0x%x", c->text, (u64)pmi_lvt);
}

/* Wait for a PMI that a timer delivers. With -icount, it comes within this time. */
static void wait_for_late(void)
{
	u32 i;

	for (i = 0; machine.delay && i < 1000; i++)
		asm volatile("pause");
}

static void run_pmi(const struct pmi_case *c)
{
	u64 threshold = BUF + c->records * (int)rec_size() + c->bytes;
	struct foreseen f = foresee(c, threshold);
	u32 kept = machine.kept && f.masked;

	want_none();
	ds_default();
	ds_set(DS_THRESHOLD, threshold);
	pmi_count = 0;
	pmi_rip = 0;
	pmi_index = 0;
	apic_write(APIC_LVTPC, c->lvt);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
	chain(CHAIN, c->debugctl);
	wait_for_late();
	want_chain(0, f.at ?: CHAIN, CHAIN);
	if (f.at) {
		want_pmi(chain_at(CHAIN - f.at + 1), (u64)pmi_note, (u64)pmi_note_iret);
		want_chain(f.at, CHAIN, CHAIN);
	}
	expect_pmi(c, f.at);
	expect_store();
	/* If the machine has kept a PMI, it delivers the PMI when the vector is unmasked. */
	apic_write(APIC_LVTPC, LVT_NMI);
	asm volatile("sti; nop; nop; cli");
	expect(pmi_count == !!f.at + kept, "%s: %u PMIs when unmasked", c->text, (u64)pmi_count);
	apic_write(APIC_LVTPC, LVT_MASKED);

	tally.pmis += !!f.at;
	tally_masked(f.masked);
}

TEST(pmi_exact, "PMI when the index reaches the threshold, at the next instruction")
{
	run_pmi(&pmi_cases[0]);
}

TEST(pmi_unaligned, "a threshold inside a record: PMI behind that record")
{
	run_pmi(&pmi_cases[1]);
	run_pmi(&pmi_cases[2]);
}

TEST(pmi_at_base, "a threshold at or before the base: PMI behind the first record, or never")
{
	run_pmi(&pmi_cases[3]);
	run_pmi(&pmi_cases[4]);
}

TEST(pmi_not_reached, "no PMI before the threshold")
{
	run_pmi(&pmi_cases[5]);
}

TEST(pmi_btint_0, "no PMI with BTINT = 0")
{
	run_pmi(&pmi_cases[6]);
}

TEST(pmi_masked, "a PMI is lost while the vector is masked, or kept")
{
	run_pmi(&pmi_cases[7]);
}

TEST(pmi_once, "delivery masks the vector; unmasked, the next record raises again, or none")
{
	u32 at = 1 + machine.delay;

	run_pmi(&pmi_cases[0]);
	pmi_count = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	chain(3, DBG_BTINT);
	wait_for_late();
	if (machine.pmi == PMI_EACH) {
		want_chain(0, at, 3);
		want_pmi(chain_at(4 - at), (u64)pmi_note, (u64)pmi_note_iret);
		want_chain(at, 3, 3);
		tally.pmis++;
		/* A late machine requests another PMI at the third record and at the IRETQ. */
		tally_masked(machine.delay ? 2 : 4);
	} else {
		want_chain(0, 3, 3);
	}
	expect(pmi_count == (machine.pmi == PMI_EACH), "%u PMIs", (u64)pmi_count);
	/*
	 * expect_store() counts all records in the store, and the first ones were counted before.
	 */
	tally.records -= CHAIN + 2;
	expect_store();
}

TEST(pmi_drained, "a handler that drains and unmasks sees every fifth record")
{
	u32 pmis = machine.delay ? 6 : 9, again = 0;

	if (machine.pmi == PMI_EACH && (machine.delay || machine.kept))
		again = pmis;

	ds_set(DS_THRESHOLD, BUF + 5 * rec_size());
	pmi_relvt = LVT_NMI;
	apic_write(APIC_LVTPC, LVT_NMI);
	set_gate(VEC_NMI, (u64)pmi_drain, 0);
	chain(40, DBG_BTINT);
	/*
	 * The first PMI comes after 5 branches of the chain, each other one after 4 more, as the
	 * IRETQ is the first of 5 records: 5 + 8 * 4 = 37. If PMIs come 2 branches late:
	 * 7 + 5 * 6 = 37. With PMI_EACH, the last record before the PMI, or that of the NMI,
	 * requests a second PMI, which comes behind the IRETQ if it is late or kept.
	 */
	expect(pmi_count == pmis + again, "%u PMIs, expected %u", (u64)pmi_count,
	       (u64)pmis + again);
	expect(ds_get(DS_INDEX) == BUF + 4 * rec_size(), "index 0x%x", ds_get(DS_INDEX));
	want_add((struct want) { .from = (u64)pmi_drain_iret, .to = chain_at(4) });
	want_chain(37, 40, 40);
	expect_at(BUF, 0, 4);
	tally.records += 40 + 2 * (pmis + again);
	tally.pmis += pmis;
	if (machine.pmi != PMI_EACH)
		return;
	if (machine.delay)
		tally.pmis += again;
	else
		tally_masked(pmis);
}

/*
 * With OFF_OS, record 2, the jump of user mode, requests the PMI. The INT and the jumps in its
 * handler are not recorded, but count for the delay. The IRETQ back to user mode is record 3.
 */
TEST(pmi_late_filtered, "a late PMI: branches that the filter drops count for its delay")
{
	u64 rip = (u64)user_jump + 2 * (machine.delay - 1);

	if (!machine.delay || !machine.cpl || machine.rule != RULE_AFTER)
		return;
	ds_set(DS_THRESHOLD, BUF + 2 * rec_size());
	apic_write(APIC_LVTPC, LVT_NMI);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
	set_gate(0x60, (u64)user_int_jumps_to, 3);
	trace((u64)user_int_jumps, DBG_ON | DBG_BTINT | DBG_OFF_OS);
	wait_for_late();
	expect(pmi_count == 1, "%u PMIs, expected 1", (u64)pmi_count);
	expect(pmi_rip == rip, "taken at 0x%x, expected 0x%x", pmi_rip, rip);
	expect(pmi_index == BUF + 2 * rec_size(), "index in the handler 0x%x", (u64)pmi_index);
	expect(ds_get(DS_INDEX) == BUF + 3 * rec_size(), "index 0x%x", ds_get(DS_INDEX));
	tally.records += 3;
	tally.pmis++;
	/* Record 3 requests another PMI, which a timer delivers when recording has stopped. */
	if (machine.pmi == PMI_EACH)
		tally_masked(1);
}

TEST(pmi_at_full, "PMI behind the last record that fits; what follows is lost")
{
	ds_place(WIN, BUF, 6 * rec_size());
	ds_set(DS_THRESHOLD, BUF + 6 * rec_size());
	apic_write(APIC_LVTPC, LVT_NMI);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
	chain(CHAIN, DBG_BTINT);
	want_chain(0, 6, CHAIN);
	expect(pmi_count == 1, "%u PMIs, expected 1", (u64)pmi_count);
	expect(pmi_rip == chain_at(CHAIN - 6 - machine.delay + 1), "taken at 0x%x", pmi_rip);
	expect_store();
	tally.pmis++;
	tally.full += 2 + CHAIN - 6;
}
