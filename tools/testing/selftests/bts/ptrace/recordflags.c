// SPDX-License-Identifier: GPL-2.0
/*
 * The flags of records: X86_BTS_F_UNRELIABLE for an erratum of the processor, and
 * X86_BTS_F_MISPREDICTED on processors that tell whether they predicted the branch correctly.
 *
 *   recordflags [none|all|predicts]	all: expect X86_BTS_F_UNRELIABLE in each branch, entry
 *		and exit; predicts: expect X86_BTS_F_MISPREDICTED in branches forwards;
 *		none, the default: expect neither
 */
#include <string.h>

#include "../guest/tracee.h"

#define ROUNDS	100
#define FULL	10000	/* more branches than the hardware's buffer can hold */

/*
 * Check that there are records of @type. If @flagged, all of them must have X86_BTS_F_UNRELIABLE.
 * If not, none may have it.
 */
static void check_unreliable(const struct trace *t, unsigned int type, bool flagged,
			     const char *name)
{
	size_t i, with = 0;

	for (i = 0; i < t->nr; i++)
		with += t->rec[i].type == type && t->rec[i].flags & X86_BTS_F_UNRELIABLE;
	ok(trace_count(t, type) && with == (flagged ? trace_count(t, type) : 0),
	   "%s: %zu records, %zu flagged", name, trace_count(t, type), with);
}

/* The emulated processor (x-bts-predicts) reports each branch forwards as mispredicted. */
static bool is_mispredicted(const struct x86_bts_record *rec)
{
	return rec->type == X86_BTS_BRANCH && rec->branch.to > rec->branch.from;
}

static void check_mispredicted(const struct trace *t, bool predicts)
{
	size_t i, with = 0, wrong = 0;

	for (i = 0; i < t->nr; i++) {
		bool flagged = t->rec[i].flags & X86_BTS_F_MISPREDICTED;

		with += flagged;
		wrong += flagged != (predicts && is_mispredicted(&t->rec[i]));
	}
	ok(!wrong && (with && with < t->nr) == predicts,
	   "%zu of %zu records mispredicted, %zu of them wrongly", with, t->nr, wrong);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "none";
	bool all = !strcmp(mode, "all"), predicts = !strcmp(mode, "predicts");
	struct tracee t = tracee_new();
	struct trace got = {};
	uint32_t told = 0;

	if (all)
		told = X86_BTS_F_UNRELIABLE;
	else if (predicts)
		told = X86_BTS_F_MISPREDICTED;

	/* FULL branches cause PMIs, at which the kernel learns whether predictions are reported. */
	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(1000), 0))
		give_up("no trace");
	tracee_do(&t, known_work, FULL);
	if (bts_config(t.pid, TRACE | ENTRY | ALLOC, RECORDS(1000), 0))
		give_up("no trace");
	tracee_do(&t, known_work, ROUNDS);
	trace_drain(t.pid, &got, 1000);
	check_unreliable(&got, X86_BTS_BRANCH, all, "branches");
	check_unreliable(&got, X86_BTS_ENTER, all, "ways into the kernel");
	check_unreliable(&got, X86_BTS_LEAVE, all, "ways out");
	check_mispredicted(&got, predicts);
	ok(bts_status(t.pid).record_flags == told, "and the status says so");
	trace_free(&got);
	tracee_end(&t);
	return finish();
}
