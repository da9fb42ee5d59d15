// SPDX-License-Identifier: GPL-2.0
/* This file parses the text of /proc/PID/maps. */
#include <stdlib.h>
#include <string.h>

#include "maps.h"

/* Read a number in base @base at *@s, and move *@s behind it. Returns false if there is none. */
static bool number(const char **s, const char *end, int base, u64 *v)
{
	const char *begin = *s;
	int digit;

	for (*v = 0; *s < end; (*s)++) {
		char c = **s;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			break;
		*v = *v * base + digit;
	}
	return *s > begin;
}

static bool letter(const char **s, const char *end, char c)
{
	if (*s >= end || **s != c)
		return false;
	(*s)++;
	return true;
}

/* Copy a path. The kernel writes a newline in a path as \012. */
static char *copy_path(const char *s, const char *end)
{
	char *path = bt_alloc(end - s + 1, 1), *out = path;

	while (s < end && *s) {
		if (end - s >= 4 && !memcmp(s, "\\012", 4)) {
			*out++ = '\n';
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	return path;
}

/* A line is START-END PERM OFFSET MAJOR:MINOR INODE PATH. */
static bool parse_line(const char *s, const char *end, struct bt_map *map)
{
	u64 major, minor;

	memset(map, 0, sizeof(*map));
	if (!number(&s, end, 16, &map->start) || !letter(&s, end, '-') ||
	    !number(&s, end, 16, &map->end) || !letter(&s, end, ' ') || end - s < 5)
		return false;
	map->writable = s[1] == 'w';
	map->executable = s[2] == 'x';
	s += 4;
	if (!letter(&s, end, ' ') || !number(&s, end, 16, &map->offset) ||
	    !letter(&s, end, ' ') || !number(&s, end, 16, &major) || !letter(&s, end, ':') ||
	    !number(&s, end, 16, &minor) || !letter(&s, end, ' ') ||
	    !number(&s, end, 10, &map->ino) || map->start >= map->end)
		return false;
	map->dev = major << 32 | (u32)minor;
	while (s < end && *s == ' ')
		s++;
	map->path = copy_path(s, end);
	return true;
}

/*
 * Set *@maps to the lines of @text, without lines that are malformed or not in order.
 * Returns the number of lines in *@maps.
 */
size_t bt_maps_parse(const char *text, size_t len, struct bt_map **maps)
{
	const char *end = text + len, *eol;
	size_t n = 0, room = 0;
	struct bt_map map;

	*maps = NULL;
	for (; text < end; text = eol + 1) {
		eol = memchr(text, '\n', end - text);
		if (!eol)
			eol = end;
		if (!parse_line(text, eol, &map))
			continue;
		/* bt_maps_find() needs sorted lines. */
		if (n && map.start < (*maps)[n - 1].end) {
			free(map.path);
			continue;
		}
		*maps = bt_grow(*maps, &room, n + 1, sizeof(map));
		(*maps)[n++] = map;
	}
	return n;
}

void bt_maps_free(struct bt_map *maps, size_t n)
{
	while (n)
		free(maps[--n].path);
	free(maps);
}

const struct bt_map *bt_maps_find(const struct bt_map *maps, size_t n, u64 addr)
{
	size_t low = 0, high = n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (maps[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && maps[low].start <= addr ? &maps[low] : NULL;
}
