// SPDX-License-Identifier: GPL-2.0
/* This file reads source files, each once. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source.h"

#define SOURCE_MAX	(16 * 1024 * 1024)

/*
 * struct source - a source file
 * @path: its path
 * @text: its contents, with zeros for newlines and spaces for tabs; NULL if it was not read
 * @line: the beginning of each line in @text
 * @nr: the number of lines
 */
struct source {
	char		*path;
	char		*text;
	char		**line;
	size_t		nr;
	size_t		room;
	struct source	*next;
};

static struct source *sources;

/*
 * Returns the contents of a source file, and sets *@len to their length. Returns NULL if the file
 * cannot be opened, or is larger than SOURCE_MAX. The debug information of a hostile program may
 * name a FIFO or a device: do not wait, and read regular files only.
 */
static char *read_source(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= SOURCE_MAX) {
		text = bt_alloc(st.st_size + 1, 1);
		for (*len = 0; *len < (size_t)st.st_size; *len += n) {
			n = read(fd, text + *len, st.st_size - *len);
			if (n < 0 && errno == EINTR)
				n = 0;
			else if (n <= 0)
				break;
		}
	}
	close(fd);
	return text;
}

static struct source *add_source(const char *path)
{
	struct source *s = bt_alloc(1, sizeof(*s));
	size_t len = 0;
	char *at, *end, *c;

	s->path = bt_copy(path);
	s->text = read_source(path, &len);
	s->next = sources;
	sources = s;
	for (at = s->text; at && at < s->text + len; at = end + 1) {
		end = memchr(at, '\n', len - (at - s->text));
		if (!end)
			end = s->text + len;
		*end = '\0';
		for (c = at; c < end; c++)
			if (*c == '\t')
				*c = ' ';
		s->line = bt_grow(s->line, &s->room, s->nr + 1, sizeof(*s->line));
		s->line[s->nr++] = at;
	}
	return s;
}

/*
 * Returns a line of a source file, without the blanks at its beginning and with spaces for
 * tabs. Lines are counted from 1. Returns NULL if there is no such line.
 */
const char *bt_source_line(const char *path, int line)
{
	struct source *s;
	const char *text;

	for (s = sources; s && strcmp(s->path, path); )
		s = s->next;
	if (!s)
		s = add_source(path);
	if (line < 1 || (size_t)line > s->nr)
		return NULL;
	text = s->line[line - 1];
	return text + strspn(text, " ");
}

void bt_source_free(void)
{
	struct source *s;

	while ((s = sources)) {
		sources = s->next;
		free(s->path);
		free(s->text);
		free(s->line);
		free(s);
	}
}
