// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of machines on which an event clears TR, of those that damage records, and of those whose
 * PMIs come late by a random delay.
 */
#include "metal.h"

#define ROUNDS		4
#define ROUND		120	/* records; the chain is not much longer */
#define AP_RECORDS	100
#define KERNEL_HALF	(1ull << 63)

/* Damaged records of a test. Of their sources and targets, those that are wrong. */
struct damage {
	u32 garbled;
	u32 dropped;
	u32 wrong_to;
	u32 high_from;		/* wrong sources in the upper half of the address space */
	u32 first;		/* numbers of the first and the last garbled record, from 1 */
	u32 last;
	u32 shortest;		/* distances of garbled records */
	u32 longest;
};

/* Only the record before the #DB must be there. */
static void db_clears(void)
{
	set_gate(VEC_DB, (u64)ignore_irq, 0);
	wrmsr(MSR_DEBUGCTL, DBG_ON);
	asm volatile("jmp 1f\n"
		     "1: pushf; orl %0, (%%rsp); popf\n"
		     "nop; pushf; andl %1, (%%rsp); popf\n"
		     "jmp 2f\n"
		     "2:" : : "i"(FL_TF), "i"(~FL_TF) : "memory", "cc");
	expect(!rdmsr(MSR_DEBUGCTL), "DEBUGCTL 0x%x", rdmsr(MSR_DEBUGCTL));
	wrmsr(MSR_DEBUGCTL, 0);
	expect(ds_get(DS_INDEX) == BUF + rec_size(), "index 0x%x", ds_get(DS_INDEX));
	tally.records++;
}

static void prepare_pmi(u32 lvt, u32 after)
{
	ds_set(DS_THRESHOLD, BUF + after * rec_size());
	apic_write(APIC_LVTPC, lvt);
	set_gate(VEC_NMI, (u64)pmi_note, 0);
}

static void freeze_clears(void)
{
	const u64 rest = DBG_BTS | DBG_BTINT | DBG_FREEZE_LBRS;

	prepare_pmi(LVT_NMI, 1);
	wrmsr(MSR_DEBUGCTL, DBG_TR | rest);
	asm volatile("jmp 1f\n"
		     "1: nop\n"
		     "jmp 2f\n"
		     "2:" : : : "memory");
	expect(rdmsr(MSR_DEBUGCTL) == rest, "DEBUGCTL 0x%x", rdmsr(MSR_DEBUGCTL));
	wrmsr(MSR_DEBUGCTL, 0);
	expect(pmi_count == 1, "%u PMIs", (u64)pmi_count);
	expect(ds_get(DS_INDEX) == BUF + rec_size(), "index 0x%x", ds_get(DS_INDEX));
	tally.records++;
	tally.pmis++;
}

static void freeze_unwanted(void)
{
	prepare_pmi(LVT_NMI, 3);
	chain(8, DBG_BTINT);
	want_chain(0, 3, 8);
	want_pmi(chain_at(6), (u64)pmi_note, (u64)pmi_note_iret);
	want_chain(3, 8, 8);
	expect_store();
	tally.pmis++;
	tally_masked(7);
}

static void freeze_masked(void)
{
	prepare_pmi(LVT_NMI | LVT_MASKED, 3);
	chain(8, DBG_BTINT | DBG_FREEZE_LBRS);
	want_chain(0, 8, 8);
	expect_store();
	expect(!pmi_count, "%u PMIs", (u64)pmi_count);
	tally_masked(6);
}

/*
 * A PMI is kept while TR, LBR and the counters are on. When the vector is unmasked, the PMI must
 * turn all of them off. The unmasking write is not followed by a record, as it is no branch.
 */
