// SPDX-License-Identifier: GPL-2.0
/*
 * Record branches that are known in advance, with events of perf: the records with two addresses of
 * user mode must be exactly the expected ones.
 *
 *   known period1|aux [RECORDS [singlestep]]
 *
 * The test generates programs until they have made RECORDS records, 200000 by default. With
 * singlestep, the emulator translates one instruction at a time.
 */
#include "../guest/traced.h"
#include "../guest/guest.h"
#include "../guest/system.h"

#define BLOCKS		2000
#define WINDOW		65536

static enum source_kind kind;

static bool run_window(struct recs *want, void (*run)(int fd, void *arg),
		       void *arg)
{
	struct recs got = { };
	struct source s;
	bool good;
	int ret;

	/* AUX also has records of system calls and interrupts, which @want lacks: leave room. */
	ret = source_open(&s, kind, want->nr + want->nr / 4 + 4096);
	if (ret) {
		printf("# perf_event_open: %s\n", strerror(-ret));
		return false;
	}
	run(s.fd, arg);
	good = source_collect(&s, &got);
	if (!good)
		printf("# the kernel reports records as lost\n");
	good = same_records(&got, want) && good;
	source_close(&s);
	recs_free(&got);
	return good;
}

static void run_sequence(int fd, void *arg)
{
	traced_call(fd, sequence, arg);
}

static bool test_sequence(void)
{
	const struct rec *rec = sequence_records;
	struct recs want = { };
	bool good;

	recs_add(&want, (u64)traced_call_site, (u64)sequence);
	for (; rec != sequence_records_end; rec++)
		recs_add(&want, rec->from, rec->to);
	good = run_window(&want, run_sequence, NULL);
	printf("# %zu records\n", want.nr);
	recs_free(&want);
	return good;
}

struct generated {
	struct program *program;
	u64 seed;
	unsigned int passes;
};

static void run_generated(int fd, void *arg)
{
	struct generated *g = arg;

	program_run(g->program, fd, g->seed, g->passes);
}

static bool test_generated(u64 seed, size_t *nr)
{
	struct generated g = { .seed = ~seed };
	struct recs want = { };
	bool good;

	g.program = program_new(seed, BLOCKS);
	if (!g.program)
		return false;
	/* Choose the number of passes so that a trace has about WINDOW records. */
	program_replay(g.program, g.seed, 1, &want);
	g.passes = WINDOW / want.nr;
	recs_free(&want);
	program_replay(g.program, g.seed, g.passes, &want);
	good = run_window(&want, run_generated, &g);
	*nr += want.nr;
	recs_free(&want);
	program_free(g.program);
	return good;
}

int main(int argc, char **argv)
{
	long nmis = interrupts("NMI");
	size_t nr = 0, goal = 200000;
	bool good = true;
	u64 seed;

	kind = argc > 1 && !strcmp(argv[1], "aux") ? SOURCE_AUX : SOURCE_PERIOD1;
	if (argc > 2)
		goal = strtoul(argv[2], NULL, 0);
	plan(4);
	/* Turn on the emulator's single-stepping only now: it would make booting slower. */
	if (argc > 3 && !strcmp(argv[3], "singlestep"))
		hmp("singlestep on", NULL, 0);
	ok(test_sequence(), "sequence known to the assembler");
	for (seed = 1; nr < goal && good; seed++)
		good = test_generated(seed, &nr);
	printf("# %zu records\n", nr);
	ok(good, "generated branches");
	nmis = interrupts("NMI") - nmis;
	/*
	 * The buffer of a period-1 event has room for 2730 records, and causes a PMI before it is
	 * full. Context switches drain the buffer, too: expect at least one PMI for two full
	 * buffers. The buffer of AUX is larger, and the number of its PMIs is not checked.
	 */
	printf("# %ld NMIs\n", nmis);
	ok(kind == SOURCE_AUX || nmis >= (long)nr / 2730 / 2, "PMIs came as NMIs");
	printf("# machine: %lld records, %lld wraps, %lld full, %lld faults\n",
	       bts_counter("records"), bts_counter("wraps"), bts_counter("full"),
	       bts_counter("faults"));
	ok(bts_counter("records") >= (long long)nr && !bts_counter("wraps") &&
	   !bts_counter("full") && !bts_counter("faults"),
	   "counters of the machine");
	return finish();
}
