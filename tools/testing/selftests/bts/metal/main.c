// SPDX-License-Identifier: GPL-2.0
/* Runs the cases and tests that suit the machine, and reports in KTAP. */
#include "metal.h"

struct machine machine = { .dtes64 = true, .cpl = true, .pmu = true };
struct tally tally;
u64 first_debugctl;
u64 seen[8];

static u32 nr_done;

static void report(const char *text, bool good)
{
	nr_done++;
	print("%s %u - %s\n", good ? "ok" : "not ok", (u64)nr_done, text);
}

/* Reset the machine to the state in which every case and test begins. */
static void settle(void)
{
	wrmsr(MSR_DEBUGCTL, 0);
	/* Take a PMI that was kept while its vector was masked: the next case must not get it. */
	set_gate(VEC_NMI, (u64)ignore_irq, 0);
	if (machine.kept)
		apic_write(APIC_LVTPC, LVT_NMI);
	apic_write(APIC_LVTPC, LVT_MASKED);
	gates_default();
	window_default();
	ds_default();
	asm volatile("sti; nop; nop; cli");
	fill(seen, 0, sizeof(seen));
	pmi_count = 0;
	pmi_rip = 0;
	pmi_relvt = 0;
	want_none();
}

/* Run a case with the CPL filter bits @filter. Returns false if a check of it failed. */
static bool run_filter(const struct tcase *c, u32 filter)
{
	const struct want *w_end = c + 1 < cases_end ? c[1].wants : wants_end;
	const struct gate *g_end = c + 1 < cases_end ? c[1].gates : gates_end;
	u32 debugctl = DBG_ON | c->debugctl | filter;
	const struct want *w;
	const struct gate *g;

	settle();
	for (g = c->gates; g < g_end; g++) {
		if (c->flags & LEGACY)
			set_gate32(g->vector, g->handler, g->dpl);
		else
			set_gate(g->vector, g->handler, g->dpl);
	}
	for (w = c->wants; w < w_end; w++)
		if (stored(w, debugctl))
			want_add(spoilt(*w, debugctl));
	if (c->setup)
		c->setup();
	if (c->flags & LEGACY) {
		trace32(c->code, debugctl);
		gdt_init();
	} else {
		trace(c->code, debugctl);
	}
	apic_write(APIC_EOI, 0);
	expect_store();
	if (c->check)
		c->check();
	return !test_failed();
}

static void run_case(const struct tcase *c)
{
	static const struct {
		u32 bits;
		const char *says;
	} filters[] = {
		{ 0, "no filter" },
		{ DBG_OFF_OS, "OFF_OS" },
		{ DBG_OFF_USR, "OFF_USR" },
		{ DBG_OFF_OS | DBG_OFF_USR, "both filters" },
	};
	u32 i, n = c->flags & ONCE || !machine.cpl ? 1 : ARRAY_SIZE(filters);
	bool good = true;

	for (i = 0; i < n; i++)
		if (!run_filter(c, filters[i].bits)) {
			print("# the above with %s\n", filters[i].says);
			good = false;
		}
	report(c->text, good);
}

static bool word_is(const char *at, const char *word)
{
	while (*word && *at == *word) {
		at++;
		word++;
	}
	return !*word && (!*at || *at == ' ');
}

struct word {
	const char *says;
	u32 *field;
	u32 value;
};

static const struct word words[] = {
	{ "rule=before", &machine.rule, RULE_BEFORE },
	{ "rule=either", &machine.rule, RULE_EITHER },
	{ "pmi=crossed", &machine.pmi, PMI_CROSSED },
	{ "pmi=equal", &machine.pmi, PMI_EQUAL },
	{ "delay=2", &machine.delay, 2 },
	{ "delay=8", &machine.delay, 8 },
	{ "debugctl", &machine.debugctl, FIRMWARE_DEBUGCTL },
	{ "smi=5", &machine.smi, 5 },
	{ "damage=3", &machine.damage, 3 },
	{ "lbr=8", &machine.lbr, 8 },
	{ "lbr=16", &machine.lbr, 16 },
	{ "lbr=32", &machine.lbr, 32 },
	{ "arch-lbr=16", &machine.arch_lbr, 16 },
	{ "arch-lbr=32", &machine.arch_lbr, 32 },
	{ "amd-lbr=16", &machine.amd_lbr, 16 },
};

