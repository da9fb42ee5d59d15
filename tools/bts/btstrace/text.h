/* SPDX-License-Identifier: GPL-2.0 */
/* Output that is put together piece by piece, and written in large ones. */
#ifndef BTSTRACE_TEXT_H
#define BTSTRACE_TEXT_H

#include <string.h>

#include "bt.h"

/*
 * struct bt_text - text on its way to a file
 * @fd:		where it goes; -1 keeps it all in memory
 * @old:	truncate the file before anything is written to it
 * @error:	errno of the first write that failed; nothing is written after it
 * @used:	bytes in @buf that are not written yet
 * @room:	size of @buf
 * @buf:	what waits
 */
struct bt_text {
	int	fd;
	bool	old;
	int	error;
	size_t	used;
	size_t	room;
	char	*buf;
};

void text_open(struct bt_text *t, int fd);
void text_close(struct bt_text *t);
void text_flush(struct bt_text *t);
void text_drop(struct bt_text *t);
char *text_reserve(struct bt_text *t, size_t n);
BT_PRINTF(2, 3) void text_print(struct bt_text *t, const char *fmt, ...);
void text_dec(struct bt_text *t, u64 v);
void text_hex(struct bt_text *t, u64 v);
void text_color(struct bt_text *t, const char *s, size_t n, bool color);
void text_safe(struct bt_text *t, const char *s);
void text_json(struct bt_text *t, const char *s);

/* @s may be NULL if @n is 0. */
static inline void text_put(struct bt_text *t, const void *s, size_t n)
{
	if (!n)
		return;
	memcpy(text_reserve(t, n), s, n);
	t->used += n;
}

static inline void text_str(struct bt_text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

static inline void text_char(struct bt_text *t, char c)
{
	*text_reserve(t, 1) = c;
	t->used++;
}

/*
 * Bytes that begin a part in another colour, in text that text_color() writes; what
 * text_safe() writes has none of them.
 */
#define TEXT_NORMAL	"\1"
#define TEXT_BOLD	"\2"
#define TEXT_DIM	"\3"
#define TEXT_RED	"\4"

#endif
