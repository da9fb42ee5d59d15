// SPDX-License-Identifier: GPL-2.0
/*
 * repeat TRACE TIMES: print a trace in which the records of TRACE come TIMES times. This makes a
 * long trace quickly, while recording by single steps is slow.
 */
#include <stdio.h>
#include <stdlib.h>

#include "records.h"

static unsigned char bytes[1 << 24];

/* Write the chunks of @bytes from @from to @to; unless @all, only those with records. */
static void put(size_t from, size_t to, int all)
{
	struct chunk chunk;

	for (; from < to; from += sizeof(chunk) + chunk.len) {
		memcpy(&chunk, bytes + from, sizeof(chunk));
		if (all || chunk.type == CHUNK_RECORDS)
			fwrite(bytes + from, sizeof(chunk) + chunk.len, 1, stdout);
	}
}

int main(int argc, char **argv)
{
	FILE *file = argc == 3 ? fopen(argv[1], "re") : NULL;
	size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0, at, last = 0;
	int times = argc == 3 ? atoi(argv[2]) : 0;
	struct chunk chunk;

	if (len < MAGIC || len == sizeof(bytes)) {
		fprintf(stderr, "repeat: a trace of less than %zu bytes is needed\n",
			sizeof(bytes));
		return 2;
	}
	for (at = MAGIC; at + sizeof(chunk) <= len; at += sizeof(chunk) + chunk.len) {
		memcpy(&chunk, bytes + at, sizeof(chunk));
		if (chunk.type == CHUNK_RECORDS)
			last = at + sizeof(chunk) + chunk.len;
	}
	fwrite(bytes, MAGIC, 1, stdout);
	put(MAGIC, last, 1);
	while (--times > 0)
		put(MAGIC, last, 0);
	put(last, len, 1);
	return fflush(stdout) ? 2 : 0;
}
