// SPDX-License-Identifier: GPL-2.0
/* This file makes the lines of the crash view. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "own.h"

/* fold_repeats() finds repetitions of at most this many lines. */
#define PERIOD_MAX	8
/* A LINE_LIBRARY has at most this many names of functions. */
#define NAMES_MAX	6

static bool is_function(const struct bt_item *item)
{
	return item->type == BT_ITEM_CALL || item->type == BT_ITEM_INSIDE ||
	       item->type == BT_ITEM_SIGNAL;
}

static struct crash_line *add(struct crash_lines *lines, struct crash_line line)
{
	if (!line.times)
		line.times = 1;
	lines->line = bt_grow(lines->line, &lines->room, lines->nr + 1, sizeof(line));
	lines->line[lines->nr] = line;
	return &lines->line[lines->nr++];
}

static void drop(struct crash_lines *lines, size_t first, size_t n)
{
	size_t i;

	/* Without lines, lines->line may be NULL, which memmove() does not allow. */
	if (!n)
		return;
	for (i = first; i < first + n; i++)
		free(lines->line[i].what);
	memmove(&lines->line[first], &lines->line[first + n],
		(lines->nr - first - n) * sizeof(*lines->line));
	lines->nr -= n;
}

static bool same(const struct crash_line *a, const struct crash_line *b)
{
	return a->type == b->type && a->at == b->at && a->key == b->key;
}

/*
 * If the last lines repeat the lines before them, remove the earlier ones, and add their
 * @times to those of the last lines.
 */
static void fold_repeats(struct crash_lines *lines)
{
	size_t period, i, first;

	for (period = 1; period <= PERIOD_MAX && period * 2 <= lines->nr; period++) {
		first = lines->nr - period * 2;
		for (i = first; i < first + period; i++)
			if (!same(&lines->line[i], &lines->line[i + period]))
				break;
		if (i < first + period)
			continue;
		/*
		 * Keep the later lines: if the lines are in the order of time, these are the
		 * newest.
		 */
		for (i = first; i < first + period; i++)
			lines->line[i + period].times += lines->line[i].times;
		drop(lines, first, period);
		return;
	}
}

/*
 * Put @name. Leave out the text between < and > in a long C++ name, unless it contains the word
 * operator, as operator< does.
 */
void crash_name(struct bt_text *t, const char *name)
{
	char *brief, *out;
	int depth = 0;

	if (strlen(name) <= CRASH_WHERE_MAX || strstr(name, "operator")) {
		text_safe(t, name);
		return;
	}
	brief = bt_copy(name);
	for (out = brief; *name; name++) {
		depth -= *name == '>' && depth;
		if (!depth)
			*out++ = *name;
		depth += *name == '<';
	}
	*out = '\0';
	text_safe(t, brief);
	free(brief);
}

/* struct names - the next LINE_LIBRARY, and its branches @first to @end - 1 */
struct names {
	struct bt_text			text;
	const struct bt_module		*module;
	struct bt_place			*at;
	size_t				nr;
	size_t				first;
	size_t				end;
};

static void begin_names(struct names *n, struct bt_place *at)
{
	*n = (struct names){ .module = at->module, .at = at };
	text_open(&n->text, -1);
}

static void add_name(struct names *n, const char *name)
{
	if (n->nr++ >= NAMES_MAX)
		return;
	if (n->nr > 1)
		text_str(&n->text, ", ");
	crash_name(&n->text, name);
}

static void end_names(struct names *n, struct crash_lines *lines)
{
	if (!n->module)
		return;
	if (n->nr > NAMES_MAX)
		text_print(&n->text, ", %zu more", n->nr - NAMES_MAX);
	if (n->end > n->first)
		text_print(&n->text, "%s%zu branches", n->nr ? ", " : "", n->end - n->first);
	text_char(&n->text, '\0');
	add(lines, (struct crash_line){
		.what = n->text.buf, .key = n->module, .type = LINE_LIBRARY,
	});
	n->module = NULL;
}

