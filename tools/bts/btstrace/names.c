// SPDX-License-Identifier: GPL-2.0
/* This file demangles the names of functions. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>
/* libiberty.h and bt.h have different definitions of ARRAY_SIZE. */
#undef ARRAY_SIZE

#include "function.h"
#include "text.h"

/*
 * The longest name that is demangled, and the longest result, in bytes. A short mangled name in
 * a hostile file may stand for a huge text.
 */
#define NAME_MAX_IN	2048
#define NAME_MAX_OUT	4096

static bool raw_names;

/* Show mangled names from now on. */
void bt_demangle_disable(void)
{
	raw_names = true;
}

struct demangling {
	struct bt_text text;
	jmp_buf enough;
};

static void take(const char *s, size_t n, void *opaque)
{
	struct demangling *d = opaque;

	if (n > NAME_MAX_OUT - d->text.used)
		longjmp(d->enough, 1);
	text_put(&d->text, s, n);
}

/*
 * Returns the demangled form of a C++ or Rust name. The caller frees it. Returns NULL if @name
 * is not mangled, or if the name or its demangled form is too long.
 */
char *bt_demangle(const char *name)
{
	struct demangling d;
	bool rust = !strncmp(name, "_R", 2), found = false;

	if ((!rust && strncmp(name, "_Z", 2)) || strlen(name) > NAME_MAX_IN)
		return NULL;
	text_open(&d.text, -1);
	/* If the text becomes too long, the longjmp() in take() may leak the demangler's memory. */
	if (!setjmp(d.enough))
		found = rust ? rust_demangle_callback(name, 0, take, &d) :
			cplus_demangle_v3_callback(name, DMGL_ANSI, take, &d);
	if (found)
		text_char(&d.text, '\0');
	else
		text_close(&d.text);
	return d.text.buf;
}

/* Returns the name to show. If @name may have to be demangled, *@shown caches the result. */
static const char *shown_name(const char *name, char **shown)
{
	if (raw_names || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return name;
	if (!*shown)
		*shown = bt_demangle(name);
	if (!*shown)
		*shown = bt_copy(name);
	return *shown;
}

const char *bt_function_name(const struct bt_function *fn)
{
	/* Cast const away to fill in @shown, a cache that callers do not see. */
	return shown_name(fn->name, &((struct bt_function *)fn)->shown);
}

const char *bt_alias_name(struct bt_alias *alias)
{
	return shown_name(alias->name, &alias->shown);
}

static bool name_matches(const char *name, const char *pattern)
{
	char *meaning;
	bool found = !fnmatch(pattern, name, 0);

	if (found)
		return true;
	meaning = bt_demangle(name);
	found = meaning && !fnmatch(pattern, meaning, 0);
	free(meaning);
	return found;
}

/* Does @pattern match one of the names of @fn, mangled or demangled? */
bool bt_function_matches(const struct bt_function *fn, const char *pattern)
{
	const struct bt_alias *alias;

	if (name_matches(fn->name, pattern))
		return true;
	for (alias = fn->alias; alias; alias = alias->next)
		if (name_matches(alias->name, pattern))
			return true;
	return false;
}
