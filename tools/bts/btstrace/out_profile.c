// SPDX-License-Identifier: GPL-2.0
/*
 * This file counts branches by function, by line, and by loop: --profile, --lines and
 * --loops.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define SUMS_BITS	12
/* A sum takes about this many bytes, with its slots in the hash table, @from and @to. */
#define SUM_BYTES	512

/*
 * struct sum - the branches of a function, of a line, or of a loop
 * @of:		the function; of a line: the name of its file; of a loop: the function that
 *	contains it. NULL in a free slot.
 * @number:	of a line: its number; of a loop: the offset of its beginning in the module
 * @end:	of a loop: the offset of its end in the module
 * @branches:	the number of branches that were made there; of a loop: of jumps back only
 * @calls:	of a function: how often it was called
 * @fn:		of a line: a function that contains it
 * @module:	of a function: the module that contains it
 * @from:	of a loop: its end, as text
 * @to:		of a loop: its beginning, as text
 */
struct sum {
	const void			*of;
	u64				number;
	u64				end;
	u64				branches;
	u64				calls;
	const struct bt_function	*fn;
	const struct bt_module		*module;
	char				*from;
	char				*to;
};

/*
 * struct profile - a hash table of sums, with 2^bits slots
 * @nr:		the number of sums
 * @max:	the largest number of sums that memory suffices for
 * @rest:	counts the branches and calls that have no sum, as there was no memory for it
 * @branches:	the number of branches that profile_branch() has got with both places known
 */
struct profile {
	struct sum	*sum;
	int		bits;
	size_t		nr;
	size_t		max;
	struct sum	rest;
	u64		branches;
};

static void profile_begin(struct bt_session *s)
{
	struct profile *p = bt_alloc(1, sizeof(*p));

	p->bits = SUMS_BITS;
	p->sum = bt_alloc((size_t)1 << p->bits, sizeof(*p->sum));
	p->max = s->memory / SUM_BYTES;
	s->data = p;
}

static struct sum *find_slot(const struct profile *p, const struct sum *key)
{
	size_t at = bt_hash((uintptr_t)key->of + key->number * 31 + key->end * 37, p->bits);
	struct sum *sum;

	while ((sum = &p->sum[at])->of) {
		if (sum->of == key->of && sum->number == key->number && sum->end == key->end)
			break;
		at = (at + 1) & (((size_t)1 << p->bits) - 1);
	}
	return sum;
}

static void more_slots(struct profile *p)
{
	size_t i, n = (size_t)1 << p->bits;
	struct sum *old = p->sum;

	p->bits++;
	p->sum = bt_alloc(n * 2, sizeof(*p->sum));
	for (i = 0; i < n; i++)
		if (old[i].of)
			*find_slot(p, &old[i]) = old[i];
	free(old);
}

/*
 * Returns the sum for @key. If there is none yet, adds a copy of @key. If there is no memory
 * for it, returns @p->rest.
 */
static struct sum *sum_of(struct profile *p, const struct sum *key)
{
	struct sum *sum = find_slot(p, key);

	if (sum->of)
		return sum;
	if (p->nr == p->max)
		return &p->rest;
	*sum = *key;
	if (++p->nr <= (size_t)1 << (p->bits - 1))
		return sum;
	more_slots(p);
	return find_slot(p, key);
}

static void functions_branch(struct profile *p, const struct bt_branch *b)
{
	struct sum key = { .of = b->from->fn, .module = b->from->module };

	sum_of(p, &key)->branches++;
	if (b->kind != BT_CALL)
		return;
	key = (struct sum){ .of = b->to->fn, .module = b->to->module };
	sum_of(p, &key)->calls++;
}

static void lines_branch(struct profile *p, const struct bt_branch *b)
{
	struct sum key = { .fn = b->from->fn };

	bt_place_line(b->from);
	key.of = b->from->file;
	key.number = b->from->line;
	if (key.of)
		sum_of(p, &key)->branches++;
}

static void loops_branch(struct profile *p, const struct bt_branch *b)
{
	struct sum key = {
		.of = b->from->fn, .number = b->to->module_offset, .end = b->from->module_offset,
	}, *sum;

	if ((b->kind != BT_JCC && b->kind != BT_JMP) || b->from->fn != b->to->fn ||
	    b->to->addr > b->from->addr)
		return;
	sum = sum_of(p, &key);
	if (!sum->branches++ && sum != &p->rest) {
		sum->from = bt_copy(bt_place_text(b->from));
		sum->to = bt_copy(bt_place_text(b->to));
	}
}

static void profile_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct profile *p = s->data;

	if (!bt_is_branch(b->rec) || !b->from || !b->to)
		return;
	p->branches++;
	if (s->out == &bt_out_profile)
		functions_branch(p, b);
	else if (s->out == &bt_out_lines)
		lines_branch(p, b);
	else
		loops_branch(p, b);
}

static int by_branches(const struct sum *a, const struct sum *b)
{
	if (a->branches != b->branches)
		return a->branches > b->branches ? -1 : 1;
	return a->calls > b->calls ? -1 : a->calls < b->calls;
}

static int compare_functions(const void *va, const void *vb)
{
	const struct bt_function *a = ((const struct sum *)va)->of;
	const struct bt_function *b = ((const struct sum *)vb)->of;
	int diff = by_branches(va, vb);

	if (!diff)
		diff = strcmp(a->name, b->name);
	return diff ? diff : a->start < b->start ? -1 : a->start > b->start;
}

