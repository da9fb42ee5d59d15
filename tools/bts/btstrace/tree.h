/* SPDX-License-Identifier: GPL-2.0 */
/* A call tree of one or more threads */
#ifndef BTSTRACE_TREE_H
#define BTSTRACE_TREE_H

#include "select.h"

/*
 * struct bt_node - a function, as called by the function of its parent node
 * @fn:		the function; NULL in the root
 * @module:	the module that contains it; of [dynamic linker]: the module of @parent
 * @name:	its name when it first began, see bt_frame_name()
 * @calls:	how often the function began, by a call or otherwise; plus the number of calls below
 *	it that got no node, for lack of memory or because of DEPTH_MAX
 * @branches:	the number of branches of the function itself, and of calls that have no node
 * @total:	the number of branches with those of all nodes below; filled in by bt_tree_sum()
 * @depth:	the number of nodes above
 * @parent:	the node of the caller; NULL in the root
 * @child:	the first in the list of its children, or NULL
 * @next:	the next child of @parent, or NULL
 * @children:	the number of its children
 * @table:	a hash table of its children with 2^@bits slots, or NULL if there are few
 */
struct bt_node {
	const struct bt_function	*fn;
	const struct bt_module		*module;
	const char			*name;
	u64				calls;
	u64				branches;
	u64				total;
	u32				depth;
	struct bt_node			*parent;
	struct bt_node			*child;
	struct bt_node			*next;
	/* private */
	size_t				children;
	struct bt_node			**table;
	int				bits;
};

/*
 * struct bt_tree - a call tree
 * @session:	tells which functions are shown
 * @root:	the root of the nodes
 */
struct bt_tree {
	const struct bt_session	*session;
	struct bt_node		*root;
};

struct bt_calls *bt_tree_calls_new(struct bt_tree *tree);
void bt_tree_branch(struct bt_calls *c, const struct bt_branch *b);

struct bt_node *bt_tree_new(void);
void bt_tree_memory(u64 bytes);
bool bt_tree_is_incomplete(void);
struct bt_node *bt_tree_child(struct bt_node *parent, const struct bt_function *fn,
			      const struct bt_module *module, const char *name);
void bt_tree_sum(struct bt_node *root);
struct bt_node *bt_tree_next(const struct bt_node *node);
void bt_tree_free(struct bt_node *root);

#endif
