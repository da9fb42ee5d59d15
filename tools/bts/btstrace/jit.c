// SPDX-License-Identifier: GPL-2.0
/* This file keeps the functions that just-in-time compilers list; see jit.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jit.h"

#define JIT_NAME_LENGTH	1024

/*
 * struct bt_jit - the functions of one call of bt_jit_add()
 * @functions: the functions, sorted by address
 * @older: the functions of earlier calls for the same process
 * @next: links the structs of all processes for bt_jit_free(). They are freed only at the
 *	end, as other parts of btstrace keep pointers to the functions.
 */
struct bt_jit {
	struct bt_functions	functions;
	struct bt_jit		*older;
	struct bt_jit		*next;
};

static struct bt_jit *all;

static bool hex(const char **s, const char *end, u64 *v)
{
	const char *begin = *s;
	int digit;

	if (end - *s > 2 && !memcmp(*s, "0x", 2))
		*s = begin += 2;
	for (*v = 0; *s < end && *s - begin < 16; (*s)++) {
		digit = **s >= '0' && **s <= '9' ? **s - '0' :
			(**s | 0x20) >= 'a' && (**s | 0x20) <= 'f' ? (**s | 0x20) - 'a' + 10 : -1;
		if (digit < 0)
			break;
		*v = *v << 4 | digit;
	}
	return *s > begin && *s < end && *(*s)++ == ' ';
}

/* A line is START SIZE NAME, with hexadecimal numbers; the name may contain blanks. */
static void add_line(struct bt_functions *list, const char *s, const char *end)
{
	u64 start, size;
	int length;

	if (!hex(&s, end, &start) || !hex(&s, end, &size) || s == end || !size ||
	    start + size < start)
		return;
	length = end - s < JIT_NAME_LENGTH ? end - s : JIT_NAME_LENGTH;
	bt_functions_add(list, (struct bt_function){
		.name = bt_print("%.*s", length, s),
		.start = start, .end = start + size, .named = true,
	});
}

/* Add functions to *@jit, the list of one process. @text has lines as in /tmp/perf-PID.map. */
void bt_jit_add(struct bt_jit **jit, const char *text, size_t len)
{
	const char *end = text + len, *eol;
	struct bt_jit *more = bt_alloc(1, sizeof(*more));

	for (; text < end; text = eol + 1) {
		eol = memchr(text, '\n', end - text);
		if (!eol)
			eol = end;
		add_line(&more->functions, text, eol);
	}
	bt_functions_tidy(&more->functions);
	more->older = *jit;
	*jit = more;
	more->next = all;
	all = more;
}

/* Returns a function at @addr from the latest bt_jit_add() that has added one there, or NULL. */
const struct bt_function *bt_jit_function(const struct bt_jit *jit, u64 addr)
{
	const struct bt_function *fn = NULL;

	for (; jit && !fn; jit = jit->older)
		fn = bt_functions_at(&jit->functions, addr);
	return fn;
}

void bt_jit_free(void)
{
	struct bt_jit *jit;

	while ((jit = all)) {
		all = jit->next;
		bt_functions_free(&jit->functions);
		free(jit);
	}
}
