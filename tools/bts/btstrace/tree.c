// SPDX-License-Identifier: GPL-2.0
/*
 * Calls from branches. The stack of frames is a guess that each branch confirms
 * or corrects: where its instruction is not in the innermost frame's function,
 * something was missed (a gap, a signal, code that runs on from one symbol into
 * the next), and the frames are brought in line with it.
 */
#include <stdlib.h>
#include <string.h>

#include "tree.h"

/* Deeper calls are counted, not kept: a recursion without end is a fine bug. */
#define FRAMES_MAX	(1024 * 1024)
/* Deeper nodes are one with their parent. */
#define DEPTH_MAX	1000

struct bt_node *bt_tree_new(void)
{
	return bt_alloc(1, sizeof(struct bt_node));
}

/* The node of @fn below @parent. What is asked for most is found first. */
static struct bt_node *child_of(struct bt_node *parent, const struct bt_function *fn,
				const struct bt_module *module)
{
	struct bt_node **at, *node;

	if (parent->depth >= DEPTH_MAX)
		return parent;
	for (at = &parent->child; (node = *at); at = &node->next)
		if (node->fn == fn)
			break;
	if (node) {
		*at = node->next;
	} else {
		node = bt_alloc(1, sizeof(*node));
		node->fn = fn;
		node->module = module;
		node->parent = parent;
		node->depth = parent->depth + 1;
	}
	node->next = parent->child;
	parent->child = node;
	return node;
}

/* The node after @node: its first child, its sibling, or that of a parent. */
struct bt_node *bt_tree_next(const struct bt_node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}

/* By what they cost; a list, sorted by merging. */
static struct bt_node *sort_children(struct bt_node *list)
{
	struct bt_node *half[2] = {}, *next, *sorted = NULL, **tail = &sorted;
	int which = 0;

	if (!list || !list->next)
		return list;
	for (; list; list = next, which ^= 1) {
		next = list->next;
		list->next = half[which];
		half[which] = list;
	}
	half[0] = sort_children(half[0]);
	half[1] = sort_children(half[1]);
	while (half[0] || half[1]) {
		which = !half[0] || (half[1] && half[1]->total > half[0]->total);
		*tail = half[which];
		half[which] = half[which]->next;
		tail = &(*tail)->next;
	}
	*tail = NULL;
	return sorted;
}

/* Fill in the totals, and put the most expensive first. */
void bt_tree_sum(struct bt_node *root)
{
	struct bt_node *node, *next;

	for (node = root; node; node = bt_tree_next(node))
		node->total = node->branches;
	/* Children before parents: down to the first leaf, then from one to the next. */
	for (node = root; node->child; )
		node = node->child;
	for (; node != root; node = next) {
		node->parent->total += node->total;
		node->child = sort_children(node->child);
		next = node->next;
		if (!next) {
			next = node->parent;
			continue;
		}
		while (next->child)
			next = next->child;
	}
	root->child = sort_children(root->child);
}

void bt_tree_free(struct bt_node *root)
{
	struct bt_node *node = root, *parent;

	while (node) {
		if (node->child) {
			node = node->child;
			continue;
		}
		parent = node->parent;
		if (parent)
			parent->child = node->next;
		free(node);
		node = parent;
	}
}

struct bt_calls *bt_calls_new(struct bt_node *root)
{
	struct bt_calls *c = bt_alloc(1, sizeof(*c));

	c->root = root;
	return c;
}

/* foo.cold is where the compiler put what foo seldom does. */
static bool same_function(const struct bt_function *a, const struct bt_function *b)
{
	size_t len_a, len_b;

	if (a == b)
		return true;
	if (!a->named || !b->named)
		return false;
	len_a = strcspn(a->name, ".");
	len_b = strcspn(b->name, ".");
	return (a->name[len_a] || b->name[len_b]) && len_a && len_a == len_b &&
	       !memcmp(a->name, b->name, len_a) &&
	       (strstr(a->name + len_a, ".cold") || strstr(b->name + len_b, ".cold"));
}

