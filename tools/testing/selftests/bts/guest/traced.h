/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code with known branches; events of perf that record branches, also on the stock kernel; and the
 * comparison of the records with the known branches.
 */
#ifndef BTS_GUEST_TRACED_H
#define BTS_GUEST_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/perf_event.h>

#include "system.h"

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct rec {
	u64 from;
	u64 to;
};

struct recs {
	struct rec *rec;
	size_t nr;
	size_t room;
};

void recs_add(struct recs *recs, u64 from, u64 to);
void recs_free(struct recs *recs);

/*
 * sequence.S: enables the event of perf or the trace of /dev/bts_lab that @fd is a file of, calls
 * fn(arg), and disables the event or trace. Returns 0, or less if enabling or disabling failed.
 */
long traced_call(int fd, void (*fn)(void *arg), void *arg);
extern const char traced_call_site[], traced_call_back[];

/* sequence.S: branches of many kinds. The assembler makes the list of their records. */
void sequence(void *arg);
extern const struct rec sequence_records[], sequence_records_end[];

/*
 * generate.c: a program of random branches. Most conditions depend on a random number generator,
 * which the program steps while it runs. program_run() runs the program by traced_call(@fd).
 * program_replay() appends the records of such a run to @out.
 */
struct program;

struct program *program_new(u64 seed, unsigned int blocks);
void program_free(struct program *p);
void program_run(struct program *p, int fd, u64 seed, unsigned int passes);
void program_replay(const struct program *p, u64 seed, unsigned int passes,
		    struct recs *out);

/* source.c: an event of perf that samples each branch, or an intel_bts event with its AUX area. */
enum source_kind { SOURCE_PERIOD1, SOURCE_AUX };

struct source {
	enum source_kind kind;
	int fd;
	struct perf_event_mmap_page *ring;
	size_t ring_size;
	u8 *aux;
	size_t aux_size;
};

int intel_bts_type(void);
/*
 * Open a disabled event of the calling thread, for user mode, with room for @room records. Returns
 * 0 or -errno.
 */
int source_open(struct source *s, enum source_kind kind, size_t room);
void source_close(struct source *s);
/* Append all records with two user addresses to @out. Returns false if records were lost. */
bool source_collect(struct source *s, struct recs *out);

/* Returns whether the records are the same. Prints the first difference. */
bool same_records(const struct recs *got, const struct recs *want);

#endif
