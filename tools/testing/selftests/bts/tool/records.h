/* SPDX-License-Identifier: GPL-2.0 */
/* The chunks of a recorded trace, and a loop over its records to compare btstrace's speed with. */
#ifndef BTS_TOOL_RECORDS_H
#define BTS_TOOL_RECORDS_H

#include <stdint.h>
#include <string.h>

#include <asm/bts.h>

/* As in btstrace's chunk.h */
struct chunk {
	uint32_t type;
	uint32_t tid;
	uint64_t len;
};

#define MAGIC		11
#define CHUNK_RECORDS	4

static volatile uint64_t sink;

/* Read each record. Returns the number of records of type X86_BTS_BRANCH. */
static inline unsigned long look_at_records(const unsigned char *bytes, size_t len)
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

#endif
