// SPDX-License-Identifier: GPL-2.0
/* This file writes coverage of source lines, in the format of lcov's .info files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "own.h"
#include "output.h"

/*
 * struct edge - an address where a piece of executed code begins or ends
 * @addr: the address
 * @times: how often the code from @addr to the next edge was executed. Until edges_of() has
 *	summed up the edges, this is how much the edge adds to that number.
 */
struct edge {
	u64 addr;
	int64_t times;
};

struct line {
	const char *file;
	int line;
	u64 times;
	const char *function;	/* the function that begins in this line, or NULL */
};

struct lines {
	struct line *line;
	size_t nr;
	size_t room;
	const struct edge *edge;
	size_t nr_edges;
};

static int compare_edges(const void *va, const void *vb)
{
	const struct edge *a = va, *b = vb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/*
 * Returns an array of the edges of a module, sorted by address, and sets *@n to their number.
 * Returns NULL if there are none. The addresses are those in the ELF file, not those in memory.
 * The caller frees the array.
 */
static struct edge *edges_of(const struct coverage *c, const struct bt_module *m, size_t *n)
{
	struct edge *edge = NULL;
	const struct bt_block *b;
	size_t i, room = 0;
	int64_t sum = 0;

	*n = 0;
	for (i = 0; i < (size_t)1 << c->bits; i++) {
		b = &c->block[i];
		if (!b->size || b->module != m->id)
			continue;
		edge = bt_grow(edge, &room, *n + 2, sizeof(*edge));
		edge[(*n)++] = (struct edge){ m->elf->base + b->start, b->times };
		edge[(*n)++] = (struct edge){ m->elf->base + b->start + b->size, -b->times };
	}
	if (*n)
		qsort(edge, *n, sizeof(*edge), compare_edges);
	for (i = 0; i < *n; i++) {
		sum += edge[i].times;
		edge[i].times = sum;
	}
	return edge;
}

static u64 times_at(const struct edge *edge, size_t n, u64 addr)
{
	size_t low = 0, high = n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (edge[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? edge[low - 1].times : 0;
}

static void add_line(struct lines *l, const char *file, int line, u64 addr, const char *function)
{
	l->line = bt_grow(l->line, &l->room, l->nr + 1, sizeof(*l->line));
	l->line[l->nr++] = (struct line){
		file, line, times_at(l->edge, l->nr_edges, addr), function,
	};
}

static void take_line(void *arg, u64 addr, const char *file, int line)
{
	if (!bt_is_system_source(file))
		add_line(arg, file, line, addr, NULL);
}

static void add_module(struct lines *l, const struct coverage *c, const struct bt_module *m)
{
	const struct bt_functions *list = &m->elf->functions;
	const struct bt_function *fn;
	struct edge *edge;
	const char *file;
	int line;

	edge = edges_of(c, m, &l->nr_edges);
	l->edge = edge;
	if (l->nr_edges)
		bt_elf_lines(m->elf, take_line, l);
	for (fn = list->fn; l->nr_edges && fn < list->fn + list->nr; fn++)
		if (fn->named && !fn->plt && bt_elf_line(m->elf, fn->start, &file, &line) &&
		    !bt_is_system_source(file))
			add_line(l, file, line, fn->start, bt_function_name(fn));
	free(edge);
}

static int compare_lines(const void *va, const void *vb)
{
	const struct line *a = va, *b = vb;
	int diff = strcmp(a->file, b->file);

	if (diff)
		return diff;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return !!b->function - !!a->function;
}

/*
 * Put the lines of one source file. @first points to the first of them, in an array that has @left
 * lines from there on, sorted by file and number. Returns how many of the lines are of this file.
 */
static size_t put_file(struct bt_text *t, const struct line *first, size_t left)
{
	size_t i, found = 0, hit = 0;
	u64 times = 0;

	text_str(t, "SF:");
	text_safe(t, first->file);
	text_char(t, '\n');
	for (i = 0; i < left && !strcmp(first[i].file, first->file); i++) {
		if (!first[i].function)
			continue;
		text_print(t, "FN:%d,", first[i].line);
		text_safe(t, first[i].function);
		text_print(t, "\nFNDA:%" PRIu64 ",", first[i].times);
		text_safe(t, first[i].function);
		text_char(t, '\n');
	}
	left = i;
	for (i = 0; i < left; i++) {
		/*
		 * If a line has several pieces of code, use the count of the one that was
		 * executed most often.
		 */
		if (first[i].times > times)
			times = first[i].times;
		if (i + 1 < left && first[i + 1].line == first[i].line)
			continue;
		text_print(t, "DA:%d,%" PRIu64 "\n", first[i].line, times);
		found++;
		hit += times > 0;
		times = 0;
	}
	text_print(t, "LF:%zu\nLH:%zu\nend_of_record\n", found, hit);
	return left;
}

static void lcov_begin(struct bt_session *s)
{
	s->data = coverage_new(s);
}

static void lcov_branch(struct bt_session *s, const struct bt_branch *b)
{
	coverage_branch(s->data, b);
}

static void lcov_ended_at(struct bt_session *s, struct bt_thread *t, u64 addr)
{
	coverage_ended_at(s->data, t, addr);
}

static void lcov_exit(struct bt_session *s, struct bt_thread *t)
{
	(void)s;
	coverage_exit(t);
}

static void lcov_end(struct bt_session *s)
{
	const struct bt_module **by_id;
	struct lines l = {};
	u32 id, n;
	size_t i;

	by_id = coverage_modules(&n);
	for (id = 0; id < n; id++)
		if (by_id[id]->elf && bt_module_is_own(by_id[id]))
			add_module(&l, s->data, by_id[id]);
	if (l.nr)
		qsort(l.line, l.nr, sizeof(*l.line), compare_lines);
	text_str(&s->text, "TN:\n");
	for (i = 0; i < l.nr; )
		i += put_file(&s->text, &l.line[i], l.nr - i);
	free(l.line);
	free(by_id);
	coverage_free(s);
}

const struct bt_output bt_out_lcov = {
	.name = "lcov",
	.flags = BT_OUT_PLACES,
	.begin = lcov_begin,
	.branch = lcov_branch,
	.ended_at = lcov_ended_at,
	.exit = lcov_exit,
	.end = lcov_end,
};