static struct bt_frame *top_of(struct bt_calls *c)
{
	return c->nr ? &c->frame[c->nr - 1] : NULL;
}

static void push(struct bt_calls *c, const struct bt_place *place, struct bt_frame frame)
{
	if (c->nr == FRAMES_MAX) {
		c->beyond++;
		return;
	}
	frame.fn = place->fn;
	frame.node = child_of(c->nr ? top_of(c)->node : c->root, place->fn, place->module);
	frame.node->calls++;
	c->frame = bt_grow(c->frame, &c->room, c->nr + 1, sizeof(frame));
	c->frame[c->nr++] = frame;
	if (c->nr > c->deepest)
		c->deepest = c->nr;
	if (c->enter)
		c->enter(c, frame.node);
}

static void pop(struct bt_calls *c)
{
	if (c->beyond) {
		c->beyond--;
		return;
	}
	c->nr--;
	if (c->leave)
		c->leave(c, c->frame[c->nr].node);
}

/* A function ends: so do all that it took the place of. */
static void pop_whole(struct bt_calls *c)
{
	bool tail;

	do {
		tail = !c->beyond && top_of(c)->tail;
		pop(c);
	} while (tail && c->nr);
}

static void unwind_to(struct bt_calls *c, size_t nr)
{
	c->beyond = 0;
	while (c->nr > nr) {
		c->unwound += !top_of(c)->tail && !top_of(c)->signal;
		pop(c);
	}
}

/* How many frames are left if all within the one of @fn end; 0 if there is none. */
static size_t find_function(const struct bt_calls *c, const struct bt_function *fn)
{
	size_t nr;

	for (nr = c->nr; nr; nr--)
		if (same_function(c->frame[nr - 1].fn, fn))
			break;
	return nr;
}

/* One function turns into another, which returns to where it would have. */
static void shift(struct bt_calls *c, const struct bt_place *place)
{
	struct bt_frame frame = *top_of(c);

	pop(c);
	push(c, place, frame);
}

/* The thread is at @place: what it can be in? */
static void settle(struct bt_calls *c, const struct bt_place *place)
{
	size_t nr;

	if (c->nr && same_function(top_of(c)->fn, place->fn)) {
		c->lost = false;
		return;
	}
	nr = find_function(c, place->fn);
	if (nr) {
		unwind_to(c, nr);
	} else if (c->lost || !c->nr) {
		unwind_to(c, 0);
		push(c, place, (struct bt_frame){});
	} else {
		c->shifts++;
		shift(c, place);
	}
	c->lost = false;
}

static void call(struct bt_calls *c, const struct bt_branch *b)
{
	u64 back = b->from->addr + b->from->insn.length;

	/* How position independent code learns where it is. */
	if (b->to->addr == back)
		return;
	c->calls++;
	push(c, b->to, (struct bt_frame){ .back = back });
}

/* A function that ends by a jump to another, which returns for both. */
static void replace_by(struct bt_calls *c, const struct bt_place *to)
{
	struct bt_frame *top = top_of(c);
	size_t nr;

	c->tails++;
	if (top->fn->plt) {
		shift(c, to);
		return;
	}
	/* Functions that end by jumping to each other, in turn */
	for (nr = c->nr; nr > 1 && c->frame[nr - 1].tail; nr--) {
		if (c->frame[nr - 2].fn == to->fn) {
			unwind_to(c, nr - 1);
			return;
		}
	}
	push(c, to, (struct bt_frame){ .back = top->back, .tail = true });
}

/* Code without names may begin anywhere but where a call returns to. */
static bool begins_function(const struct bt_place *place)
{
	return place->fn->named ? !place->offset : !place->follows_call;
}

static void jump(struct bt_calls *c, const struct bt_branch *b)
{
	if (same_function(top_of(c)->fn, b->to->fn))
		return;
	if (begins_function(b->to))
		replace_by(c, b->to);
	else
		settle(c, b->to);
}

