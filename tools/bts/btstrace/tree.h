/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which function called which, from branches. One struct bt_calls for each
 * thread; the tree that they grow may be shared.
 */
#ifndef BTSTRACE_TREE_H
#define BTSTRACE_TREE_H

#include "session.h"

/*
 * struct bt_node - a function, called from where its parents say
 * @fn:		the function; NULL in the root
 * @module:	where it is
 * @calls:	how often it was called from there
 * @branches:	how many branches it made itself
 * @total:	with those of its children; filled in by bt_tree_sum()
 */
struct bt_node {
	const struct bt_function	*fn;
	const struct bt_module		*module;
	u64				calls;
	u64				branches;
	u64				total;
	u32				depth;
	struct bt_node			*parent;
	struct bt_node			*child;
	struct bt_node			*next;
};

struct bt_frame {
	const struct bt_function	*fn;
	struct bt_node			*node;
	u64				back;	/* where it returns to; 0 if not known */
	bool				tail;	/* it took the place of the one below */
	bool				kernel;	/* came in from user mode */
	bool				signal;	/* put in by the kernel */
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
 * @frame:	what it is in now, the innermost last
 * @nr:		how many
 * @enter:	told of each frame that begins, if not NULL
 * @leave:	told of each that ends
 * @arg:	for these two
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
	struct bt_frame	*frame;
	size_t		nr;
	void		(*enter)(struct bt_calls *c, const struct bt_node *node);
	void		(*leave)(struct bt_calls *c, const struct bt_node *node);
	void		*arg;
	/* private */
	size_t		room;
	bool		lost;
	u64		beyond;
	struct bt_node	*root;
};

struct bt_calls *bt_calls_new(struct bt_node *root);
void bt_calls_branch(struct bt_calls *c, const struct bt_branch *b);
void bt_calls_end(struct bt_calls *c);
void bt_calls_free(struct bt_calls *c);
bool bt_calls_balanced(const struct bt_calls *c);

struct bt_node *bt_tree_new(void);
void bt_tree_sum(struct bt_node *root);
struct bt_node *bt_tree_next(const struct bt_node *node);
void bt_tree_free(struct bt_node *root);

#endif
