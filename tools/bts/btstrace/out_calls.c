// SPDX-License-Identifier: GPL-2.0
/* This file shows the call tree, for people and for flamegraph.pl. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define TREES_BITS	12

/* struct named_tree - the call tree of all threads with one name, or of one thread */
struct named_tree {
	char name[48];
	struct bt_tree tree;
	struct named_tree *next;
	struct named_tree *next_in_slot;
};

/*
 * struct calls_data - the data of the output
 * @first:	a list of all trees
 * @last:	where the next tree is put into the list
 * @slot:	a hash table of all trees, by name
 * @sum:	counts of all threads that have ended
 * @open:	the number of frames that these threads had at their end
 * @unbalanced:	the number of these threads whose calls and returns do not match
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
	struct calls_data *f = bt_alloc(1, sizeof(*f));

	f->last = &f->first;
	s->data = f;
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
	struct calls_data *f = s->data;
	struct named_tree *g, **slot;
	char name[48];

	if (s->by_thread)
		snprintf(name, sizeof(name), "%s [%d]", t->comm, t->tid);
	else
		snprintf(name, sizeof(name), "%s", t->comm);
	slot = &f->slot[bt_hash(key_of(name), TREES_BITS)];
	for (g = *slot; g && strcmp(g->name, name); )
		g = g->next_in_slot;
	if (!g) {
		g = bt_alloc(1, sizeof(*g));
		snprintf(g->name, sizeof(g->name), "%s", name);
		g->tree = (struct bt_tree){ s, bt_tree_new() };
		g->next_in_slot = *slot;
		*slot = g;
		*f->last = g;
		f->last = &g->next;
	}
	return &g->tree;
}

static void calls_exit(struct bt_session *s, struct bt_thread *t)
{
	struct calls_data *f = s->data;
	struct bt_calls *c = t->data;

	if (!c)
		return;
	f->sum.calls += c->calls;
	f->sum.returns += c->returns;
	f->sum.tails += c->tails;
	f->sum.unwound += c->unwound;
	f->sum.unmatched += c->unmatched;
	f->sum.shifts += c->shifts;
	f->sum.gaps += c->gaps;
	f->open += c->nr;
	f->unbalanced += !bt_calls_balanced(c);
	if (c->deepest > f->sum.deepest)
		f->sum.deepest = c->deepest;
	bt_calls_end(c);
	bt_calls_free(c);
	t->data = NULL;
}

/* A thread is new, or has a new name after execve(). */
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
	struct calls_data *f = s->data;
	struct named_tree *g;

	if (bt_tree_is_incomplete())
		s->incomplete = "some calls count for their callers";
	while ((g = f->first)) {
		f->first = g->next;
		bt_tree_free(g->tree.root);
		free(g);
	}
	free(f);
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
	struct calls_data *f = s->data;
	struct bt_calls *sum = &f->sum;
	struct bt_text *t = &s->text;
	struct bt_node *node;
	struct named_tree *g;

	for (g = f->first; g; g = g->next) {
		bt_tree_sum(g->tree.root);
		text_safe(t, g->name);
		text_str(t, ":\n     calls     branches        total  function\n");
		for (node = g->tree.root->child; node; node = bt_tree_next(node))
			print_node(t, node);
	}
	text_print(t, "%" PRIu64 " calls, %" PRIu64 " returns, %" PRIu64 " open at the end; %"
		   PRIu64 " ended by a jump to another, %" PRIu64 " unwound, %" PRIu64
		   " returns without a call, %" PRIu64 " gaps; depth %" PRIu64 "; %s\n",
		   sum->calls, sum->returns, f->open, sum->tails, sum->unwound, sum->unmatched,
		   sum->gaps, sum->deepest, f->unbalanced ? "not balanced" : "balanced");
	free_trees(s);
}

const struct bt_output bt_out_calls = {
	.name = "calls",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE | BT_OUT_FUNCTIONS | BT_OUT_CALLS,
	.begin = calls_begin,
	.thread = calls_thread,
	.branch = calls_branch,
	.exit = calls_exit,
	.end = calls_end,
};

/* A semicolon in a name becomes a colon: to flamegraph.pl, a semicolon is the end of a name. */
static void put_name(struct bt_text *t, const char *name)
{
	size_t i, begin = t->used;

	text_safe(t, name);
	for (i = begin; i < t->used; i++)
		if (t->buf[i] == ';')
			t->buf[i] = ':';
}

static void fold(struct bt_session *s, const struct named_tree *g)
{
	size_t *end = bt_alloc(1, sizeof(*end)), room = 1;
	const struct bt_node *node;
	struct bt_text path;

	text_open(&path, -1);
	put_name(&path, g->name);
	end[0] = path.used;
	for (node = g->tree.root->child; node; node = bt_tree_next(node)) {
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
	struct calls_data *f = s->data;
	struct named_tree *g;

	for (g = f->first; g; g = g->next)
		fold(s, g);
	free_trees(s);
}

const struct bt_output bt_out_folded = {
	.name = "folded",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE | BT_OUT_FUNCTIONS | BT_OUT_CALLS,
	.begin = calls_begin,
	.thread = calls_thread,
	.branch = calls_branch,
	.exit = calls_exit,
	.end = folded_end,
};