static int compare_places(const void *va, const void *vb)
{
	const struct sum *a = va, *b = vb;
	int diff = strcmp(a->of, b->of);

	return diff ? diff : a->number < b->number ? -1 : a->number > b->number;
}

static int compare_lines(const void *va, const void *vb)
{
	int diff = by_branches(va, vb);

	return diff ? diff : compare_places(va, vb);
}

static int compare_loops(const void *va, const void *vb)
{
	const struct sum *a = va, *b = vb;
	int diff = by_branches(a, b);

	if (!diff)
		diff = strcmp(a->from, b->from);
	return diff ? diff : strcmp(a->to, b->to);
}

/* Move the sums to the beginning of the table, to sort them. It is no hash table any more then. */
static void compact(struct profile *p)
{
	size_t in, out = 0;

	for (in = 0; out < p->nr; in++)
		if (p->sum[in].of)
			p->sum[out++] = p->sum[in];
}

static void sort(struct profile *p, int (*compare)(const void *a, const void *b))
{
	if (p->nr)
		qsort(p->sum, p->nr, sizeof(*p->sum), compare);
}

/*
 * Several compilation units may contain the same line of a file, and each may have its own copy of
 * the name of the file. Such a line has several sums: merge them.
 */
static void merge_lines(struct profile *p)
{
	size_t in, out = 0;

	sort(p, compare_places);
	for (in = 0; in < p->nr; in++) {
		if (!out || compare_places(&p->sum[out - 1], &p->sum[in])) {
			p->sum[out++] = p->sum[in];
			continue;
		}
		p->sum[out - 1].branches += p->sum[in].branches;
		if (strcmp(p->sum[in].fn->name, p->sum[out - 1].fn->name) < 0)
			p->sum[out - 1].fn = p->sum[in].fn;
	}
	p->nr = out;
}

static void put_number(struct bt_text *t, u64 v, u64 sum)
{
	text_print(t, "%10.2f %12" PRIu64 " ", sum ? 100.0 * v / sum : 0.0, v);
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

static void functions_end(struct bt_text *t, struct profile *p)
{
	size_t i;

	sort(p, compare_functions);
	text_str(t, "% branches     branches        calls function\n");
	for (i = 0; i < p->nr; i++) {
		put_number(t, p->sum[i].branches, p->branches);
		text_print(t, "%12" PRIu64 " ", p->sum[i].calls);
		put_function(t, p->sum[i].of, p->sum[i].module);
		text_char(t, '\n');
	}
	if (p->rest.branches || p->rest.calls) {
		put_number(t, p->rest.branches, p->branches);
		text_print(t, "%12" PRIu64 " all other functions\n", p->rest.calls);
	}
}

static void lines_end(struct bt_text *t, struct profile *p)
{
	size_t i;

	merge_lines(p);
	sort(p, compare_lines);
	text_str(t, "% branches     branches function and line\n");
	for (i = 0; i < p->nr; i++) {
		put_number(t, p->sum[i].branches, p->branches);
		text_safe(t, bt_function_name(p->sum[i].fn));
		text_char(t, ' ');
		text_safe(t, p->sum[i].of);
		text_print(t, ":%" PRIu64 "\n", p->sum[i].number);
	}
	if (p->rest.branches) {
		put_number(t, p->rest.branches, p->branches);
		text_str(t, "all other lines\n");
	}
}

static void loops_end(struct bt_text *t, struct profile *p)
{
	size_t i;

	sort(p, compare_loops);
	text_str(t, "      rounds from its end to its beginning\n");
	for (i = 0; i < p->nr; i++)
		text_print(t, "%12" PRIu64 " %s -> %s\n", p->sum[i].branches, p->sum[i].from,
			   p->sum[i].to);
	if (p->rest.branches)
		text_print(t, "%12" PRIu64 " all other loops\n", p->rest.branches);
}

static void profile_end(struct bt_session *s)
{
	struct profile *p = s->data;
	size_t i;

	compact(p);
	if (s->out == &bt_out_profile)
		functions_end(&s->text, p);
	else if (s->out == &bt_out_lines)
		lines_end(&s->text, p);
	else
		loops_end(&s->text, p);
	if (p->rest.branches || p->rest.calls)
		s->incomplete = "some branches are counted together";
	for (i = 0; i < p->nr; i++) {
		free(p->sum[i].from);
		free(p->sum[i].to);
	}
	free(p->sum);
	free(p);
}

const struct bt_output bt_out_profile = {
	.name = "profile",
	.flags = BT_OUT_PLACES | BT_OUT_FILTER,
	.begin = profile_begin,
	.branch = profile_branch,
	.end = profile_end,
};

const struct bt_output bt_out_lines = {
	.name = "lines",
	.flags = BT_OUT_PLACES | BT_OUT_FILTER,
	.begin = profile_begin,
	.branch = profile_branch,
	.end = profile_end,
};

const struct bt_output bt_out_loops = {
	.name = "loops",
	.flags = BT_OUT_PLACES | BT_OUT_FILTER,
	.begin = profile_begin,
	.branch = profile_branch,
	.end = profile_end,
};
