// SPDX-License-Identifier: GPL-2.0
/*
 * A claim of BTS by ds_claim_bts(NULL) and perf's use of BTS exclude each other: the second user
 * gets -EBUSY. Events that do not need BTS are not affected. The module ds_test makes the claims.
 *
 * claims exclude     open events before, during and after a claim
 * claims beside      events during a claim must not change the Debug Store
 * claims recording   events during a claim must not stop BTS; the end of the claim must
 * claims pmi         perf must not handle an NMI that is not perf's
 */
#include <sys/sysinfo.h>

#include "store.h"

static const struct {
	enum kind kind;
	int err;
} against_claim[] = {
	{ CYCLES, 0 },
	{ PERIOD1, -EBUSY },
	{ AUX, -EBUSY },
};

static void check(int err, int want, const char *what, const char *kind)
{
	ok(err == want, "%s %s: %s", kind, what, want ? strerror(-want) : "allowed");
	if (err != want)
		printf("# it was: %s\n", strerror(-err));
}

/* Open an event before, during and after a claim. The second user must get @want (0: no error). */
static void exclude_kind(enum kind kind, int want, pid_t pid, int cpu)
{
	const char *name = kind_name[kind];
	struct trace trace;

	check(trace_open(&trace, kind, pid, cpu), 0, "without a claim", name);
	check(try_text(CLAIM_KNOB, "1"), want, "before a claim", name);
	trace_close(&trace);
	if (want)
		check(try_text(CLAIM_KNOB, "1"), 0, "closed before a claim", name);
	check(trace_open(&trace, kind, pid, cpu), want, "after a claim", name);
	trace_close(&trace);
	check(try_text(CLAIM_KNOB, "0"), 0, "at the end of a claim", name);
	check(trace_open(&trace, kind, pid, cpu), 0, "after the end of a claim", name);
	trace_close(&trace);
}

static void exclude(void)
{
	unsigned int i;

	check(try_text(CLAIM_KNOB, "0"), -ENXIO, "ended without a claim", "nothing");
	for (i = 0; i < sizeof(against_claim) / sizeof(against_claim[0]); i++) {
		if (!kind_exists(against_claim[i].kind))
			continue;
		exclude_kind(against_claim[i].kind, against_claim[i].err, 0, -1);
		exclude_kind(against_claim[i].kind, against_claim[i].err, -1, 0);
	}
	check(try_text(CLAIM_KNOB, "1"), 0, "first", "claim");
	check(try_text(CLAIM_KNOB, "1"), -EBUSY, "second", "claim");
	ok(areas_are(true), "a claim loads DS_AREA");
	check(try_text(CLAIM_KNOB, "0"), 0, "ended", "claim");
	ok(areas_are(false), "the end of a claim clears DS_AREA");
}

/* Open and close events of perf, none of which uses BTS, several times on each CPU. */
static void perf_comes_and_goes(void)
{
	int cpu, cpus = get_nprocs(), round;
	struct trace trace;

	for (round = 0; round < 5; round++) {
		for (cpu = 0; cpu < cpus; cpu++) {
			if (trace_open(&trace, CYCLES, -1, cpu))
				give_up("cycles on CPU %d", cpu);
			trace_close(&trace);
		}
		if (try_text(WATCHDOG_KNOB, "1") || try_text(WATCHDOG_KNOB, "0"))
			give_up(WATCHDOG_KNOB);
	}
}

static void beside(void)
{
	static char before[4096], after[4096];

	ok(!try_text(CLAIM_KNOB, "1"), "claim");
	read_text(CLAIM_KNOB, before, sizeof(before));
	perf_comes_and_goes();
	ok(areas_are(true), "DS_AREA stays loaded");
	read_text(CLAIM_KNOB, after, sizeof(after));
	ok(!strcmp(before, after), "positions and buffers stay as they were");
	if (strcmp(before, after))
		printf("# was %s# is %s", before, after);
	ok(!try_text(CLAIM_KNOB, "0"), "the claim ends");
	ok(areas_are(false), "nobody is left: DS_AREA is cleared");
}

static bool all_record(bool on)
{
	int cpu, cpus = get_nprocs();

	for (cpu = 0; cpu < cpus; cpu++) {
		if (!(read_debugctl(cpu) & DEBUGCTL_BTS_BITS) == on)
			return false;
	}
	return true;
}

static void recording(void)
{
	long long records;

	ok(!try_text(CLAIM_KNOB, "2"), "claim and record");
	ok(all_record(true), "BTS is on, on each CPU");
	records = bts_counter("records");
	perf_comes_and_goes();
	ok(all_record(true), "BTS stays on");
	ok(bts_counter("records") > records, "there are new records");
	ok(bts_counter("faults") == 0, "and each went into the buffer");
	ok(!try_text(CLAIM_KNOB, "0"), "the claim ends");
	ok(all_record(false), "the end of the claim stops BTS");
	records = bts_counter("records");
	perf_comes_and_goes();
	ok(bts_counter("records") == records, "perf does not start BTS again");
}

/*
 * At the claim, ds_test sets the index of the buffer beyond the threshold, as at a PMI of BTS. perf
 * has an event, but must not handle the NMI: the kernel must report an unknown NMI.
 */
static void pmi(void)
{
	struct trace trace;

	ok(!try_text(CLAIM_KNOB, "1"), "claim");
	ok(!trace_open(&trace, CYCLES, 0, -1), "an event beside it");
	ok(!hmp("nmi", NULL, 0), "an NMI that is nobody's");
	trace_close(&trace);
	ok(!try_text(CLAIM_KNOB, "0"), "the claim ends");
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{ "exclude", exclude },
		{ "beside", beside },
		{ "recording", recording },
		{ "pmi", pmi },
	};
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	keep_perf_on();
	for (i = 0; argc == 2 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strcmp(argv[1], parts[i].name)) {
			parts[i].run();
			return finish();
		}
	}
	fprintf(stderr, "usage: %s exclude|beside|recording|pmi\n", argv[0]);
	return 2;
}
