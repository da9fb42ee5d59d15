// SPDX-License-Identifier: GPL-2.0
/*
 * When the last event for which perf allocates the Debug Store is closed, the kernel must set
 * DS_AREA to 0.
 *
 * area cleared|left: cleared: a kernel that does so; left: the stock kernel, which does not
 */
#include "store.h"

static void check_kind(enum kind kind, bool cleared)
{
	struct trace trace;
	int err;

	err = trace_open(&trace, kind, 0, -1);
	if (!ok(!err, "%s: opens (%s)", kind_name[kind], strerror(-err)))
		return;
	ok(areas_are(true), "%s: DS_AREA is loaded on each CPU", kind_name[kind]);
	trace_close(&trace);
	if (cleared)
		ok(areas_are(false), "%s: DS_AREA is cleared on each CPU", kind_name[kind]);
	else
		ok(areas_are(true), "%s: DS_AREA is left behind", kind_name[kind]);
}

int main(int argc, char *argv[])
{
	struct trace two[2];
	enum kind kind;
	bool cleared;

	if (argc != 2 || (strcmp(argv[1], "cleared") && strcmp(argv[1], "left"))) {
		fprintf(stderr, "usage: %s cleared|left\n", argv[0]);
		return 2;
	}
	cleared = !strcmp(argv[1], "cleared");
	setvbuf(stdout, NULL, _IOLBF, 0);
	keep_perf_on();
	for (kind = 0; kind < NR_KINDS; kind++) {
		if (kind_exists(kind))
			check_kind(kind, cleared);
	}

	ok(!trace_open(&two[0], CYCLES, 0, -1) && !trace_open(&two[1], PERIOD1, 0, -1),
	   "two events open");
	trace_close(&two[0]);
	ok(areas_are(true), "DS_AREA stays loaded for the second event");
	trace_close(&two[1]);
	ok(areas_are(!cleared), "DS_AREA after the second event");
	return finish();
}
