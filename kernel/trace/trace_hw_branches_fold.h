/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Last branches as lines that a reader can follow. The kernel and
 * tools/tracing/hw-branches build the same code.
 */
#ifndef _TRACE_HW_BRANCHES_FOLD_H
#define _TRACE_HW_BRANCHES_FOLD_H

#ifdef __KERNEL__
#include <linux/hw_branches.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

struct hw_branch {
	u64	from;
	u64	to;
};

enum hw_branch_kind {
	HW_BRANCH_OTHER,
	HW_BRANCH_JUMP,
	HW_BRANCH_CALL,
	HW_BRANCH_RETURN,
	HW_BRANCH_ENTRY,
	HW_BRANCH_EXIT,
	HW_BRANCH_BREAK,
};
#endif

/**
 * struct hw_branches_reader - where branches come from
 * @get:	the branch behind @nr newer ones, false if there is none
 * @kind:	of what kind a branch is; where it is a call, @back is where that returns
 *		to, where it is an exception or interrupt, what that interrupted
 * @is_thunk:	is this in the code through which returns and indirect calls go?
 * @is_return:	is it what returns go through?
 * @progress:	is called for each line that is looked at in advance; may be NULL
 */
struct hw_branches_reader {
	bool			(*get)(void *data, u32 nr, struct hw_branch *branch);
	enum hw_branch_kind	(*kind)(void *data, const struct hw_branch *branch, u64 *back);
	bool			(*is_thunk)(void *data, u64 address);
	bool			(*is_return)(void *data, u64 address);
	void			(*progress)(void *data);
};

/**
 * struct hw_branches_line - one line
 * @branch:	a branch; where @inside is not 0, the call
 * @kind:	its kind
 * @inside:	so many branches the call took that has returned, its own and the return
 *		among them, in all repeats of the line
 * @records:	so many recorded branches the line stands for
 * @depth:	of the code that branched, relative to where the walk began: -1 is a caller
 * @lines:	so many lines, this the last of them, ...
 * @times:	... come so often in a row
 */
struct hw_branches_line {
	struct hw_branch	branch;
	enum hw_branch_kind	kind;
	u32			inside;
	u32			records;
	int			depth;
	u32			lines;
	u32			times;
};

/* The longest loop that is found has so many lines. */
#define HW_BRANCHES_LOOP	6

/**
 * struct hw_branches_fold - a walk from the newest branch to the oldest
 * @reader:	where they come from
 * @data:	for @reader
 * @at:		the next record
 * @plain:	a line for each record
 * @left:	so many records may be read to find calls that have returned
 * @depth:	of the code before @at
 * @nr:		how many lines of @ahead there are
 * @ahead:	the next lines
 * @body:	the lines of a loop
 * @nr_body:	how many these are
 * @shown:	how many of them have been returned
 */
struct hw_branches_fold {
	const struct hw_branches_reader	*reader;
	void			*data;
	u32			at;
	bool			plain;
	u32			left;
	int			depth;
	u32			nr;
	struct hw_branches_line	ahead[2 * HW_BRANCHES_LOOP];
	struct hw_branches_line	body[HW_BRANCHES_LOOP];
	u32			nr_body;
	u32			shown;
};

void hw_branches_fold_begin(struct hw_branches_fold *fold, u32 at, bool plain,
			    const struct hw_branches_reader *reader, void *data);
bool hw_branches_fold_next(struct hw_branches_fold *fold, struct hw_branches_line *line);
int hw_branches_fold_base(struct hw_branches_fold *fold, u32 lines, u32 *records);

#endif /* _TRACE_HW_BRANCHES_FOLD_H */