static void freeze_kept(void)
{
	const u64 frozen = DBG_BTS | DBG_BTINT | DBG_FREEZE_LBRS | DBG_FREEZE_PERFMON;
	const u64 on = DBG_TR | (machine.lbr ? DBG_LBR : 0);
	u64 kept;

	if (!machine.kept)
		return;
	prepare_pmi(LVT_NMI | LVT_MASKED, 1);
	wrmsr(MSR_GLOBAL_CTRL, 1);
	wrmsr(MSR_DEBUGCTL, on | frozen);
	asm volatile("jmp 1f\n"
		     "1:" : : : "memory");
	kept = rdmsr(MSR_DEBUGCTL);
	*(volatile u32 *)(u64)(APIC + APIC_LVTPC) = LVT_NMI;
	asm volatile("nop\n"
		     "jmp 1f\n"
		     "1:" : : : "memory");
	expect(rdmsr(MSR_DEBUGCTL) == frozen, "DEBUGCTL 0x%x", rdmsr(MSR_DEBUGCTL));
	wrmsr(MSR_DEBUGCTL, 0);
	expect(kept == (on | frozen), "DEBUGCTL 0x%x before", kept);
	expect(pmi_count == 1, "%u PMIs", (u64)pmi_count);
	expect(ds_get(DS_INDEX) == BUF + rec_size(), "index 0x%x", ds_get(DS_INDEX));
	expect(rdmsr(MSR_GLOBAL_CTRL) == !machine.counts, "GLOBAL_CTRL 0x%x",
	       rdmsr(MSR_GLOBAL_CTRL));
	wrmsr(MSR_GLOBAL_CTRL, 0);
	tally.records++;
	tally_masked(1);
}

/* Returns the delay, in branches, of the PMI that record @nr of a chain of @n requests. */
static u32 measure_delay(u32 nr, u32 n)
{
	u32 at;

	want_none();
	ds_default();
	prepare_pmi(LVT_NMI, nr);
	pmi_count = 0;
	chain(n, DBG_BTINT);
	if (!expect(pmi_count == 1, "%u PMIs", (u64)pmi_count))
		return 0;
	at = n - ((u64)trace_done - pmi_rip) / 2;
	want_chain(0, at, n);
	want_pmi(pmi_rip, (u64)pmi_note, (u64)pmi_note_iret);
	want_chain(at, n, n);
	expect_store();
	tally.pmis++;
	return at - nr;
}

static void jitter_delays(void)
{
	u32 delays = 0, i;

	for (i = 0; i < 64; i++) {
		u32 delay = measure_delay(3, 20);

		if (!expect(delay >= 1 && delay <= machine.delay, "a delay of %u", (u64)delay))
			return;
		delays |= 1 << delay;
	}
	expect(delays == (2u << machine.delay) - 2, "bits of the delays: 0x%x", (u64)delays);
}

static void note_garbled(struct damage *d, struct want got, struct want want, u32 nr)
{
	u32 distance = nr - d->last;

	if (d->garbled++) {
		d->shortest = d->shortest && d->shortest < distance ? d->shortest : distance;
		d->longest = d->longest > distance ? d->longest : distance;
	} else {
		d->first = nr;
	}
	d->last = nr;
	tally.garbage = tally.garbage * 31 + got.from;
	tally.garbage = tally.garbage * 31 + got.to;
	d->wrong_to += got.to != want.to;
	d->high_from += got.from >= KERNEL_HALF;
}

/* Returns whether the machine of test damage_turns() drops record @nr. */
static bool is_dropped(u32 nr)
{
	return machine.damage && nr % (2 * (machine.damage + 1)) == machine.damage + 1;
}

/*
 * Compare the store at @base with the @n expected records. Before them, @before were expected in
 * earlier stores. A garbled record has a wrong source.
 */
static void examine(struct damage *d, u64 base, u32 before, u32 n)
{
	u64 at = base;
	u32 i;

	for (i = 0; i < n; i++) {
		struct want want = want_at(i), got;

		if (is_dropped(before + i + 1)) {
			d->dropped++;
			continue;
		}
		got = rec_at(at);
		at += rec_size();
		/* The flags depend on all 64 bits of the addresses. A record may lack half. */
		if (machine.dtes64)
			expect(same_flags(got, got), "record %u has wrong flags", (u64)i);
		else
			expect(!got.before, "record %u has flags", (u64)i);
		want.from = machine.dtes64 ? want.from : (u32)want.from;
		want.to = machine.dtes64 ? want.to : (u32)want.to;
		if (got.from != want.from)
			note_garbled(d, got, want, before + i + 1);
		else
			expect(got.to == want.to, "record %u: to 0x%x, expected 0x%x", (u64)i,
			       got.to, want.to);
	}
	expect(ds_get(DS_INDEX) == at, "index 0x%x, expected 0x%x", ds_get(DS_INDEX), at);
	tally.records += (at - base) / rec_size();
}

