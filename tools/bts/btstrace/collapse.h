/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sums up branches as a short list of items, for the crash view. A function that has ended, by a
 * return or otherwise, becomes one item, with all branches in it. A round (iteration) of a loop
 * begins with a jump back. Where possible, all rounds of a loop but the last become one item. The
 * other items are functions that have not ended, jumps within functions, and gaps.
 */
#ifndef BTSTRACE_COLLAPSE_H
#define BTSTRACE_COLLAPSE_H

#include "calls.h"

/*
 * A function that is neither a signal handler nor the entry to the kernel becomes a BT_ITEM_INSIDE,
 * not a BT_ITEM_CALL, if its return address is unknown, or if the record with which it began is no
 * X86_BTS_BRANCH. The return address is unknown, for example, if the call is not in the trace, if
 * the function was called within the kernel, or if another BT_ITEM_INSIDE has jumped to it.
 */
enum bt_item_type {
	BT_ITEM_JUMP,	/* a branch within a function */
	BT_ITEM_CALL,	/* a function with a known return address, or the kernel; see above */
	BT_ITEM_INSIDE,	/* another function, see above */
	BT_ITEM_SIGNAL,	/* a signal handler */
	BT_ITEM_LOOP,	/* rounds of a loop that have ended */
	BT_ITEM_GAP,	/* records are missing */
};

/*
 * struct bt_item - an item, which stands for one or more branches, or for a gap
 * @type:	BT_ITEM_*
 * @open:	of a function: it has not ended
 * @from:	the instruction that jumped or called. Of a loop: the jump back. NULL for the other
 *	types, and for an entry to the kernel. If it is unknown how the thread got into the function
 *	of a BT_ITEM_CALL, this is the branch at which settle() in calls.c has added its frame.
 * @to:		the target of the jump. Of a loop: the target of the jump back. Of a function: a
 *	place that enter() in collapse.c chooses, mostly in this function. NULL for a gap.
 * @name:	of a function: bt_frame_name() of its frame
 * @first:	the index of the first branch of the item, in @b of bt_collapse()
 * @end:	the index of the last branch of the item, plus 1; not used for a gap
 * @times:	of a loop: the number of rounds in the item
 */
struct bt_item {
	enum bt_item_type	type;
	bool			open;
	struct bt_place		*from;
	struct bt_place		*to;
	const char		*name;
	size_t			first;
	size_t			end;
	u64			times;
};

struct bt_items {
	struct bt_item	*item;
	size_t		nr;
	size_t		room;
};

/*
 * Set @items to a summary of the branches @b[@first] to @b[@end - 1]. The caller frees
 * @items->item.
 */
void bt_collapse(struct bt_items *items, const struct bt_branch *b, size_t first, size_t end);

#endif