static void unmatched_return(struct bt_calls *c, const struct bt_branch *b)
{
	struct bt_frame *top = top_of(c);
	size_t nr = c->nr;

	while (nr > 1 && c->frame[nr - 1].tail)
		nr--;
	if (c->frame[nr - 1].signal) {
		/* Into the code that ends a handler */
		unwind_to(c, nr);
		shift(c, b->to);
		return;
	}
	/* A jump in another form: to a function, whose address was put there. */
	if (b->to->fn->named && !b->to->offset) {
		replace_by(c, b->to);
		return;
	}
	/* The first of all returns to what was there before. */
	c->unmatched += c->nr > 1 || top->back;
	pop_whole(c);
	settle(c, b->to);
}

static void ret(struct bt_calls *c, const struct bt_branch *b)
{
	u64 to = b->to->addr;
	size_t nr;

	if (c->beyond) {
		c->returns++;
		pop(c);
		return;
	}
	if (top_of(c)->back == to) {
		c->returns++;
		pop_whole(c);
		return;
	}
	for (nr = c->nr; nr; nr--)
		if (c->frame[nr - 1].back == to && !c->frame[nr - 1].tail)
			break;
	if (!nr) {
		unmatched_return(c, b);
		return;
	}
	c->returns++;
	unwind_to(c, nr);
	pop(c);
}

/* The kernel goes to user mode: back, or into a handler. */
static void leave_kernel(struct bt_calls *c, const struct bt_place *to)
{
	size_t nr;

	for (nr = c->nr; nr && !c->frame[nr - 1].kernel; )
		nr--;
	while (nr && c->nr >= nr)
		pop(c);
	if (c->nr && !c->lost && !same_function(top_of(c)->fn, to->fn)) {
		if (begins_function(to) && !to->follows_syscall) {
			push(c, to, (struct bt_frame){ .signal = true });
			return;
		}
		/* The end of a handler */
		if (top_of(c)->signal)
			pop(c);
	}
	settle(c, to);
}

/* In the kernel there is no code to look at: its symbols have to do. */
static void kernel_branch(struct bt_calls *c, const struct bt_branch *b)
{
	if (!BT_IS_KERNEL(b->from->addr)) {
		push(c, b->to, (struct bt_frame){ .kernel = true });
		return;
	}
	settle(c, b->from);
	if (same_function(b->from->fn, b->to->fn))
		return;
	if (b->to->offset)
		settle(c, b->to);
	else
		push(c, b->to, (struct bt_frame){});
}

static void branch(struct bt_calls *c, const struct bt_branch *b)
{
	if (BT_IS_KERNEL(b->to->addr)) {
		kernel_branch(c, b);
		return;
	}
	if (BT_IS_KERNEL(b->from->addr)) {
		leave_kernel(c, b->to);
		return;
	}
	if (!c->beyond)
		settle(c, b->from);
	switch (b->kind) {
	case BT_CALL:
		call(c, b);
		break;
	case BT_RET:
		ret(c, b);
		break;
	default:
		if (!c->beyond)
			jump(c, b);
	}
}

/* What a record makes of the calls. */
void bt_calls_branch(struct bt_calls *c, const struct bt_branch *b)
{
	switch (b->rec->type) {
	case X86_BTS_LOST:
		c->gaps++;
		c->lost = true;
		return;
	case X86_BTS_EXEC:
		bt_calls_end(c);
		return;
	case X86_BTS_LEAVE:
		leave_kernel(c, b->to);
		break;
	case X86_BTS_ENTER:
		settle(c, b->from);
		break;
	case X86_BTS_BRANCH:
		branch(c, b);
		break;
	default:
		return;
	}
	if (c->nr)
		top_of(c)->node->branches++;
}

/* No more of them: all frames end. */
void bt_calls_end(struct bt_calls *c)
{
	c->beyond = 0;
	while (c->nr)
		pop(c);
}

void bt_calls_free(struct bt_calls *c)
{
	if (!c)
		return;
	free(c->frame);
	free(c);
}

/* Did every return lead to where a call came from, and nothing else end a function? */
bool bt_calls_balanced(const struct bt_calls *c)
{
	return !c->unwound && !c->unmatched && !c->gaps;
}
