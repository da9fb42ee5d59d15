/* SPDX-License-Identifier: GPL-2.0 */
/* The call tree, grown by the calls of one or more threads. */
#ifndef BTSTRACE_TREE_H
#define BTSTRACE_TREE_H

#include "select.h"

/*
 * struct bt_node - a function, called from where its parents say
 * @fn:		the function; NULL in the root
 * @module:	where it is
 * @name:	what it was called by first
 * @calls:	how often it was called from there
 * @branches:	how many branches it made itself
 * @total:	with those of its children; filled in by bt_tree_sum()
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
 * struct bt_grower - what makes a tree grow
 * @session:	that tells which functions are wanted
 * @root:	of the tree
 */
struct bt_grower {
	const struct bt_session	*session;
	struct bt_node		*root;
};

struct bt_calls *bt_tree_grow(struct bt_grower *g);
void bt_tree_branch(struct bt_calls *c, const struct bt_branch *b);

struct bt_node *bt_tree_new(void);
void bt_tree_memory(u64 bytes);
bool bt_tree_is_full(void);
struct bt_node *bt_tree_child(struct bt_node *parent, const struct bt_function *fn,
			      const struct bt_module *module, const char *name);
void bt_tree_sum(struct bt_node *root);
struct bt_node *bt_tree_next(const struct bt_node *node);
void bt_tree_free(struct bt_node *root);

#endif
