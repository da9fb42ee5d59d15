// SPDX-License-Identifier: GPL-2.0
/*
 * This file builds the call tree: which function called which, how often, and with how many
 * branches.
 */
#include <stdlib.h>
#include <string.h>

#include "tree.h"

/* Deeper calls have no node: they count for the node of their caller at this depth. */
#define DEPTH_MAX	1000

static size_t nr_nodes, nodes_max = 4000000;
static bool incomplete;

/* Use no more than about @bytes for nodes. Calls that get no node count for their caller. */
void bt_tree_memory(u64 bytes)
{
	nodes_max = bytes / (sizeof(struct bt_node) + 4 * sizeof(void *));
	incomplete = false;
}

/*
 * Did a call get no node because the memory of bt_tree_memory() was used up? Calls that are
 * deeper than DEPTH_MAX do not matter here.
 */
bool bt_tree_is_incomplete(void)
{
	return incomplete;
}

struct bt_node *bt_tree_new(void)
{
	return bt_alloc(1, sizeof(struct bt_node));
}

/*
 * A node with more children than LIST_MAX has a hash table of them, of 2^CHILDREN_BITS slots
 * or more.
 */
#define LIST_MAX	16
#define CHILDREN_BITS	6

/* Put @node, a child of @parent, into the hash table of @parent, which has room. */
static void into_table(struct bt_node *parent, struct bt_node *node)
{
	size_t mask = ((size_t)1 << parent->bits) - 1;
	size_t at = bt_hash((uintptr_t)node->fn, parent->bits);

	while (parent->table[at])
		at = (at + 1) & mask;
	parent->table[at] = node;
}

static void make_table(struct bt_node *parent)
{
	struct bt_node *node;

	free(parent->table);
	parent->bits = parent->bits ? parent->bits + 1 : CHILDREN_BITS;
	parent->table = bt_alloc((size_t)1 << parent->bits, sizeof(*parent->table));
	for (node = parent->child; node; node = node->next)
		into_table(parent, node);
}

static struct bt_node *find_in_table(const struct bt_node *parent, const struct bt_function *fn)
{
	size_t mask = ((size_t)1 << parent->bits) - 1, at = bt_hash((uintptr_t)fn, parent->bits);
	struct bt_node *node;

	while ((node = parent->table[at]) && node->fn != fn)
		at = (at + 1) & mask;
	return node;
}

/*
 * Find the child of @parent whose function is @fn. Make it the first of the list, so that
 * frequent children are found fast. Returns NULL if there is none.
 */
static struct bt_node *find_in_list(struct bt_node *parent, const struct bt_function *fn)
{
	struct bt_node **at, *node;

	for (at = &parent->child; (node = *at); at = &node->next)
		if (node->fn == fn)
			break;
	if (!node)
		return NULL;
	*at = node->next;
	node->next = parent->child;
	parent->child = node;
	return node;
}

/*
 * bt_tree_child - find or make the node of a function that was called
 * @parent: the node of the caller
 * @fn: the function
 * @module: the module that contains it
 * @name: the name that it was called by
 *
 * Returns @parent if there is no such node, and a new one would be too deep or need too much
 * memory.
 */
struct bt_node *bt_tree_child(struct bt_node *parent, const struct bt_function *fn,
			      const struct bt_module *module, const char *name)
{
	struct bt_node *node;

	if (parent->depth >= DEPTH_MAX)
		return parent;
	node = parent->table ? find_in_table(parent, fn) : find_in_list(parent, fn);
	if (node)
		return node;
	if (nr_nodes >= nodes_max) {
		incomplete = true;
		return parent;
	}
	nr_nodes++;
	node = bt_alloc(1, sizeof(*node));
	node->fn = fn;
	node->module = module;
	node->name = name;
	node->parent = parent;
	node->depth = parent->depth + 1;
	node->next = parent->child;
	parent->child = node;
	parent->children++;
	if (parent->table && parent->children <= (size_t)1 << (parent->bits - 1))
		into_table(parent, node);
	else if (parent->children > LIST_MAX)
		make_table(parent);
	return node;
}

/* Returns the next node in depth-first order, or NULL. */
struct bt_node *bt_tree_next(const struct bt_node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}

/* Sort a list of children by their totals, the largest first (merge sort). */
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

/* Fill in the totals, and sort all children by them, the largest first. */
void bt_tree_sum(struct bt_node *root)
{
	struct bt_node *node, *next;

	for (node = root; node; node = bt_tree_next(node))
		node->total = node->branches;
	/* Begin at the first leaf, and visit each node after all of its children. */
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
		free(node->table);
		nr_nodes -= !!node->fn;
		free(node);
		node = parent;
	}
}

static void enter(struct bt_calls *c, struct bt_frame *frame)
{
	const struct bt_tree *tree = c->arg;
	struct bt_frame *below = bt_frame_caller(c, frame);
	struct bt_node *parent = below ? below->data : tree->root;

	bt_select_frame(tree->session, c, frame);
	frame->data = parent;
	if (!frame->shown)
		return;
	frame->data = bt_tree_child(parent, frame->fn, frame->module, bt_frame_name(frame));
	((struct bt_node *)frame->data)->calls++;
}

/*
 * The dynamic linker has found the function of @frame with @branches branches. Count these
 * for a node [dynamic linker] below the function. If this node is not shown, count them like the
 * branches of the function itself.
 */
static void resolved(struct bt_calls *c, struct bt_frame *frame, u64 branches)
{
	static const struct bt_function linker = { .name = "[dynamic linker]" };
	const struct bt_tree *tree = c->arg;
	struct bt_node *node = frame->data;

	if (frame->shown && bt_select_below(tree->session, frame)) {
		node = bt_tree_child(node, &linker, frame->module, linker.name);
		node->calls++;
	}
	node->branches += branches;
}

/*
 * Returns the struct bt_calls of a new thread, whose calls bt_tree_branch() adds to @tree.
 * Free @tree after the struct bt_calls.
 */
struct bt_calls *bt_tree_calls_new(struct bt_tree *tree)
{
	struct bt_calls *c = bt_calls_new();

	c->enter = enter;
	c->resolved = resolved;
	c->arg = tree;
	return c;
}

void bt_tree_branch(struct bt_calls *c, const struct bt_branch *b)
{
	struct bt_frame *frame;
	u64 branches;

	bt_calls_branch(c, b);
	if (!bt_is_branch(b->rec))
		return;
	frame = bt_calls_branch_frame(c, &branches);
	if (frame)
		((struct bt_node *)frame->data)->branches += branches;
}
