// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how many instructions per branch it takes to show a recorded trace in MODE or, with
 * `live`, to trace and show in MODE. For comparison: a loop in C over the records, and perf script
 * on branches that perf has recorded.
 *
 *   toolread BTSTRACE RECORD loop|MODE|live MODE|perf
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "../guest/measure.h"
#include "records.h"
#include "run.h"

#define TRACE	"/tmp/trace"
#define ROUNDS	"100000"
#define PERF	"/usr/bin/perf"
#define PERF_RECORD	PERF " record --per-thread -m 1M,16M"

static unsigned long look(uint64_t *cost)
{
	unsigned long branches;
	unsigned char *bytes;
	struct stat st;
	uint64_t begin;
	int fd = open(TRACE, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		fail("no trace");
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (bytes == MAP_FAILED)
		fail("the trace cannot be mapped");
	begin = instructions();
	branches = look_at_records(bytes, st.st_size);
	*cost = instructions() - begin;
	return branches;
}

static uint64_t cost_of(const char *line)
{
	uint64_t begin = instructions();
	struct run r = run(line);

	if (!exited(&r, 0))
		fail("%s: status %#x: %.200s", line, r.status, r.err);
	run_free(&r);
	return instructions() - begin;
}

/* Returns how many instructions per branch perf script takes to print what perf has recorded. */
static double cost_of_perf(void)
{
	unsigned long told;
	uint64_t cost;
	struct run r;

	r = run(PERF_RECORD " -e intel_bts//u -o /tmp/perf.data /bt/walk loop " ROUNDS);
	if (!exited(&r, 0))
		fail("perf record: status %#x: %.200s", r.status, r.err);
	run_free(&r);
	cost = instructions();
	r = run(PERF " script -i /tmp/perf.data --itrace=b -F ip,addr");
	cost = instructions() - cost;
	told = count(r.err, " => ");
	if (!exited(&r, 0) || told < 200000)
		fail("perf script: status %#x, %lu branches only", r.status, told);
	run_free(&r);
	return (double)cost / told;
}

int main(int argc, char **argv)
{
	unsigned long branches;
	char line[128];
	uint64_t cost;

	if (argc < 4)
		fail("give btstrace, record and a mode");
	run_init(argc, argv);
	if (!strcmp(argv[3], "perf")) {
		report(cost_of_perf());
		return 0;
	}
	cost_of("$b -q -c -o /dev/null -w " TRACE " /bt/walk loop " ROUNDS);
	branches = look(&cost);
	if (branches < 200000)
		fail("%lu branches only", branches);
	if (!strcmp(argv[3], "live") && argc > 4) {
		snprintf(line, sizeof(line), "$b -q %s -o /dev/null /bt/walk loop " ROUNDS,
			 argv[4]);
		cost = cost_of(line);
	} else if (strcmp(argv[3], "loop")) {
		snprintf(line, sizeof(line), "$b %s -o /dev/null -r " TRACE, argv[3]);
		cost = cost_of(line);
	}
	report((double)cost / branches);
	return 0;
}
