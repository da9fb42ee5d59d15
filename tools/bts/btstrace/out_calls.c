// SPDX-License-Identifier: GPL-2.0
/* This file shows the call tree, for people and for flamegraph.pl. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define TREES_BITS	12

/* struct named_tree - the call tree of threads with one name and, with --by-thread, one ID */
struct named_tree {
	char name[48];
	struct bt_tree tree;
	struct named_tree *next;
	struct named_tree *next_in_slot;
};

/*
 * struct calls_data - the data of the output
 * @first:	a list of all trees
 * @last:	the end of the list, where the next tree is added
 * @slot:	a hash table of all trees, by name
 * @sum:	counts of threads that have ended, or have called execve()
 * @open:	the number of frames that these threads had then
 * @unbalanced:	the number of times that bt_calls_balanced() was false then
 */
struct calls_data {
	struct named_tree *first, **last;
	struct named_tree *slot[1 << TREES_BITS];
	struct bt_calls sum;
	u64 open;
	u64 unbalanced;
};

static void calls_begin(struct bt_session *s)
{
	struct calls_data *d = bt_alloc(1, sizeof(*d));

	d->last = &d->first;
	s->data = d;
	bt_tree_memory(s->memory);
}

static u64 key_of(const char *name)
{
	u64 key = 0;

	while (*name)
		key = key * 31 + (u8)*name++;
	return key;
}

static struct bt_tree *tree_for(const struct bt_session *s, const struct bt_thread *t)
{
	struct calls_data *d = s->data;
	struct named_tree *named, **slot;
	char name[48];

	if (s->by_thread)
		snprintf(name, sizeof(name), "%s [%d]", t->comm, t->tid);
	else
		snprintf(name, sizeof(name), "%s", t->comm);
	slot = &d->slot[bt_hash(key_of(name), TREES_BITS)];
	for (named = *slot; named && strcmp(named->name, name); )
		named = named->next_in_slot;
	if (!named) {
		named = bt_alloc(1, sizeof(*named));
		snprintf(named->name, sizeof(named->name), "%s", name);
		named->tree = (struct bt_tree){ s, bt_tree_new() };
		named->next_in_slot = *slot;
		*slot = named;
		*d->last = named;
		d->last = &named->next;
	}
	return &named->tree;
}

static void calls_exit(struct bt_session *s, struct bt_thread *t)
{
	struct calls_data *d = s->data;
	struct bt_calls *c = t->data;

	if (!c)
		return;
	d->sum.calls += c->calls;
	d->sum.returns += c->returns;
	d->sum.tails += c->tails;
	d->sum.unwound += c->unwound;
	d->sum.unmatched += c->unmatched;
	d->sum.shifts += c->shifts;
	d->sum.gaps += c->gaps;
	d->open += c->nr;
	d->unbalanced += !bt_calls_balanced(c);
	if (c->deepest > d->sum.deepest)
		d->sum.deepest = c->deepest;
	bt_calls_end(c);
	bt_calls_free(c);
	t->data = NULL;
}

/* A thread is new, or has called execve(). After execve(), end its old calls first. */
static void calls_thread(struct bt_session *s, struct bt_thread *t)
{
	calls_exit(s, t);
	t->data = bt_tree_calls_new(tree_for(s, t));
}

static void calls_branch(struct bt_session *s, const struct bt_branch *b)
{
	(void)s;
	bt_tree_branch(b->thread->data, b);
}

static void free_trees(struct bt_session *s)
{
	struct calls_data *d = s->data;
	struct named_tree *named;

	if (bt_tree_is_incomplete())
		s->incomplete = "some calls count for their callers";
	while ((named = d->first)) {
		d->first = named->next;
		bt_tree_free(named->tree.root);
		free(named);
	}
	free(d);
}

static void print_node(struct bt_text *t, const struct bt_node *node)
{
	u32 i;

	text_print(t, "%10" PRIu64 " %12" PRIu64 " %12" PRIu64 "  ", node->calls,
		   node->branches, node->total);
	for (i = 1; i < node->depth; i++)
		text_str(t, "  ");
	text_safe(t, node->name);
	if (node->fn->named) {
		text_str(t, " (");
		text_safe(t, node->module->name);
		text_char(t, ')');
	}
	text_char(t, '\n');
}

static void calls_end(struct bt_session *s)
{
	struct calls_data *d = s->data;
	struct bt_calls *sum = &d->sum;
	struct bt_text *t = &s->text;
	struct bt_node *node;
	struct named_tree *named;

	for (named = d->first; named; named = named->next) {
		bt_tree_sum(named->tree.root);
		text_safe(t, named->name);
		text_str(t, ":\n     calls     branches        total  function\n");
		for (node = named->tree.root->child; node; node = bt_tree_next(node))
			print_node(t, node);
	}
	text_print(t, "%" PRIu64 " calls, %" PRIu64 " returns, %" PRIu64 " open at the end; %"
		   PRIu64 " ended by a jump to another, %" PRIu64 " unwound, %" PRIu64
		   " returns without a call, %" PRIu64 " gaps; depth %" PRIu64 "; %s\n",
		   sum->calls, sum->returns, d->open, sum->tails, sum->unwound, sum->unmatched,
		   sum->gaps, sum->deepest, d->unbalanced ? "not balanced" : "balanced");
	free_trees(s);
}

const struct bt_output bt_out_calls = {
	.name = "calls",
	.flags = BT_OUT_PLACES | BT_OUT_FUNCTIONS | BT_OUT_CALLS,
	.begin = calls_begin,
	.thread = calls_thread,
	.branch = calls_branch,
	.exit = calls_exit,
	.end = calls_end,
};

/* Put a name, with colons for semicolons: flamegraph.pl splits lines at semicolons. */
static void put_name(struct bt_text *t, const char *name)
{
	size_t i, begin = t->used;

	text_safe(t, name);
	for (i = begin; i < t->used; i++)
		if (t->buf[i] == ';')
			t->buf[i] = ':';
}

static void fold(struct bt_session *s, const struct named_tree *named)
{
	size_t *end = bt_alloc(1, sizeof(*end)), room = 1;
	const struct bt_node *node;
	struct bt_text path;

	text_open(&path, -1);
	put_name(&path, named->name);
	end[0] = path.used;
	for (node = named->tree.root->child; node; node = bt_tree_next(node)) {
		end = bt_grow(end, &room, node->depth + 1, sizeof(*end));
		path.used = end[node->depth - 1];
		text_char(&path, ';');
		put_name(&path, node->name);
		end[node->depth] = path.used;
		if (!node->branches)
			continue;
		text_put(&s->text, path.buf, path.used);
		text_char(&s->text, ' ');
		text_dec(&s->text, node->branches);
		text_char(&s->text, '\n');
	}
	text_close(&path);
	free(end);
}

static void folded_end(struct bt_session *s)
{
	struct calls_data *d = s->data;
	struct named_tree *named;

	for (named = d->first; named; named = named->next)
		fold(s, named);
	free_trees(s);
}

const struct bt_output bt_out_folded = {
	.name = "folded",
	.flags = BT_OUT_PLACES | BT_OUT_FUNCTIONS | BT_OUT_CALLS,
	.begin = calls_begin,
	.thread = calls_thread,
	.branch = calls_branch,
	.exit = calls_exit,
	.end = folded_end,
};
