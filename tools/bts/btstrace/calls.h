/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Derives the call stack of a thread from its branches. A struct bt_calls has the stack of one
 * thread. Its user, mostly an output, sets callbacks, which calls.c calls when a function begins
 * or ends.
 */
#ifndef BTSTRACE_CALLS_H
#define BTSTRACE_CALLS_H

#include "session.h"

/*
 * struct bt_frame - a function that was called and has not returned
 * @fn:		the function
 * @module:	the module that contains it
 * @called:	the name that the program called it by, if the call went through a PLT; or NULL
 * @back:	its return address; 0 if unknown
 * @begin:	the index of the record with which it began; see @records of struct bt_calls
 * @tail:	the function of the frame below has ended by a jump to this function (a tail
 *	call). When this function returns, both frames end.
 * @kernel:	the kernel, entered from user mode
 * @signal:	a signal handler, or the code that it has returned to
 * @hop:	a PLT stub or the dynamic linker, which will jump to the function that the
 *	program called. The output is told of that function only. If the hop ends without
 *	jumping to a function, the output is told of the hop.
 * @quiet:	a @hop is below it in the stack; the output is not told of it
 * @inside:	its function is one that --root selects, or a caller of it is; always true
 *	without --root; filled in by bt_select_frame(), like @shown and @level
 * @shown:	the output shows it
 * @level:	the number of shown frames from the outermost one up to this one
 * @data:	for the output
 * @mark:	for the output
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
 * struct bt_calls - the call stack of a thread, and counts
 * @calls:	calls in user mode
 * @returns:	returns to the return address of a frame; any return, while @beyond is not 0
 * @tails:	how often a function or a PLT stub ended by a jump, or RET as a jump, to another one
 * @unwound:	frames that unwind_to() has ended, without those with @tail or @signal: no record
 *	shows how they ended, for example because of longjmp(), an exception, or missing records
 * @unmatched:	returns to an address that is the return address of no frame, without those for
 *	which unmatched_return() knows another reason
 * @shifts:	how often settle() has replaced the top frame, as the thread executed a function
 *	without a frame, although no record was missing
 * @gaps:	places where records are missing
 * @deepest:	the largest value that @nr has had
 * @branches:	branches, including the current one
 * @frame:	the frames, the innermost last
 * @nr:		the number of frames
 * @enter:	called for each frame that begins, if not NULL; not for a @quiet frame. For a @hop,
 *	it is called when the hop ends.
 * @leave:	called for each frame that ends, while it is still the innermost, if not NULL; not
 *	for a @quiet frame
 * @resolved:	called right after @enter if the hop had more than one branch, as the dynamic linker
 *	has probably looked up the function; with the number of these branches; if not NULL
 * @arg:	for these callbacks
 * @room:	the number of frames that @frame has room for
 * @lost:	records are missing, and settle() was not called since
 * @beyond:	the number of innermost frames that are not in @frame, as @nr is at its limit
 * @hidden:	branches of hops that bt_calls_branch_frame() has not counted for a frame yet
 * @records:	the number of records so far
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
struct bt_frame *bt_calls_branch_frame(struct bt_calls *c, u64 *branches);
void bt_calls_end(struct bt_calls *c);
void bt_calls_free(struct bt_calls *c);
bool bt_calls_balanced(const struct bt_calls *c);
const char *bt_frame_name(const struct bt_frame *frame);

/* Returns the nearest frame below @frame that the output was told of, or NULL. */
struct bt_frame *bt_frame_caller(struct bt_calls *c, struct bt_frame *frame);

#endif
