/* SPDX-License-Identifier: GPL-2.0 */
/* Makes the lines of the crash view, for out_crash.c. */
#ifndef BTSTRACE_CRASH_H
#define BTSTRACE_CRASH_H

#include "collapse.h"
#include "text.h"

/* The largest width of the column of places. A longer place shifts only its own line. */
#define CRASH_WHERE_MAX	40

enum { LINE_LIBRARY = -1, LINE_WORDS = -2 };

/*
 * struct crash_line - a line of the crash view
 * @at:		the place that the line is about, or NULL
 * @what:	what happened there, as text; allocated
 * @key:	lines with the same @key, @type and @at are repetitions
 * @type:	enum bt_item_type in a line of add_own(), 0 in another line with a place;
 *	LINE_LIBRARY: functions of one module, mostly a library, that are not the user's own, with
 *	the module as @key; LINE_WORDS: only @what
 * @times:	how often that happened
 * @first:	if @end is not 0: the index of the branch after the one with which the call began
 * @end:	of a call that has ended: the index of the branch with which it ended, plus 1; 0 if
 *	there is nothing to expand, or if expand() was called for this line
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
 * struct crash_lines - a list of lines
 * @own: a line about the user's own code was added; own.c decides which code that is
 */
struct crash_lines {
	struct crash_line	*line;
	size_t			nr;
	size_t			room;
	bool			own;
};

void crash_calls(struct crash_lines *lines, const struct bt_items *items, struct bt_place *end);
void crash_own_code(struct crash_lines *lines, const struct bt_items *items,
		    const struct bt_branch *b, struct bt_place *end, size_t max);
void crash_name(struct bt_text *t, const char *name);
void crash_shorten(struct crash_lines *lines, size_t max);
void crash_free(struct crash_lines *lines);

#endif
