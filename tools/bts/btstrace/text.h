/* SPDX-License-Identifier: GPL-2.0 */
/* Builds text in memory, and writes it to a file in large pieces. */
#ifndef BTSTRACE_TEXT_H
#define BTSTRACE_TEXT_H

#include <string.h>

#include "bt.h"

/*
 * struct bt_text - text in memory, or for a file
 * @fd:		the file; -1: keep all text in memory
 * @truncate:	truncate the file before the first write: it may have old contents
 * @error:	errno of the write, truncation or close() that failed, after which nothing is
 *	written; or 0
 * @used:	the number of bytes in @buf
 * @room:	the size of @buf
 * @buf:	text that was not written to @fd yet
 */
struct bt_text {
	int	fd;
	bool	truncate;
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

/* Append @n bytes. @s may be NULL if @n is 0. */
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
 * Color marks: text_color() replaces these bytes by escape sequences, or drops them if colors
 * are off. text_safe() never writes them.
 */
#define TEXT_NORMAL	"\1"
#define TEXT_BOLD	"\2"
#define TEXT_DIM	"\3"
#define TEXT_RED	"\4"

#endif
