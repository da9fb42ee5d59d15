/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header is for the calls that a thread is in, found from its branches. Each thread
 * has one struct bt_calls. Its user is told of each function that begins and ends; the call
 * tree, the crash view and the timeline are users.
 */
#ifndef BTSTRACE_CALLS_H
#define BTSTRACE_CALLS_H

#include "session.h"

/*
 * struct bt_frame - a function that was called and has not returned
 * @fn:		the function
 * @module:	where it is
 * @called:	the name that the program called it by, if it went through a PLT; or NULL
 * @back:	where it returns to; 0 if that is not known
 * @begin:	the branch that led to it, counted from 0
 * @tail:	it took the place of the frame below
 * @kernel:	the kernel, entered from user mode
 * @signal:	a handler, put in by the kernel
 * @hop:	a PLT stub or the dynamic linker, on the way to a function. The user is
 *		told of that function only.
 * @quiet:	called by such a hop; the user is not told of it
 * @inside:	it is part of what is to be shown; see select.h
 * @shown:	and is shown itself
 * @level:	how many such frames there are, with this one
 * @data:	for the user
 * @mark:	likewise
 */
struct bt_frame {
	const struct bt_function	*fn;
	const struct bt_module		*module;
	struct bt_alias			*called;
	u64				back;
	u64				begin;
	bool				tail;
	bool				kernel;
	bool				signal;
	bool				hop;
	bool				quiet;
	bool				inside;
	bool				shown;
	u32				level;
	void				*data;
	size_t				mark;
};

/*
 * struct bt_calls - the calls that a thread is in, and what it did
 * @calls:	calls
 * @returns:	returns to where one of them came from
 * @tails:	functions that ended by a jump to another
 * @unwound:	functions that were left otherwise: longjmp(), an exception
 * @unmatched:	returns to where nothing was called
 * @shifts:	one function turned into another without a branch
 * @gaps:	records missing
 * @deepest:	most frames at once
 * @branches:	branches, with the one that is looked at
 * @frame:	what it is in now, the innermost last
 * @nr:		how many
 * @enter:	told of each frame that begins, if not NULL
 * @leave:	told of each that ends, while it is still the innermost
 * @resolved:	told of the branches of the dynamic linker that found the function of
 *		a frame, right after @enter
 * @arg:	for these three
 */
struct bt_calls {
	u64		calls;
	u64		returns;
	u64		tails;
	u64		unwound;
	u64		unmatched;
	u64		shifts;
	u64		gaps;
	u64		deepest;
	u64		branches;
	struct bt_frame	*frame;
	size_t		nr;
	void		(*enter)(struct bt_calls *c, struct bt_frame *frame);
	void		(*leave)(struct bt_calls *c, struct bt_frame *frame);
	void		(*resolved)(struct bt_calls *c, struct bt_frame *frame, u64 branches);
	void		*arg;
	/* private */
	size_t		room;
	bool		lost;
	u64		beyond;
	u64		hidden;
	u64		records;
};

void bt_calls_memory(u64 bytes);
struct bt_calls *bt_calls_new(void);
void bt_calls_branch(struct bt_calls *c, const struct bt_branch *b);
struct bt_frame *bt_calls_branched(struct bt_calls *c, u64 *branches);
void bt_calls_end(struct bt_calls *c);
void bt_calls_free(struct bt_calls *c);
bool bt_calls_balanced(const struct bt_calls *c);
const char *bt_frame_name(const struct bt_frame *frame);

/* Returns the frame below that the user was told of, or NULL. */
struct bt_frame *bt_frame_below(struct bt_calls *c, struct bt_frame *frame);

#endif