/*
 * Add a line for each call that has not ended, the innermost first. Consecutive calls that are not
 * the user's own and are in one module get one line. fold_repeats() may merge repeated lines. @end
 * is the last known place of the thread, or NULL.
 */
void crash_calls(struct crash_lines *lines, const struct bt_items *items, struct bt_place *end)
{
	struct bt_place *at = end;
	struct names names = {};
	size_t i;

	for (i = items->nr; i--; ) {
		const struct bt_item *item = &items->item[i];

		if (!is_function(item) || !item->open)
			continue;
		if (!at || at->fn != item->to->fn)
			at = item->to;
		if (bt_place_is_own(item->to)) {
			end_names(&names, lines);
			add(lines, (struct crash_line){ .at = at, .what = bt_copy("") });
			lines->own = true;
			fold_repeats(lines);
		} else {
			if (names.module != item->to->module) {
				end_names(&names, lines);
				begin_names(&names, item->to);
			}
			add_name(&names, item->name);
		}
		at = item->from;
	}
	end_names(&names, lines);
}

/*
 * Put the place @to: its line number if it is in the same file as @from, otherwise its
 * offset in the function.
 */
static void put_target(struct bt_text *t, struct bt_place *from, struct bt_place *to)
{
	const struct bt_view *a = bt_place_view(from), *b = bt_place_view(to);

	if (a->file && b->file && !strcmp(a->file, b->file))
		text_print(t, "%d", b->line);
	else
		text_print(t, "+0x%" PRIx64, to->offset);
}

static const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

/*
 * Is the jump back the only branch in each round of the loop @item, and is the next item the
 * same jump? Then add_items() makes one line of both items.
 */
static bool is_one_branch(const struct bt_item *item, size_t left)
{
	return item->type == BT_ITEM_LOOP && item->end - item->first == item->times && left > 1 &&
	       item[1].type == BT_ITEM_JUMP && item[1].from == item->from &&
	       item[1].to == item->to;
}

static void add_own(struct crash_lines *lines, const struct bt_item *item, u64 times)
{
	struct crash_line line = {
		.at = item->from ? item->from : item->to, .key = item->to, .type = item->type,
		.times = times,
	};
	struct bt_text t;

	text_open(&t, -1);
	switch (item->type) {
	case BT_ITEM_JUMP:
		if (times > 1) {
			line.at = item->to;
			text_str(&t, "to ");
			put_target(&t, item->to, item->from);
			break;
		}
		text_str(&t, "goes to ");
		put_target(&t, item->from, item->to);
		break;
	case BT_ITEM_LOOP:
		line.at = item->to;
		text_print(&t, "%" PRIu64 " round%s to ", item->times, plural(item->times));
		put_target(&t, item->to, item->from);
		text_print(&t, ", %zu branches", item->end - item->first);
		break;
	case BT_ITEM_SIGNAL:
		text_str(&t, "handles a signal");
		break;
	case BT_ITEM_INSIDE:
		text_str(&t, item->open ? "begins" : "returns");
		break;
	default:
		if (bt_place_is_own(line.at)) {
			text_str(&t, "calls ");
			crash_name(&t, item->name);
		} else {
			line.at = item->to;
			text_str(&t, "is called");
		}
		if (!item->open)
			text_print(&t, ", %zu branch%s", item->end - item->first,
				   item->end - item->first == 1 ? "" : "es");
		if (!item->open && bt_place_is_own(item->to)) {
			line.first = item->first + 1;
			line.end = item->end;
		}
	}
	text_char(&t, '\0');
	line.what = t.buf;
	add(lines, line);
	lines->own = true;
}

static void add_gap(struct crash_lines *lines)
{
	add(lines, (struct crash_line){
		.what = bt_copy("--- records lost ---"), .type = LINE_WORDS,
	});
}

