// SPDX-License-Identifier: GPL-2.0
/* This file allocates memory, and builds text. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "text.h"

#define TEXT_ROOM	(64 * 1024)

/* No caller can go on without memory: exit, as strace and most tools do. */
static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "btstrace: out of memory: trace less (-e, -n), or fewer threads\n");
		exit(125);
	}
	return p;
}

/* Returns zeroed memory for @n objects of @size bytes. */
void *bt_alloc(size_t n, size_t size)
{
	return need(calloc(n ? n : 1, size));
}

/*
 * Make room for @need_room objects of @size bytes in the array @old, which has room for
 * *@room objects. Update *@room. Returns the array, which may have moved.
 */
void *bt_grow(void *old, size_t *room, size_t need_room, size_t size)
{
	size_t more = *room ? *room : 16;

	if (need_room <= *room)
		return old;
	while (more < need_room)
		more *= 2;
	old = need(reallocarray(old, more, size));
	*room = more;
	return old;
}

char *bt_copy(const char *s)
{
	return need(strdup(s));
}

char *bt_print(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return need(n < 0 ? NULL : s);
}

void text_open(struct bt_text *t, int fd)
{
	*t = (struct bt_text){ .fd = fd };
}

/* Drop the text that was not written yet, and do not truncate the file. */
void text_drop(struct bt_text *t)
{
	t->used = 0;
	t->truncate = false;
}

void text_close(struct bt_text *t)
{
	text_flush(t);
	free(t->buf);
	t->buf = NULL;
	t->room = 0;
}

void text_flush(struct bt_text *t)
{
	struct pollfd poll_fd = { .fd = t->fd, .events = POLLOUT };
	size_t done = 0;
	ssize_t n;

	if (t->fd < 0)
		return;
	/*
	 * ftruncate() fails with EINVAL unless the file is regular. Pipes and terminals, for
	 * example, have no old contents.
	 */
	if (t->truncate && ftruncate(t->fd, 0) && errno != EINVAL)
		t->error = errno;
	t->truncate = false;
	while (done < t->used && !t->error) {
		n = write(t->fd, t->buf + done, t->used - done);
		if (n >= 0)
			done += n;
		else if (errno == EAGAIN)
			/* Another process that shares the terminal may have set O_NONBLOCK. */
			poll(&poll_fd, 1, -1);
		else if (errno != EINTR)
			t->error = errno;
	}
	t->used = 0;
}

/*
 * Returns a pointer to room for @n more bytes. The caller fills them, and adds their number
 * to @t->used.
 */
char *text_reserve(struct bt_text *t, size_t n)
{
	if (n > t->room - t->used) {
		if (t->fd >= 0 && t->used)
			text_flush(t);
		if (n > t->room - t->used) {
			if (!t->room && t->fd >= 0)
				t->buf = bt_grow(t->buf, &t->room, TEXT_ROOM, 1);
			t->buf = bt_grow(t->buf, &t->room, t->used + n, 1);
		}
	}
	return t->buf + t->used;
}

void text_print(struct bt_text *t, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	need(n < 0 ? NULL : s);
	text_put(t, s, n);
	free(s);
}

void text_dec(struct bt_text *t, u64 v)
{
	char digits[20];
	int n = sizeof(digits);

	do
		digits[--n] = '0' + v % 10;
	while (v /= 10);
	text_put(t, digits + n, sizeof(digits) - n);
}

void text_hex(struct bt_text *t, u64 v)
{
	char digits[18];
	int n = sizeof(digits);

	do
		digits[--n] = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	digits[--n] = 'x';
	digits[--n] = '0';
	text_put(t, digits + n, sizeof(digits) - n);
}

static bool continues(const unsigned char *s, int n)
{
	while (n--)
		if ((*++s & 0xc0) != 0x80)
			return false;
	return true;
}

/* Returns the number of bytes of the UTF-8 character at @s, or 0 if the bytes are not UTF-8. */
static int utf8_length(const unsigned char *s)
{
	if (*s < 0x80)
		return 1;
	if (*s >= 0xc2 && *s < 0xe0)
		return continues(s, 1) ? 2 : 0;
	if (*s >= 0xe0 && *s < 0xf0) {
		if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0))
			return 0;
		return continues(s, 2) ? 3 : 0;
	}
	if (*s >= 0xf0 && *s < 0xf5) {
		if ((*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] >= 0x90))
			return 0;
		return continues(s, 3) ? 4 : 0;
	}
	return 0;
}

/* Is the character at @s, of @n bytes, a control character, which a terminal would act upon? */
static bool is_control(const unsigned char *s, int n)
{
	return n == 1 ? *s < ' ' || *s == 0x7f : *s == 0xc2 && s[1] < 0xa0;
}

/*
 * Append a string that may come from a hostile program. Control characters and bytes that
 * are not UTF-8 become question marks.
 */
void text_safe(struct bt_text *t, const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	int n;

	for (; *c; c += n ? n : 1) {
		n = utf8_length(c);
		if (!n || is_control(c, n))
			text_char(t, '?');
		else
			text_put(t, c, n);
	}
}

/* Append @n bytes. Color marks become escape sequences or, if @color is false, nothing. */
void text_color(struct bt_text *t, const char *s, size_t n, bool color)
{
	static const char *const escapes[] = { "", "\33[m", "\33[1m", "\33[2m", "\33[1;31m" };
	size_t i;

	for (i = 0; i < n; i++) {
		if ((u8)s[i] >= ARRAY_SIZE(escapes) || !s[i])
			text_char(t, s[i]);
		else if (color)
			text_str(t, escapes[(u8)s[i]]);
	}
}

/* Append a string of JSON, with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void text_json(struct bt_text *t, const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	int n;

	text_char(t, '"');
	while (*c) {
		n = utf8_length(c);
		if (!n)
			text_str(t, "\\ufffd");
		else if (*c == '"' || *c == '\\')
			text_print(t, "\\%c", *c);
		else if (is_control(c, n))
			text_print(t, "\\u%04x", c[n - 1]);
		else
			text_put(t, c, n);
		c += n ? n : 1;
	}
	text_char(t, '"');
}
