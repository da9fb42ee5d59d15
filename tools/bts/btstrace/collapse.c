// SPDX-License-Identifier: GPL-2.0
/* This file sums up branches for the crash view; see collapse.h. */
#include <stdlib.h>

#include "collapse.h"

/* find_round() looks at no more items than this. */
#define ROUND_MAX	1024

/*
 * struct collapse - the state of bt_collapse()
 * @items: the items so far
 * @b: the current branch
 * @at: the index of the current branch
 * @first: the index of the first branch
 */
struct collapse {
	struct bt_items		*items;
	const struct bt_branch	*b;
	size_t			at;
	size_t			first;
};

static void add(struct collapse *c, struct bt_item item)
{
	struct bt_items *items = c->items;

	item.end = c->at + 1;
	items->item = bt_grow(items->item, &items->room, items->nr + 1, sizeof(item));
	items->item[items->nr++] = item;
}

/* The callback for a function that begins: add an item. */
static void enter(struct bt_calls *calls, struct bt_frame *frame)
{
	struct collapse *c = calls->arg;
	const struct bt_branch *call = c->b - (c->at - c->first) + frame->begin;
	bool called = call->rec->type == X86_BTS_BRANCH && frame->back;

	frame->mark = c->items->nr;
	add(c, (struct bt_item){
		.first = c->first + frame->begin,
		.type = frame->signal ? BT_ITEM_SIGNAL :
			called || frame->kernel ? BT_ITEM_CALL : BT_ITEM_INSIDE,
		.open = true, .from = called ? call->from : NULL,
		.to = c->b->to && c->b->to->fn == frame->fn ? c->b->to : c->b->from ?: call->to,
		.name = bt_frame_name(frame),
	});
}

/*
 * The callback for a function that ends: remove the items in it, and close its own item. If the
 * last item is a gap, keep the gap: the function may have ended in it.
 */
static void leave(struct bt_calls *calls, struct bt_frame *frame)
{
	struct collapse *c = calls->arg;
	struct bt_item *item = &c->items->item[frame->mark];
	struct bt_item last = c->items->item[c->items->nr - 1];

	c->items->nr = frame->mark + 1;
	item->open = false;
	item->end = c->at + 1;
	if (last.type == BT_ITEM_GAP)
		add(c, last);
}

static bool goes_back(const struct bt_item *item)
{
	return item->type == BT_ITEM_JUMP && item->to->addr <= item->from->addr;
}

/*
 * The jump @b goes back to the beginning of a loop, and ends a round. Find the previous jump
 * back to the same address, which began this round, in the items from index @begin on; look at
 * the last ROUND_MAX of them. Returns the index of its item. Returns items->nr if there is none,
 * or if records are missing after it, or a jump back of an outer loop came after it.
 */
static size_t find_round(const struct bt_items *items, size_t begin, const struct bt_branch *b)
{
	const struct bt_item *item;
	size_t i = items->nr, back;

	for (back = 0; i > begin && back < ROUND_MAX; back++) {
		item = &items->item[--i];
		if (item->type == BT_ITEM_GAP)
			break;
		if (!goes_back(item))
			continue;
		if (item->to->addr == b->to->addr)
			return i;
		if (item->to->addr < b->to->addr && item->from->addr > b->from->addr)
			break;
	}
	return items->nr;
}

static void jump(struct collapse *c, size_t begin)
{
	struct bt_items *items = c->items;
	const struct bt_branch *b = c->b;
	struct bt_item *item;
	size_t i;

	if (b->to->addr <= b->from->addr) {
		i = find_round(items, begin, b);
		item = &items->item[i];
		if (i < items->nr && i > begin && item[-1].type == BT_ITEM_LOOP &&
		    item[-1].to->addr == b->to->addr) {
			item[-1].times++;
			item[-1].end = c->at;
			items->nr = i;
		} else if (i < items->nr) {
			item->type = BT_ITEM_LOOP;
			item->times = 1;
			item->end = c->at;
			items->nr = i + 1;
		}
	}
	add(c, (struct bt_item){
		.type = BT_ITEM_JUMP, .from = b->from, .to = b->to, .first = c->at,
	});
}

static void handle_branch(struct collapse *c, struct bt_calls *calls)
{
	const struct bt_branch *b = c->b;
	const struct bt_frame *top;

	bt_calls_branch(calls, b);
	if (b->rec->type == X86_BTS_LOST)
		add(c, (struct bt_item){ .type = BT_ITEM_GAP, .first = c->at });
	top = calls->nr ? &calls->frame[calls->nr - 1] : NULL;
	if (b->rec->type == X86_BTS_BRANCH && b->kind != BT_CALL && b->kind != BT_RET &&
	    top && !top->hop && !top->quiet && b->from->fn == b->to->fn && top->fn == b->to->fn)
		jump(c, top->mark + 1);
}

void bt_collapse(struct bt_items *items, const struct bt_branch *b, size_t first, size_t end)
{
	struct bt_calls *calls = bt_calls_new();
	struct collapse c = { .items = items, .first = first };
	size_t i;

	*items = (struct bt_items){};
	calls->enter = enter;
	calls->leave = leave;
	calls->arg = &c;
	for (i = first; i < end; i++) {
		c.b = &b[i];
		c.at = i;
		handle_branch(&c, calls);
	}
	for (i = 0; i < items->nr; i++)
		if (items->item[i].open)
			items->item[i].end = end;
	bt_calls_free(calls);
}