struct switch_word {
	const char *says;
	bool *field;
	bool value;
};

static const struct switch_word switches[] = {
	{ "layout=32", &machine.dtes64, false },
	{ "cpl=0", &machine.cpl, false },
	{ "pmu=0", &machine.pmu, false },
	{ "kept", &machine.kept, true },
	{ "jitter", &machine.jitter, true },
	{ "db-clears", &machine.db_clears, true },
	{ "freeze-clears", &machine.freeze_clears, true },
	{ "wrong-from", &machine.wrong_from, true },
	{ "predicts", &machine.predicts, true },
	{ "counts", &machine.counts, true },
	{ "icount", &machine.icount, true },
};

static bool words_have(const char *at, const char *word)
{
	for (; *at; at++)
		if (word_is(at, word))
			return true;
	return false;
}

static void read_words(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (words_have(boot_cmdline, words[i].says))
			*words[i].field = words[i].value;
	for (i = 0; i < ARRAY_SIZE(switches); i++)
		if (words_have(boot_cmdline, switches[i].says))
			*switches[i].field = switches[i].value;
}

static void finish(void)
{
	print("# total records=%u wraps=%u pmis=%u masked=%u full=%u faults=%u", tally.records,
	      tally.wraps, tally.pmis, tally.masked, tally.full, tally.faults);
	if (tally.kept)
		print(" kept=%u", tally.kept);
	if (tally.garbled || tally.dropped)
		print(" garbled=%u dropped=%u", tally.garbled, tally.dropped);
	print("\n");
	if (tally.garbled)
		print("# garbage %x\n", tally.garbage);
	machine_exit();
}

/* For the emulator's abort mode: a store of a record to an unmapped page ends the emulator. */
static void abort_mode(void)
{
	settle();
	*window_pte(BUF) = 0;
	invlpg(BUF);
	chain(1, 0);
	print("Bail out! the machine went on after a store to an unmapped page\n");
	machine_exit();
}

/* For a machine without a Debug Store. */
static void off_mode(void)
{
	u32 a, b, c, d;

	print("1..1\n");
	settle();
	cpuid(1, &a, &b, &c, &d);
	expect(!(d & CPUID_DS), "DS is there");
	expect(!(c & (CPUID_DTES64 | CPUID_DS_CPL)), "DTES64 or DS-CPL is there");
	if (!wrmsr_fault(MSR_DEBUGCTL, DBG_ON))
		chain(3, 0);
	untouched(BUF, WIN + WIN_PAGES * 4096);
	report("no Debug Store unless it is asked for", !test_failed());
	finish();
}

static void run_test(const struct test *t)
{
	settle();
	t->run();
	wrmsr(MSR_DEBUGCTL, 0);
	report(t->text, !test_failed());
}

/* For a machine whose LBRs are not enabled by DEBUGCTL, or that has errata. */
static void run_list(const struct test *list, u32 nr)
{
	u32 i;

	print("1..%u\n", (u64)nr);
	for (i = 0; i < nr; i++)
		run_test(&list[i]);
	finish();
}

/* Returns whether @c cannot run: it needs prompt PMIs, but this machine's PMIs come late. */
static bool needs_prompt_pmi(const struct tcase *c)
{
	return machine.delay && c->debugctl & DBG_BTINT;
}

static void run_all(void)
{
	const struct tcase *c;
	const struct test *t;

	u32 n = tests_end - tests_start;

	for (c = cases_start; c < cases_end; c++)
		n += !needs_prompt_pmi(c);
	print("1..%u\n", (u64)n);
	for (c = cases_start; c < cases_end; c++) {
		if (!needs_prompt_pmi(c))
			run_case(c);
	}
	for (t = tests_start; t < tests_end; t++)
		run_test(t);
	finish();
}

void main(void)
{
	const struct test *errata;
	u32 nr_errata;

	first_debugctl = rdmsr(MSR_DEBUGCTL);
	machine_init();
	read_words();
	nr_errata = errata_tests(&errata);
	print("KTAP version 1\n");
	if (words_have(boot_cmdline, "abort"))
		abort_mode();
	else if (nr_errata)
		run_list(errata, nr_errata);
	else if (words_have(boot_cmdline, "off"))
		off_mode();
	else if (machine.arch_lbr || machine.amd_lbr)
		run_list(lbr_kind_tests, lbr_kind_tests_nr);
	else
		run_all();
}
