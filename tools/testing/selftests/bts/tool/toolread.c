// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs to show a recorded trace in one of the modes, or to trace in it, for
 * each branch; beside that, what a loop in C over the records costs.
 *
 *   toolread BTSTRACE RECORD loop|MODE|live MODE
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <asm/bts.h>

#include "../guest/guest.h"
#include "../measure/measure.h"
#include "run.h"

#define TRACE	"/tmp/trace"
#define ROUNDS	"100000"

/* As in btstrace's chunk.h */
struct chunk {
	uint32_t type;
	uint32_t tid;
	uint64_t len;
};

#define MAGIC		11
#define CHUNK_RECORDS	4

static volatile uint64_t sink;

/* Look at each record. Returns how many branches there are. */
static unsigned long loop(const unsigned char *bytes, size_t len)
{
	const struct x86_bts_record *rec;
	unsigned long branches = 0;
	struct chunk chunk;
	uint64_t sum = 0;
	size_t at, i;

	for (at = MAGIC; at + sizeof(chunk) <= len; at += sizeof(chunk) + chunk.len) {
		memcpy(&chunk, bytes + at, sizeof(chunk));
		if (chunk.type != CHUNK_RECORDS)
			continue;
		rec = (const void *)(bytes + at + sizeof(chunk));
		for (i = 0; i < chunk.len / sizeof(*rec); i++) {
			branches += rec[i].type == X86_BTS_BRANCH;
			sum ^= rec[i].branch.from ^ rec[i].branch.to;
		}
	}
	sink = sum;
	return branches;
}

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
	branches = loop(bytes, st.st_size);
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

int main(int argc, char **argv)
{
	unsigned long branches;
	char line[128];
	uint64_t cost;

	if (argc < 4)
		fail("give btstrace, record and a mode");
	run_init(argc, argv);
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
