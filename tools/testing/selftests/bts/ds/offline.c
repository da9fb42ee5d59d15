// SPDX-License-Identifier: GPL-2.0
/*
 * The last CPU repeatedly goes offline and online, while BTS records for events of perf or for a
 * claim (ds_claim_bts()). Run this program in an emulator that ends if the CPU stores a record
 * without a buffer.
 *
 * offline perf|claim ROUNDS
 */
#include <sys/sysinfo.h>

#include "store.h"

static char online[64];
static int last;

static void switch_last(bool on)
{
	if (!write_text(online, on ? "1" : "0"))
		give_up("%s", online);
}

static bool bts_on(int cpu)
{
	return read_debugctl(cpu) & DEBUGCTL_BTS_BITS;
}

static void off_and_on(int rounds, bool *loaded)
{
	*loaded = true;
	while (rounds--) {
		switch_last(false);
		switch_last(true);
		*loaded &= areas_are(true);
	}
}

/*
 * Trace a task that may run anywhere, and a task that is bound to the last CPU until that CPU first
 * goes offline.
 */
static void of_tasks(enum kind kind, int rounds)
{
	pid_t anywhere = start_spinner(-1), bound = start_spinner(last);
	long long records = bts_counter("records");
	struct trace trace[2];
	bool loaded;

	ok(!trace_open(&trace[0], kind, anywhere, -1) && !trace_open(&trace[1], kind, bound, -1),
	   "%s of tasks opens", kind_name[kind]);
	off_and_on(rounds, &loaded);
	ok(loaded, "%s of tasks: DS_AREA is loaded after each online", kind_name[kind]);
	ok(bts_counter("records") > records, "%s of tasks: recorded", kind_name[kind]);
	trace_close(&trace[0]);
	trace_close(&trace[1]);
	end_spinner(anywhere);
	end_spinner(bound);
}

/* Open an event of the CPU that goes offline, and an event of CPU 0. */
static void of_cpus(enum kind kind, int rounds)
{
	bool opened = true, loaded = true, once;
	pid_t spinner = start_spinner(-1);
	struct trace goes, stays;

	opened = !trace_open(&stays, kind, -1, 0);
	while (rounds--) {
		opened &= !trace_open(&goes, kind, -1, last);
		off_and_on(1, &once);
		loaded &= once;
		trace_close(&goes);
	}
	trace_close(&stays);
	ok(opened, "%s of CPUs opens", kind_name[kind]);
	ok(loaded, "%s of CPUs: DS_AREA is loaded after each online", kind_name[kind]);
	end_spinner(spinner);
}

/* The event is closed while a CPU is offline: that CPU must come online with DS_AREA 0, BTS off. */
static void missed_the_end(enum kind kind, int rounds)
{
	pid_t spinner = start_spinner(-1);
	bool cleared = true, opened = true;
	struct trace trace;

	while (rounds--) {
		opened &= !trace_open(&trace, kind, spinner, -1);
		switch_last(false);
		trace_close(&trace);
		switch_last(true);
		cleared &= areas_are(false) && !bts_on(last);
	}
	ok(opened, "%s opens again", kind_name[kind]);
	ok(cleared, "%s: DS_AREA is cleared and BTS off on a CPU that missed the end",
	   kind_name[kind]);
	end_spinner(spinner);
}

/* The records from before the CPU went offline must stay in perf's buffer. */
static void keeps_its_records(void)
{
	pid_t spinner = start_spinner(last);
	unsigned int i, empty = 0, nr = AUX_SIZE / 24, tries = 500;
	const volatile uint64_t *word;
	struct trace trace;

	ok(!trace_open(&trace, AUX_USER, -1, last), "%s of a CPU opens", kind_name[AUX_USER]);
	word = trace.aux;
	/* Wait until the buffer is full. */
	while (word && !word[3 * (nr - 1)] && tries--)
		usleep(10000);
	switch_last(false);
	for (i = 0; word && i < nr; i++)
		empty += !word[3 * i] && !word[3 * i + 1];
	ok(word && !empty, "%s: of %u records %u are gone with the CPU", kind_name[AUX_USER], nr,
	   empty);
	switch_last(true);
	trace_close(&trace);
	end_spinner(spinner);
}

static void with_claim(int rounds)
{
	bool loaded = true, off = true, rest = true;
	int i, cpu;

	ok(!try_text(CLAIM_KNOB, "2"), "claim and record");
	for (i = 0; i < rounds; i++) {
		switch_last(false);
		switch_last(true);
		loaded &= areas_are(true);
		off &= !bts_on(last);
		for (cpu = 0; cpu < last; cpu++)
			rest &= bts_on(cpu);
	}
	ok(loaded, "DS_AREA is loaded after each online");
	ok(off, "BTS is off on the CPU that was offline");
	ok(rest, "and on everywhere else");
	switch_last(false);
	ok(!try_text(CLAIM_KNOB, "0"), "the end of the claim, a CPU being offline");
	switch_last(true);
	ok(areas_are(false) && !bts_on(last), "it comes up with nothing loaded");
	ok(bts_counter("faults") == 0, "each record went into a buffer");
}

int main(int argc, char *argv[])
{
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	enum kind kind;

	if (rounds < 1 || (strcmp(argv[1], "perf") && strcmp(argv[1], "claim"))) {
		fprintf(stderr, "usage: %s perf|claim ROUNDS\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	last = get_nprocs() - 1;
	keep_perf_on();
	if (!last) {
		printf("Bail out! one CPU cannot go offline: give smp=2\n");
		return 1;
	}
	snprintf(online, sizeof(online), "/sys/devices/system/cpu/cpu%d/online", last);
	if (!strcmp(argv[1], "claim")) {
		with_claim(rounds);
		return finish();
	}
	for (kind = PERIOD1; kind <= AUX; kind++) {
		if (!kind_exists(kind))
			continue;
		of_tasks(kind, rounds);
		of_cpus(kind, rounds);
		missed_the_end(kind, rounds);
	}
	if (kind_exists(AUX_USER))
		keeps_its_records();
	ok(bts_counter("faults") == 0, "each record went into a buffer");
	return finish();
}
