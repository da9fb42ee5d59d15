/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of the crash view; for out_crash.c */
#ifndef BTSTRACE_CRASH_H
#define BTSTRACE_CRASH_H

#include "collapse.h"
#include "text.h"

/* A place that is longer than this does not move the columns of others. */
#define CRASH_WHERE_MAX	40

enum { LINE_LIBRARY = -1, LINE_WORDS = -2 };

/*
 * struct crash_line - a line of it
 * @at:		what it is about, or NULL
 * @what:	what happened there, allocated
 * @key:	two lines with the same @key, @type and @at are the same
 * @type:	enum bt_item_type; LINE_LIBRARY, with the module as its @key; LINE_WORDS
 * @times:	how often, one after the other
 * @first:	of a call that has returned, and whose function can be shown in more
 *		detail: its first branch
 * @end:	the first one behind it; 0 if there is nothing more to show
 */
struct crash_line {
	struct bt_place	*at;
	char		*what;
	const void	*key;
	int		type;
	u64		times;
	size_t		first;
	size_t		end;
};

/*
 * struct crash_lines - some of them
 * @own: one is of the user's own code
 */
struct crash_lines {
	struct crash_line	*line;
	size_t			nr;
	size_t			room;
	bool			own;
};

void crash_calls(struct crash_lines *lines, const struct bt_items *items, struct bt_place *end);
void crash_way(struct crash_lines *lines, const struct bt_items *items,
	       const struct bt_branch *b, struct bt_place *end, size_t max);
void crash_name(struct bt_text *t, const char *name);
void crash_shorten(struct crash_lines *lines, size_t max);
void crash_free(struct crash_lines *lines);

#endif
