// SPDX-License-Identifier: GPL-2.0
/* This file measures how many columns of a terminal a text needs. */
#include <locale.h>
#include <wchar.h>

#include "width.h"

/*
 * Returns a locale for wcwidth(): C.UTF-8 or, if C.UTF-8 is not installed, that of the user.
 * Returns NULL if neither is installed: wcwidth() knows only ASCII then.
 */
static locale_t utf8_locale(void)
{
	static locale_t utf8;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "", NULL);
	return utf8;
}

/*
 * Returns the UTF-8 character at @s, and sets *@len to its length. The character is valid, as
 * text_safe() has written it, or it is ASCII.
 */
static wchar_t character(const char *s, size_t n, size_t *len)
{
	u8 first = *s;
	wchar_t c;
	size_t i;

	*len = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (*len > n)
		*len = n;
	if (*len == 1)
		return first;
	c = first & (0x7f >> *len);
	for (i = 1; i < *len; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/*
 * Returns the columns of @c: 0 for a color mark such as TEXT_BOLD, 1 for a character that
 * wcwidth() does not know.
 */
static size_t width_of(wchar_t c)
{
	int width;

	if (c < ' ')
		return 0;
	width = c < 0x7f ? 1 : wcwidth(c);
	return width < 0 ? 1 : width;
}

/*
 * bt_width - measure text
 * @s: valid UTF-8, as text_safe() writes it; it may contain color marks such as TEXT_BOLD
 * @n: the number of bytes of @s
 * @most: the number of columns of the terminal; 0 if there is no limit
 * @fits: set to the number of bytes of @s that fit into @most columns
 *
 * Returns the number of columns that the first *@fits bytes of @s need.
 */
size_t bt_width(const char *s, size_t n, size_t most, size_t *fits)
{
	locale_t utf8 = utf8_locale(), before = utf8 ? uselocale(utf8) : NULL;
	size_t at, len, width, sum = 0;

	for (at = 0; at < n; at += len) {
		width = width_of(character(s + at, n - at, &len));
		if (most && sum + width > most)
			break;
		sum += width;
	}
	if (utf8)
		uselocale(before);
	*fits = at;
	return sum;
}
