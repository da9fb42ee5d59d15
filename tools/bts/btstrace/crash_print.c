// SPDX-License-Identifier: GPL-2.0
/* This file prints the lines of the crash view in columns: place, event, and source text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash_print.h"
#include "source.h"
#include "width.h"

/* The largest width of the column of events. A longer event shifts only its own line. */
#define WHAT_MAX	36

/*
 * Put function and line. If the line is not known, put function and offset. If the function is
 * not known, put module and offset.
 */
static void put_where(struct bt_text *t, struct bt_place *at)
{
	const struct bt_view *view = bt_place_view(at);
	const char *slash;

	if (!at->fn->named) {
		text_safe(t, at->module->name);
		text_print(t, "+0x%" PRIx64, at->module_offset);
		return;
	}
	crash_name(t, view->inlined ? view->inlined : bt_function_name(at->fn));
	if (view->inlined)
		text_str(t, " (inlined)");
	if (!view->file) {
		text_print(t, "+0x%" PRIx64, at->offset);
		return;
	}
	slash = strrchr(view->file, '/');
	text_char(t, ' ');
	text_safe(t, slash ? slash + 1 : view->file);
	text_print(t, ":%d", view->line);
}

static void put_what(struct bt_text *t, const struct crash_line *line)
{
	/* No need for text_safe(): crash_name() has replaced control characters of names. */
	text_str(t, line->what);
	if (line->times > 1)
		text_print(t, "%sx %" PRIu64, *line->what ? " " : "", line->times);
}

static size_t width_of(const struct bt_text *t)
{
	size_t all;

	return bt_width(t->buf, t->used, 0, &all);
}

static void pad(struct bt_text *t, size_t have, size_t want)
{
	for (; have < want; have++)
		text_char(t, ' ');
}

/* Set *@where and *@what to the widest place and event that are within the limits. */
static void measure(const struct crash_lines *lines, size_t *where, size_t *what)
{
	struct bt_text t;
	size_t i, n;

	*where = 0;
	*what = 0;
	text_open(&t, -1);
	for (i = 0; i < lines->nr; i++) {
		if (!lines->line[i].at)
			continue;
		t.used = 0;
		put_where(&t, lines->line[i].at);
		n = width_of(&t);
		if (n <= CRASH_WHERE_MAX && n > *where)
			*where = n;
		t.used = 0;
		put_what(&t, &lines->line[i]);
		n = width_of(&t);
		if (n <= WHAT_MAX && n > *what)
			*what = n;
	}
	text_close(&t);
}

/*
 * Add @t to @out as one line, cut to @width columns. Do not cut if @width is 0. Empty @t.
 */
static void put_cut(struct bt_text *out, struct bt_text *t, size_t width, bool color)
{
	size_t fits;

	bt_width(t->buf, t->used, width, &fits);
	text_color(out, t->buf, fits, color);
	text_color(out, TEXT_NORMAL, 1, color);
	text_char(out, '\n');
	t->used = 0;
}

static void put_line(struct bt_text *t, const struct crash_line *line, size_t where, size_t what)
{
	const struct bt_view *view;
	const char *source;
	size_t begin;

	text_str(t, "  ");
	if (!line->at) {
		text_str(t, TEXT_DIM);
		if (line->type == LINE_LIBRARY) {
			text_safe(t, ((const struct bt_module *)line->key)->name);
			text_str(t, ": ");
		}
		put_what(t, line);
		return;
	}
	text_str(t, TEXT_BOLD);
	put_where(t, line->at);
	text_str(t, TEXT_NORMAL);
	pad(t, width_of(t), where + 4);
	begin = width_of(t);
	put_what(t, line);
	view = bt_place_view(line->at);
	source = view->file ? bt_source_line(view->file, view->line) : NULL;
	if (!source)
		return;
	pad(t, width_of(t) - begin, what);
	text_str(t, TEXT_DIM "  | " TEXT_NORMAL);
	text_safe(t, source);
}

void crash_print(struct bt_text *t, const struct crash_lines *lines, size_t width, bool color)
{
	size_t i, where, what;
	struct bt_text one;

	measure(lines, &where, &what);
	text_open(&one, -1);
	for (i = 0; i < lines->nr; i++) {
		put_line(&one, &lines->line[i], where, what);
		while (one.used && one.buf[one.used - 1] == ' ')
			one.used--;
		put_cut(t, &one, width, color);
	}
	text_close(&one);
}