static void examine_rounds(struct damage *d)
{
	u32 i;

	for (i = 0; i < ROUNDS; i++) {
		want_none();
		ds_default();
		chain(ROUND, 0);
		want_chain(0, ROUND, ROUND);
		examine(d, BUF, i * ROUND, ROUND);
	}
	tally.garbled += d->garbled;
	tally.dropped += d->dropped;
	expect(d->wrong_to && d->wrong_to < d->garbled, "%u of %u garbled records have a wrong to",
	       (u64)d->wrong_to, (u64)d->garbled);
	expect(!machine.dtes64 || (d->high_from && d->high_from < d->garbled),
	       "%u of %u garbled records are from the upper half", (u64)d->high_from,
	       (u64)d->garbled);
}

static void damage_turns(void)
{
	u32 turn = 2 * (machine.damage + 1);
	struct damage d = { };

	examine_rounds(&d);
	expect(d.dropped == ROUNDS * ROUND / turn && d.garbled == ROUNDS * ROUND / turn,
	       "%u dropped, %u garbled", (u64)d.dropped, (u64)d.garbled);
	expect(d.first == turn && d.shortest == turn && d.longest == turn,
	       "record %u garbled, then each %u to %u", (u64)d.first, (u64)d.shortest,
	       (u64)d.longest);
}

static void smi_garbles(void)
{
	struct damage d = { };

	setup_smi();
	examine_rounds(&d);
	/* The last record of all may have raised an SMI, too. */
	expect(smi_count() - d.garbled <= 1, "%u SMIs, %u garbled", (u64)smi_count(),
	       (u64)d.garbled);
	expect(d.garbled * machine.smi > ROUNDS * ROUND / 2 &&
	       d.garbled * machine.smi < ROUNDS * ROUND * 2, "%u SMIs", (u64)d.garbled);
	expect(d.longest <= 2 * machine.smi && d.shortest < machine.smi &&
	       d.longest > machine.smi, "%u to %u records between SMIs", (u64)d.shortest,
	       (u64)d.longest);
}

static void smi_other(void)
{
	struct damage d = { };
	u32 before = smi_count();
	u32 i;

	ds_place(LOW_DS, LOW_DS + 0x100, 2 * AP_RECORDS * rec_size());
	copy((void *)LOW_CODE, ap_code, ap_code_end - ap_code);
	if (!start_ap(3))
		return;
	for (i = 0; i < AP_RECORDS; i++)
		want_add((struct want) { .from = ap_addr(ap_loop), .to = ap_addr(ap_loop) });
	examine(&d, LOW_DS + 0x100, 0, AP_RECORDS);
	tally.garbled += d.garbled;
	expect(d.garbled * machine.smi > AP_RECORDS / 3, "%u SMIs", (u64)d.garbled);
	expect(smi_count() == before, "%u SMIs of the first CPU", (u64)smi_count() - before);
}

u32 errata_tests(const struct test **list)
{
	static const struct test jitter[] = {
		{ "a PMI is late by 1 to N branches: each of these delays comes", jitter_delays },
	};
	static const struct test db[] = {
		{ "#DB clears TR and BTS, and is not recorded", db_clears },
	};
	static const struct test freeze[] = {
		{ "a PMI clears TR if DEBUGCTL freezes LBRs, and is not recorded", freeze_clears },
		{ "a PMI keeps TR if DEBUGCTL does not freeze LBRs", freeze_unwanted },
		{ "a PMI that finds the vector masked keeps TR", freeze_masked },
		{ "a PMI that was kept freezes when it is delivered", freeze_kept },
	};
	static const struct test damage[] = {
		{ "damage: by turns, one record is dropped, one garbled", damage_turns },
	};
	static const struct test smi[] = {
		{ "SMIs come at random, and the record behind each is garbled", smi_garbles },
		{ "SMIs come to the second CPU, too", smi_other },
	};

	if (machine.jitter) {
		*list = jitter;
		return ARRAY_SIZE(jitter);
	}
	if (machine.db_clears) {
		*list = db;
		return ARRAY_SIZE(db);
	}
	if (machine.freeze_clears) {
		*list = freeze;
		return ARRAY_SIZE(freeze);
	}
	if (machine.damage) {
		*list = damage;
		return ARRAY_SIZE(damage);
	}
	*list = smi;
	return machine.smi ? ARRAY_SIZE(smi) : 0;
}
