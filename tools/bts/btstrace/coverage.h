/* SPDX-License-Identifier: GPL-2.0 */
/* This header is for the code that was executed, and how often. */
#ifndef BTSTRACE_COVERAGE_H
#define BTSTRACE_COVERAGE_H

#include "session.h"

/*
 * struct bt_block - instructions that were executed one after the other
 * @start:	from the beginning of the module
 * @size:	in bytes; 0 in a slot that is free
 * @module:	its ID
 * @times:	how often
 */
struct bt_block {
	u32 start;
	u16 size;
	u16 module;
	u64 times;
};

/*
 * struct coverage - blocks, each once, in a hash table of 2^bits
 * @nr: the number of blocks
 * @max: the most that there may be
 * @full: there were more
 */
struct coverage {
	struct bt_block	*block;
	int		bits;
	size_t		nr;
	size_t		max;
	bool		full;
};

struct coverage *coverage_new(const struct bt_session *s);
void coverage_free(struct bt_session *s);
void coverage_branch(struct coverage *c, const struct bt_branch *b);
void coverage_last(struct coverage *c, struct bt_thread *t, u64 addr);
void coverage_exit(struct bt_thread *t);
const struct bt_module **coverage_modules(u32 *n);

#endif
