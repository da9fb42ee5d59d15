/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the requests are to return: written from the manual page, so that it
 * knows nothing of how the kernel does it.
 */
#ifndef BTS_STRESS_MODEL_H
#define BTS_STRESS_MODEL_H

#include "stress.h"

#define NO_LIMIT	LONG_MAX
#define SKID		320	/* the room of a ring that stops, beyond its size */

/* Who asks. */
struct who {
	bool capable;		/* all capabilities, of the first user namespace */
	bool userns;		/* all, of one of its own */
	unsigned long limit;	/* in pages */
};

/**
 * struct model - a tracee and its trace
 * @dumpable:	as PR_GET_DUMPABLE of the tracee
 * @foreign:	its memory belongs to the first user namespace
 * @there:	it has a trace
 * @nr:		for that many records
 * @flags:	in force
 * @signal:	likewise
 * @clock:	likewise
 * @source:	likewise
 * @ever:	all flags that were in force
 * @secret:	it may hold what was not dumpable
 * @limit:	for children
 * @capable:	who made it was, for children
 * @not_inherited: as in the status
 * @known:	the next ones are
 * @held:	as in the status
 * @lost:	likewise
 * @overwritten: likewise
 * @gaps:	likewise
 * @next:	likewise
 */
struct model {
	bool dumpable;
	bool foreign;
	bool there;
	uint32_t nr;
	uint32_t flags;
	uint32_t signal;
	uint32_t clock;
	uint32_t source;
	uint32_t ever;
	bool secret;
	unsigned long limit;
	bool capable;
	uint32_t not_inherited;
	bool known;
	uint64_t held;
	uint64_t lost;
	uint64_t overwritten;
	uint32_t gaps;
	uint64_t next;
};

/* One of the states that the rest of the system may have been in. */
struct view {
	uint32_t sysctl;
	int32_t paranoid;
	bool perf;
	unsigned long used;	/* pages charged to the user */
};

/**
 * struct request - a request and what is behind its pointer
 * @nr:		PTRACE_BTS_*, or another number
 * @addr:	the pointer
 * @data:	the size or the index
 * @avail:	how many bytes there can be read, or written
 * @config:	what is there, for CONFIG
 * @read:	what is there, for READ
 * @tail:	an offset of a byte behind that which is not 0; 0 for none
 * @sealed:	what is there cannot be written
 * @out:	where what is told goes, @addr but for READ
 * @out_avail:	how many bytes there can be written
 */
struct request {
	int nr;
	unsigned long addr;
	unsigned long data;
	unsigned long avail;
	struct ptrace_bts_config config;
	struct ptrace_bts_read read;
	unsigned long tail;
	bool sealed;
	unsigned long out;
	unsigned long out_avail;
};

/* What a request may return: single numbers, and a range. */
struct answer {
	long value[12];
	int nr;
	long first, last;
};

/* PTRACE_BTS_SOURCE_* that a trace gets which asks for @source; 0 if it is refused */
uint32_t model_source(uint32_t source);
unsigned long model_pages(uint32_t nr, uint32_t flags);
unsigned long model_room(const struct model *m);
/* The running number of the first record that READ gets from @first on */
uint64_t model_from(const struct model *m, uint64_t first);
void answer_add(struct answer *a, long value);
bool answer_has(const struct answer *a, long value);
/* What @who may be told for @r in that state */
void model_expect(const struct model *m, const struct who *who, const struct view *v,
		  const struct request *r, struct answer *a);
/* ... and what it changes */
void model_apply(struct model *m, const struct who *who, const struct request *r, long ret);
bool model_readable(const struct model *m, const struct who *who);
/* perf is refused while this trace has the hardware. */
bool model_holds(const struct model *m);
/* This trace loses the hardware to perf. */
bool model_yields(const struct model *m);
/* What a child of @parent gets, @m; true if it has a trace */
bool model_inherit(const struct model *parent, const struct view *v, struct model *m);
bool model_record_valid(const struct model *m, const struct x86_bts_record *rec, pid_t pid);

#endif /* BTS_STRESS_MODEL_H */