/* Add the lines of @n items, from the oldest to the newest. */
static void add_items(struct crash_lines *lines, const struct bt_item *item, size_t n)
{
	struct names names = {};
	struct bt_place *in;
	u64 times = 0;
	bool called;
	size_t i;

	for (i = 0; i < n; i++, item++) {
		if (item->type == BT_ITEM_GAP) {
			end_names(&names, lines);
			add_gap(lines);
			continue;
		}
		/* Skip a function of the user's own that still runs, if its call is unknown. */
		if (item->type == BT_ITEM_INSIDE && item->open && bt_place_is_own(item->to))
			continue;
		in = item->from ? item->from : item->to;
		/*
		 * A function of the user's own that has ended gets a line, even if a
		 * library has called it, as the C library calls main().
		 */
		called = is_function(item) && !item->open && bt_place_is_own(item->to);
		if (called || bt_place_is_own(in)) {
			end_names(&names, lines);
			if (is_one_branch(item, n - i)) {
				times = item->times;
				continue;
			}
			add_own(lines, item, times + 1);
			times = 0;
			fold_repeats(lines);
			continue;
		}
		if (names.module != in->module) {
			end_names(&names, lines);
			begin_names(&names, in);
			names.first = item->first;
			if (i && is_function(&item[-1]) && item[-1].open)
				add_name(&names, item[-1].name);
		}
		names.end = item->end;
		if (is_function(item) && item->open && item->to->module == names.module &&
		    !bt_place_is_own(item->to))
			add_name(&names, item->name);
	}
	end_names(&names, lines);
}

/* Insert @more after line @at of @lines. */
static void insert(struct crash_lines *lines, size_t at, struct crash_lines *more)
{
	size_t behind = lines->nr - at - 1;

	lines->line = bt_grow(lines->line, &lines->room, lines->nr + more->nr,
			      sizeof(*lines->line));
	memmove(&lines->line[at + 1 + more->nr], &lines->line[at + 1],
		behind * sizeof(*lines->line));
	memcpy(&lines->line[at + 1], more->line, more->nr * sizeof(*lines->line));
	lines->nr += more->nr;
	free(more->line);
}

/*
 * Line @at is a call that has ended. Insert after it lines about the branches in the call.
 * If that would make more than @max lines, insert none. Returns whether lines were inserted.
 */
static bool expand(struct crash_lines *lines, size_t at, const struct bt_branch *b, size_t max)
{
	struct crash_line *line = &lines->line[at];
	struct crash_lines more = {};
	struct bt_items items;
	size_t first = line->first, end = line->end - 1;

	line->end = 0;
	if (end <= first)
		return false;
	bt_collapse(&items, b, first, end);
	add_items(&more, items.item, items.nr);
	free(items.item);
	if (!more.nr || lines->nr + more.nr > max) {
		crash_free(&more);
		return false;
	}
	insert(lines, at, &more);
	return true;
}

/* Add up to @max lines that show what the user's own code did last, in the order of time. */
void crash_own_code(struct crash_lines *lines, const struct bt_items *items,
		    const struct bt_branch *b, struct bt_place *end, size_t max)
{
	size_t at;

	add_items(lines, items->item, items->nr);
	if (end && bt_place_is_own(end)) {
		add(lines, (struct crash_line){ .at = end, .what = bt_copy("ends") });
		lines->own = true;
	}
	if (lines->nr > max)
		drop(lines, 0, lines->nr - max);
	for (at = lines->nr; at--; )
		if (lines->line[at].end && expand(lines, at, b, max))
			at = lines->nr;
}

/*
 * If there are more than @max lines, replace some in the middle by the line '... N more'. Do
 * nothing if @max is less than 3.
 */
void crash_shorten(struct crash_lines *lines, size_t max)
{
	size_t first = max / 2, n;

	if (lines->nr <= max || max < 3)
		return;
	n = lines->nr - max + 1;
	drop(lines, first, n);
	lines->nr++;
	memmove(&lines->line[first + 1], &lines->line[first],
		(lines->nr - first - 1) * sizeof(*lines->line));
	lines->line[first] = (struct crash_line){
		.what = bt_print("... %zu more", n), .type = LINE_WORDS, .times = 1,
	};
}

void crash_free(struct crash_lines *lines)
{
	drop(lines, 0, lines->nr);
	free(lines->line);
	lines->line = NULL;
}
