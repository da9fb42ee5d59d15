// SPDX-License-Identifier: GPL-2.0
/* When the store interrupts, and when it must not. Here as NMI; debug.S has the rest. */
#include "metal.h"

struct pmi_case {
	const char *text;
	u32 debugctl;
	u32 lvt;
	/* the threshold: so many records, and so many bytes, past the base */
	int records;
	int bytes;
	/* the record after which the interrupt must come, 0 for never */
	u32 at;
};

#define CHAIN 8

static const struct pmi_case pmi_cases[] = {
	{ "threshold reached exactly", DBG_BTINT, LVT_NMI, 3, 0, 3 },
	{ "threshold one byte before the end of a record", DBG_BTINT, LVT_NMI, 3, -1, 3 },
	{ "threshold one byte after the end of a record", DBG_BTINT, LVT_NMI, 3, 1, 4 },
	{ "threshold at the base", DBG_BTINT, LVT_NMI, 0, 0, 1 },
	{ "threshold before the base", DBG_BTINT, LVT_NMI, -2, 0, 1 },
	{ "threshold one record past the last", DBG_BTINT, LVT_NMI, CHAIN + 1, 0, 0 },
	{ "BTINT = 0", 0, LVT_NMI, 3, 0, 0 },
	{ "masked", DBG_BTINT, LVT_NMI | LVT_MASKED, 3, 0, 0 },
};

static void expect_pmi(const struct pmi_case *c)
{
	u64 rip = c->at ? chain_at(CHAIN - c->at + 1) : 0;
	u64 index = c->at ? BUF + (c->at + 1) * rec_size() : 0;
	u32 lvt = c->at ? c->lvt | LVT_MASKED : c->lvt;
	u32 got = apic_read(APIC_LVTPC);

	expect(pmi_count == !!c->at, "%s: %u PMIs", c->text, (u64)pmi_count);
	expect(pmi_rip == rip, "%s: taken at 0x%x, expected 0x%x", c->text, pmi_rip, rip);
	expect(pmi_index == index, "%s: index in the handler 0x%x, expected 0x%x", c->text,
	       (u64)pmi_index, index);
	expect(got == lvt, "%s: LVTPC 0x%x, expected 0x%x", c->text, (u64)got, (u64)lvt);
	expect(!c->at || pmi_lvt == lvt, "%s: LVTPC in the handler 0x%x", c->text, (u64)pmi_lvt);
}

static void run_pmi(const struct pmi_case *c)
{
	u64 threshold = BUF + c->records * (int)rec_size() + c->bytes;
	u32 i;

	want_none();
	ds_default();
	ds_set(DS_THRESHOLD, threshold);
	pmi_count = 0;
	pmi_rip = 0;
	pmi_index = 0;
	apic_write(APIC_LVTPC, c->lvt);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
	chain(CHAIN, c->debugctl);
	want_chain(0, c->at ?: CHAIN, CHAIN);
	if (c->at) {
		want_pmi(chain_at(CHAIN - c->at + 1), (u64)pmi_note, (u64)pmi_note_iret);
		want_chain(c->at, CHAIN, CHAIN);
	}
	expect_pmi(c);
	expect_store();
	/* Unmasking brings nothing back. */
	apic_write(APIC_LVTPC, LVT_NMI);
	asm volatile("sti; nop; nop; cli");
	expect(pmi_count == !!c->at, "%s: a PMI kept for later", c->text);
	apic_write(APIC_LVTPC, LVT_MASKED);

	tally.pmis += pmi_count;
	for (i = 1; c->debugctl & DBG_BTINT && i <= want_count(); i++)
		if (i != c->at && BUF + i * rec_size() >= threshold)
			tally.masked++;
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

TEST(pmi_at_base, "a threshold at or before the base: PMI behind the first record")
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

TEST(pmi_masked, "a PMI is lost while the vector is masked, and not kept")
{
	run_pmi(&pmi_cases[7]);
}

TEST(pmi_once, "delivery masks the vector; unmasked, the next record raises again")
{
	run_pmi(&pmi_cases[0]);
	pmi_count = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	chain(3, DBG_BTINT);
	want_chain(0, 1, 3);
	want_pmi(chain_at(3), (u64)pmi_note, (u64)pmi_note_iret);
	want_chain(1, 3, 3);
	expect(pmi_count == 1, "%u PMIs", (u64)pmi_count);
	tally.records -= CHAIN + 2;
	expect_store();
	tally.pmis++;
	tally.masked += 4;
}

TEST(pmi_drained, "a handler that drains and unmasks sees every fifth record")
{
	ds_set(DS_THRESHOLD, BUF + 5 * rec_size());
	pmi_relvt = LVT_NMI;
	apic_write(APIC_LVTPC, LVT_NMI);
	set_gate(VEC_NMI, (u64)pmi_drain, 0);
	chain(40, DBG_BTINT);
	/* 5, then 4 and the handler's own IRETQ: 5 + 8 * 4 = 37 */
	expect(pmi_count == 9, "%u PMIs, expected 9", (u64)pmi_count);
	expect(ds_get(DS_INDEX) == BUF + 4 * rec_size(), "index 0x%x", ds_get(DS_INDEX));
	want_add((struct want) { .from = (u64)pmi_drain_iret, .to = chain_at(4) });
	want_chain(37, 40, 40);
	expect_at(BUF, 0, 4);
	tally.records += 40 + 2 * 9;
	tally.pmis += 9;
	tally.masked += 9;
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
	expect(pmi_rip == chain_at(CHAIN - 6 + 1), "taken at 0x%x", pmi_rip);
	expect_store();
	tally.pmis++;
	tally.full += 2 + CHAIN - 6;
}
