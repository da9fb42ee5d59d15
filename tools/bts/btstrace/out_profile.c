// SPDX-License-Identifier: GPL-2.0
/* Where the branches are made: by function, by line, by loop */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define FIRST_BITS	12

/*
 * struct site - a branch from one place to another
 * @times: how often
 * @calls: it is a call
 * @loops: it goes back within its function
 * @where: its place, in words
 * @to: where it goes, likewise; of loops only
 */
struct site {
	const struct bt_function	*fn, *to_fn;
	const struct bt_module		*module;
	const struct bt_module		*to_module;
	u64				from;
	u64				to;
	const char			*file;
	int				line;
	bool				calls;
	bool				loops;
	u64				times;
	char				*where;
	char				*to_where;
};

/* Sites in a hash table of 2^bits; a slot without times is free. */
struct profile {
	struct site	*site;
	int		bits;
	size_t		nr;
};

/* A line of the table */
struct row {
	const void	*key;
	int		line;
	u64		branches;
	u64		calls;
	const struct site *site;
};

static void profile_begin(struct bt_session *s)
{
	struct profile *p = bt_alloc(1, sizeof(*p));

	p->bits = FIRST_BITS;
	p->site = bt_alloc((size_t)1 << p->bits, sizeof(*p->site));
	s->data = p;
}

static struct site *find_site(struct profile *p, const struct site *want)
{
	size_t at = bt_hash(want->from * 31 + want->to, p->bits);
	struct site *site;

	while ((site = &p->site[at])->times) {
		if (site->from == want->from && site->to == want->to && site->fn == want->fn &&
		    site->module->id == want->module->id)
			break;
		at = (at + 1) & (((size_t)1 << p->bits) - 1);
	}
	return site;
}

static void more_room(struct profile *p)
{
	size_t i, n = (size_t)1 << p->bits;
	struct site *old = p->site;

	p->bits++;
	p->site = bt_alloc(n * 2, sizeof(*p->site));
	for (i = 0; i < n; i++)
		if (old[i].times)
			*find_site(p, &old[i]) = old[i];
	free(old);
}

static void fill_in(struct site *site, const struct bt_branch *b)
{
	bt_place_line(b->from);
	site->file = b->from->file;
	site->line = b->from->line;
	site->to_fn = b->to->fn;
	site->to_module = b->to->module;
	site->calls = b->kind == BT_CALL;
	site->loops = (b->kind == BT_JCC || b->kind == BT_JMP) && b->from->fn == b->to->fn &&
		      b->to->addr <= b->from->addr;
	if (!site->file && !site->loops)
		return;
	site->where = bt_copy(bt_place_text(b->from));
	if (site->loops)
		site->to_where = bt_copy(bt_place_text(b->to));
}

static void profile_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct profile *p = s->data;
	struct site want, *site;

	if (!bt_is_branch(b->rec) || !b->from || !b->to)
		return;
	want = (struct site){
		.fn = b->from->fn, .module = b->from->module,
		.from = b->from->module_offset, .to = b->to->module_offset,
	};
	site = find_site(p, &want);
	if (site->times++)
		return;
	want.times = 1;
	fill_in(&want, b);
	*site = want;
	if (++p->nr > (size_t)1 << (p->bits - 1))
		more_room(p);
}

static int by_key(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->line - b->line;
}

static int by_branches(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	if (a->branches != b->branches)
		return a->branches > b->branches ? -1 : 1;
	return a->calls > b->calls ? -1 : a->calls < b->calls;
}

/* Rows with the same key become one. Returns how many are left. */
static size_t merge(struct row *row, size_t n)
{
	size_t in, out = 0;

	if (n)
		qsort(row, n, sizeof(*row), by_key);
	for (in = 0; in < n; in++) {
		if (!out || by_key(&row[out - 1], &row[in])) {
			row[out++] = row[in];
			continue;
		}
		row[out - 1].branches += row[in].branches;
		row[out - 1].calls += row[in].calls;
	}
	if (out)
		qsort(row, out, sizeof(*row), by_branches);
	return out;
}

static u64 sum_of(const struct row *row, size_t n)
{
	u64 sum = 0;

	for (; n; n--, row++)
		sum += row->branches;
	return sum;
}

