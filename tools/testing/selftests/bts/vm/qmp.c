// SPDX-License-Identifier: GPL-2.0
/*
 * The emulator's machine protocol (QMP), with a minimal parser of JSON. A quote inside of a string
 * is escaped, so a search for "text" in a line, with the quotes, does not find quoted text inside
 * of a string.
 */
#include <stdlib.h>
#include <string.h>

#include "vmrun.h"

/* Copy a JSON string, whose opening quote is at @s. Decode its escapes, and leave out each CR. */
static void unquote(const char *s, struct buf *text)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";

	for (s++; *s && *s != '"'; s++) {
		char c = *s;

		if (c == '\\' && s[1]) {
			const char *esc;

			c = *++s;
			esc = strchr(from, c);
			if (esc) {
				c = to[esc - from];
			} else if (c == 'u' && strlen(s) > 4) {
				char hex[5] = { s[1], s[2], s[3], s[4], };

				c = strtoul(hex, NULL, 16);
				s += 4;
			}
		}
		if (c != '\r')
			buf_add(text, &c, 1);
	}
}

static bool string_of(const char *line, const char *key, struct buf *text)
{
	const char *s = strstr(line, key);

	if (!s)
		return false;
	s += strlen(key);
	s += strspn(s, ": ");
	if (*s != '"')
		return false;
	unquote(s, text);
	return true;
}

enum qmp_kind qmp_parse(const char *line, struct buf *text)
{
	text->len = 0;
	if (strstr(line, "\"QMP\""))
		return QMP_GREETING;
	if (strstr(line, "\"event\"")) {
		if (!strstr(line, "\"SHUTDOWN\""))
			return QMP_OTHER;
		string_of(line, "\"reason\"", text);
		return QMP_SHUTDOWN;
	}
	if (string_of(line, "\"return\"", text))
		return QMP_OUTPUT;
	if (strstr(line, "\"error\"")) {
		string_of(line, "\"desc\"", text);
		return QMP_OUTPUT;
	}
	return QMP_OTHER;
}

void qmp_request(const char *command, struct buf *out)
{
	static const char head[] =
		"{\"execute\": \"human-monitor-command\", \"arguments\": {\"command-line\": \"";
	static const char tail[] = "\"}}\n";

	buf_add(out, head, strlen(head));
	for (; *command; command++) {
		if (*command == '"' || *command == '\\')
			buf_add(out, "\\", 1);
		if ((unsigned char)*command >= ' ')
			buf_add(out, command, 1);
	}
	buf_add(out, tail, strlen(tail));
}
