/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Folding last branches into lines: see trace_hw_branches_calls.c and trace_hw_branches_fold.c.
 * Both the kernel and tools/tracing/hw-branches compile this code.
 *
 * record:	a branch as it was recorded, or the place where branches are missing
 * line:	what is printed on one line: one or more records
 * loop:	a sequence of lines that is repeated
 * stay:	the branches from an entry from user mode to the return to user mode
 */
#ifndef _TRACE_HW_BRANCHES_FOLD_H
#define _TRACE_HW_BRANCHES_FOLD_H

#ifdef __KERNEL__
#include <linux/hw_branches.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>

/* As in <linux/hw_branches.h>: the source of a branch from user mode. */
#define HW_BRANCH_USER	0x8000000000000000ull

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
	HW_BRANCH_FROM_USER,
	HW_BRANCH_BREAK,
};
#endif

/*
 * The length of the longest instruction. An exception usually returns to the beginning or to the
 * end of the instruction that it has interrupted.
 */
#define HW_BRANCHES_INSN	15

/**
 * struct hw_branches_reader - functions that read branches and their instructions
 * @get:	read the record that has @nr newer ones; false if there is no such record
 * @kind:	tell the kind of a branch of the kernel. Set @back to the address that a call
 *		returns to, or that an exception or interrupt has interrupted. For other kinds,
 *		leave it 0
 * @is_thunk:	tell whether an address is in a thunk for returns or indirect branches
 * @is_return:	tell whether an address is the first one of a thunk for returns
 * @progress:	called for each line that hw_branches_fold_base() makes; may be NULL
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
 * @branch:	the branch; if @inside is not 0, the call, exception, interrupt or entry from user
 *		mode that has returned
 * @kind:	the kind of @branch; HW_BRANCH_OTHER if the walk is plain
 * @inside:	if not 0, the number of branches from @branch to its return, including both, in
 *		all repeats of the line. The return to user mode counts only if it is a record
 * @records:	the number of records that the line stands for; the last line of a loop also
 *		stands for the records of all repeats of the loop
 * @depth:	the call depth of the code that made @branch, relative to the code that the
 *		newest branch of the walk went to: -1 is the caller of that code; 0 if the walk
 *		is plain
 * @longest:	the line is the longest call of a stay, see trace_hw_branches_calls.c, and the next
 *		line is that of the stay
 * @lines:	the number of lines of the loop if this is its last line; otherwise 1
 * @times:	how often this line, or the loop that ends here, occurs consecutively
 */
struct hw_branches_line {
	struct hw_branch	branch;
	enum hw_branch_kind	kind;
	u32			inside;
	u32			records;
	int			depth;
	bool			longest;
	u32			lines;
	u32			times;
};

/*
 * The largest number of branches that a walk reads to find calls of returns and entries of stays.
 * A branch that was joined with those to and in a thunk counts as one.
 */
#define HW_BRANCHES_SEARCH	20000

/* The number of lines of the longest loop that is found */
#define HW_BRANCHES_LOOP	6

/* The largest depth, from the entry of a stay, of a call that is shown as its longest call */
#define HW_BRANCHES_LEVELS	64

/**
 * struct hw_branches_fold - a walk from the newest branch to the oldest
 * @reader:	the functions that read branches
 * @data:	the argument of the functions of @reader
 * @at:		the number of the next record to read; 0 is the newest
 * @plain:	make a line for each record, without its kind and its depth
 * @left:	the number of branches that may still be read to find the calls of returns and the
 *		entries of stays
 * @depth:	the call depth of the code that made the branch of the line made last; a line of a
 *		stay's longest call does not change it
 * @stay:	if the line made last is that of a stay's longest call: the line of this stay, which
 *		is made next; otherwise its @inside is 0
 * @open:	in a search for a stay's longest call: the numbers of the returns whose calls have
 *		not been found yet, the outermost first
 * @nr:		the number of lines in @ahead
 * @ahead:	lines that were made, but neither returned nor moved to @body
 * @body:	the lines of the loop that was found last
 * @nr_body:	the number of lines in @body
 * @shown:	the number of lines in @body that hw_branches_fold_next() has returned
 */
struct hw_branches_fold {
	const struct hw_branches_reader	*reader;
	void			*data;
	u32			at;
	bool			plain;
	u32			left;
	int			depth;
	struct hw_branches_line	stay;
	u32			open[HW_BRANCHES_LEVELS];
	u32			nr;
	struct hw_branches_line	ahead[2 * HW_BRANCHES_LOOP];
	struct hw_branches_line	body[HW_BRANCHES_LOOP];
	u32			nr_body;
	u32			shown;
};

/* trace_hw_branches_calls.c */
bool hw_branches_take(struct hw_branches_fold *fold, struct hw_branches_line *line);

/* trace_hw_branches_fold.c */
void hw_branches_fold_begin(struct hw_branches_fold *fold, u32 at, bool plain,
			    const struct hw_branches_reader *reader, void *data);
bool hw_branches_fold_next(struct hw_branches_fold *fold, struct hw_branches_line *line);
int hw_branches_fold_base(struct hw_branches_fold *fold, u32 lines, u32 *records);

#endif /* _TRACE_HW_BRANCHES_FOLD_H */