static void put_function(struct bt_text *t, const struct bt_function *fn,
			 const struct bt_module *module)
{
	text_safe(t, bt_function_name(fn));
	if (!fn->named)
		return;
	text_str(t, " (");
	text_safe(t, module->name);
	text_char(t, ')');
}

static void put_number(struct bt_text *t, u64 v, u64 sum)
{
	text_print(t, "%10.2f %12" PRIu64 " ", sum ? 100.0 * v / sum : 0.0, v);
}

static void functions_end(struct bt_session *s)
{
	const struct profile *p = s->data;
	struct row *row = bt_alloc(p->nr * 2, sizeof(*row));
	const struct site *site;
	size_t i, n = 0;
	u64 sum;

	for (i = 0; i < (size_t)1 << p->bits; i++) {
		site = &p->site[i];
		if (!site->times)
			continue;
		row[n++] = (struct row){ .key = site->fn, .branches = site->times, .site = site };
		if (site->calls)
			row[n++] = (struct row){ .key = site->to_fn, .calls = site->times,
						 .site = site };
	}
	n = merge(row, n);
	sum = sum_of(row, n);
	text_str(&s->text, "% branches     branches        calls function\n");
	for (i = 0; i < n; i++) {
		put_number(&s->text, row[i].branches, sum);
		text_print(&s->text, "%12" PRIu64 " ", row[i].calls);
		site = row[i].site;
		put_function(&s->text, row[i].key,
			     row[i].key == site->fn ? site->module : site->to_module);
		text_char(&s->text, '\n');
	}
	free(row);
}

static void lines_end(struct bt_session *s)
{
	const struct profile *p = s->data;
	struct row *row = bt_alloc(p->nr, sizeof(*row));
	const struct site *site;
	size_t i, n = 0;
	u64 sum = 0;

	for (i = 0; i < (size_t)1 << p->bits; i++) {
		site = &p->site[i];
		sum += site->times;
		if (site->times && site->file)
			row[n++] = (struct row){ .key = site->file, .line = site->line,
						 .branches = site->times, .site = site };
	}
	n = merge(row, n);
	text_str(&s->text, "% branches     branches function and line\n");
	for (i = 0; i < n; i++) {
		put_number(&s->text, row[i].branches, sum);
		text_safe(&s->text, bt_function_name(row[i].site->fn));
		text_char(&s->text, ' ');
		text_safe(&s->text, row[i].site->file);
		text_print(&s->text, ":%d\n", row[i].line);
	}
	free(row);
}

static void loops_end(struct bt_session *s)
{
	const struct profile *p = s->data;
	struct row *row = bt_alloc(p->nr, sizeof(*row));
	size_t i, n = 0;

	for (i = 0; i < (size_t)1 << p->bits; i++)
		if (p->site[i].loops)
			row[n++] = (struct row){ .branches = p->site[i].times,
						 .site = &p->site[i] };
	if (n)
		qsort(row, n, sizeof(*row), by_branches);
	text_str(&s->text, "      rounds from its end to its beginning\n");
	for (i = 0; i < n; i++)
		text_print(&s->text, "%12" PRIu64 " %s -> %s\n", row[i].branches,
			   row[i].site->where, row[i].site->to_where);
	free(row);
}

static void profile_end(struct bt_session *s)
{
	struct profile *p = s->data;
	size_t i;

	if (s->out == &bt_out_profile)
		functions_end(s);
	else if (s->out == &bt_out_lines)
		lines_end(s);
	else
		loops_end(s);
	for (i = 0; i < (size_t)1 << p->bits; i++) {
		free(p->site[i].where);
		free(p->site[i].to_where);
	}
	free(p->site);
	free(p);
}

const struct bt_output bt_out_profile = {
	.name = "profile",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE | BT_OUT_FILTER,
	.begin = profile_begin,
	.branch = profile_branch,
	.end = profile_end,
};

const struct bt_output bt_out_lines = {
	.name = "lines",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE | BT_OUT_FILTER,
	.begin = profile_begin,
	.branch = profile_branch,
	.end = profile_end,
};

const struct bt_output bt_out_loops = {
	.name = "loops",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE | BT_OUT_FILTER,
	.begin = profile_begin,
	.branch = profile_branch,
	.end = profile_end,
};
