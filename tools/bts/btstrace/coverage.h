/* SPDX-License-Identifier: GPL-2.0 */
/* Finds which code was executed, and how often. */
#ifndef BTSTRACE_COVERAGE_H
#define BTSTRACE_COVERAGE_H

#include "session.h"

/*
 * struct bt_block - a piece of code that was executed without a taken branch in between
 * @start:	its offset in the module
 * @size:	in bytes; 0 in a free slot
 * @module:	the ID of the module
 * @times:	how often it was executed
 */
struct bt_block {
	u32 start;
	u16 size;
	u16 module;
	u64 times;
};

/*
 * struct coverage - a hash table of the blocks that were executed, with 2^bits slots
 * @nr: the number of blocks
 * @max: the limit of @nr
 * @full: more blocks were executed than @max; the others are missing
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
void coverage_ended_at(struct coverage *c, struct bt_thread *t, u64 addr);
void coverage_exit(struct bt_thread *t);
const struct bt_module **coverage_modules(u32 *n);

#endif
