/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model: what each request must return. It follows the manual page. Where the page does not
 * tell enough, for example about SKID, the model follows the kernel's code.
 */
#ifndef BTS_STRESS_MODEL_H
#define BTS_STRESS_MODEL_H

#include "stress.h"

#define NO_LIMIT	LONG_MAX
#define SKID		320	/* records that a trace with STOP_FULL may hold beyond its size */

/* The caller of a request. */
struct who {
	bool capable;		/* all capabilities in the initial user namespace */
	bool userns;		/* all capabilities in a user namespace of its own */
	unsigned long limit;	/* of the memory for traces, in pages, or NO_LIMIT */
};

/**
 * struct model - a tracee and its trace
 * @dumpable:	whether the tracee is dumpable
 * @foreign:	its memory belongs to the initial user namespace, not to the tracer's own; only used
 *		for a tracer with who.userns
 * @there:	it has a trace
 * @nr:		size of the trace in records
 * @flags:	flags of the trace
 * @signal:	signal of the trace
 * @clock:	clock of the trace
 * @source:	source of the trace
 * @ever:		all flags that the trace has had
 * @secret:	it may hold records of a program that the tracer was not allowed to read
 * @limit:	limit of the tracer that made the trace, in pages; inherited traces keep it
 * @capable:	whether that tracer has all capabilities
 * @not_inherited: as in the status
 * @known:	the fields below have the kernel's values; false if the kernel's may have changed
 * @held:		as in the status
 * @lost:		as in the status
 * @overwritten:	as in the status
 * @gaps:		as in the status
 * @next:		as in the status
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

/* One of the states in which the rest of the system may be during a request. */
struct view {
	uint32_t sysctl;
	int32_t paranoid;
	bool perf;
	unsigned long used;	/* pages charged to the user */
};

/**
 * struct request - a request and the memory at its pointer
 * @nr:		PTRACE_BTS_*, or another number
 * @addr:		the pointer
 * @data:		the size or the index
 * @avail:	number of bytes at @addr that the kernel can access for this request
 * @config:	the contents of @addr, for CONFIG
 * @read:		the contents of @addr, for READ
 * @tail:		offset of a byte that is not 0 and lies behind the structure; 0 for none
 * @sealed:	for READ: the memory at @addr is read-only
 * @out:		where the kernel stores records or a status: @addr except for READ
 * @out_avail:	like @avail, but for @out; 0 if @sealed
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

/* All values that a request may return: @nr single ones, and @first to @last if @first < @last. */
struct answer {
	long value[12];
	int nr;
	long first, last;
};

/* Returns the PTRACE_BTS_SOURCE_* of a new trace that asks for @source, or 0 if it is refused. */
uint32_t model_source(uint32_t source);
unsigned long model_pages(uint32_t nr, uint32_t flags);
unsigned long model_room(const struct model *m);
/* Returns the number of the first record that a READ from @first on returns. */
uint64_t model_from(const struct model *m, uint64_t first);
void answer_add(struct answer *a, long value);
bool answer_has(const struct answer *a, long value);
/* Add to @a all values that @r may return if @who makes it while the system is in the state @v. */
void model_expect(const struct model *m, const struct who *who, const struct view *v,
		  const struct request *r, struct answer *a);
/* Apply to @m the changes by a request that has returned @ret. */
void model_apply(struct model *m, const struct who *who, const struct request *r, long ret);
bool model_readable(const struct model *m, const struct who *who);
/* Returns whether there is a trace and the hardware records it. */
bool model_by_hardware(const struct model *m);
/* Returns whether this trace owns the hardware and perf cannot take the hardware from it. */
bool model_holds(const struct model *m);
/* Returns whether perf can take the hardware from this trace. */
bool model_yields(const struct model *m);
/* Set @m for a child of @parent. Returns whether the child has a trace. */
bool model_inherit(const struct model *parent, const struct view *v, struct model *m);
bool model_record_valid(const struct model *m, const struct x86_bts_record *rec, pid_t pid);

#endif /* BTS_STRESS_MODEL_H */
