/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header is for the way to where a thread is. A call that has returned becomes one
 * item, and so do all but the last round of a loop. The calls that have not returned are
 * left, with what each of them did itself.
 */
#ifndef BTSTRACE_COLLAPSE_H
#define BTSTRACE_COLLAPSE_H

#include "calls.h"

enum bt_item_type {
	BT_ITEM_JUMP,	/* a branch within a function */
	BT_ITEM_CALL,	/* a call; or a jump to another function */
	BT_ITEM_INSIDE,	/* a function that was entered before the first branch */
	BT_ITEM_SIGNAL,	/* a handler begins */
	BT_ITEM_LOOP,	/* rounds of a loop, before the last one */
	BT_ITEM_GAP,	/* records are missing */
};

/*
 * struct bt_item - one step of the way
 * @type:	BT_ITEM_*
 * @open:	of a function: it has not returned
 * @from:	where it starts; NULL if that is not known
 * @to:		where it goes
 * @name:	of a function: what it was called by
 * @first:	the first branch that it stands for, counted from 0
 * @end:	the first one behind it
 * @times:	rounds of a loop
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
 * Set @items to the way that branches @first to @end - 1 of @b are. The caller frees
 * items->item.
 */
void bt_collapse(struct bt_items *items, const struct bt_branch *b, size_t first, size_t end);

#endif
