// SPDX-License-Identifier: GPL-2.0
/* This file decides which branches and functions are shown: option -e. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

enum { FILTER_KIND, FILTER_FROM, FILTER_TO, FILTER_EITHER, FILTER_MODULE };

/*
 * struct bt_filter - a condition: the argument of one option -e
 * @what: FILTER_*
 * @not: negate the condition
 * @kinds: FILTER_KIND only: a bit 1 << enum bt_kind for each accepted kind
 * @patterns: of the other conditions: patterns, each ended by a zero byte; an empty pattern
 *	ends the list. The condition is true if one pattern matches.
 * @next: the next condition, or NULL; a branch or function passes if all conditions are true
 */
struct bt_filter {
	int			what;
	bool			not;
	u32			kinds;
	char			*patterns;
	struct bt_filter	*next;
};

static const char *const prefixes[] = {
	[FILTER_KIND]	= "kind=",
	[FILTER_FROM]	= "from=",
	[FILTER_TO]	= "to=",
	[FILTER_EITHER]	= "func=",
	[FILTER_MODULE]	= "module=",
};

static bool parse_kinds(struct bt_filter *f, const char *s)
{
	enum bt_kind kind;
	size_t len;

	for (;; s += len + 1) {
		len = strcspn(s, ",");
		if (!bt_kind_parse(s, len, &kind))
			return false;
		f->kinds |= 1u << kind;
		if (!s[len])
			return true;
	}
}

static bool parse_patterns(struct bt_filter *f, const char *s)
{
	char *c;

	/* An empty pattern would end the list. */
	if (!*s || *s == ',' || s[strlen(s) - 1] == ',' || strstr(s, ",,"))
		return false;
	f->patterns = bt_print("%s%c%c", s, 0, 0);
	for (c = f->patterns; *c; c++)
		if (*c == ',')
			*c = '\0';
	return true;
}

/*
 * bt_filter_add - add a condition
 * @filter: the list of conditions so far, or NULL
 * @spec: an argument of -e: [!]KIND,... or [!]KEY=LIST with the key kind, from, to, func or module
 * @error: set to a message if @spec is wrong
 *
 * Returns the list with the new condition, or NULL if @spec is wrong.
 */
struct bt_filter *bt_filter_add(struct bt_filter *filter, const char *spec, const char **error)
{
	struct bt_filter *f = bt_alloc(1, sizeof(*f));
	size_t i;
	bool fine;

	f->not = *spec == '!';
	spec += f->not;
	f->what = FILTER_KIND;
	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(spec, prefixes[i], strlen(prefixes[i])))
			continue;
		f->what = i;
		spec += strlen(prefixes[i]);
		break;
	}
	fine = f->what == FILTER_KIND ? parse_kinds(f, spec) : parse_patterns(f, spec);
	if (!fine) {
		*error = f->what == FILTER_KIND ?
			strpbrk(spec, "=:") ?
			"filters are kind=, from=, to=, func= and module=" :
			"kinds are call, ret, jmp, jcc, syscall, interrupt and ?; "
			"a function is func=NAME" :
			"a list of patterns has to follow";
		free(f);
		return NULL;
	}
	f->next = filter;
	return f;
}

static bool matches(const struct bt_filter *f, const struct bt_place *place)
{
	const char *pattern;

	if (!place)
		return false;
	for (pattern = f->patterns; *pattern; pattern += strlen(pattern) + 1)
		if (f->what == FILTER_MODULE ? !fnmatch(pattern, place->module->name, 0) :
		    bt_function_matches(place->fn, pattern))
			return true;
	return false;
}

static bool holds(const struct bt_filter *f, enum bt_kind kind, const struct bt_place *from,
		  const struct bt_place *to)
{
	switch (f->what) {
	case FILTER_KIND:
		return f->kinds & 1u << kind;
	case FILTER_FROM:
		return matches(f, from);
	case FILTER_TO:
		return matches(f, to);
	default:
		return matches(f, from) || matches(f, to);
	}
}

/* Does a branch meet all conditions? @from or @to is NULL if unknown: no pattern matches it. */
bool bt_filter_passes(const struct bt_filter *filter, enum bt_kind kind,
		      const struct bt_place *from, const struct bt_place *to)
{
	for (; filter; filter = filter->next)
		if (holds(filter, kind, from, to) == filter->not)
			return false;
	return true;
}

/*
 * Does @fn, a function of @module, meet all conditions? Call this only if
 * bt_filter_about_functions() returns true for @filter.
 */
bool bt_filter_function(const struct bt_filter *filter, const struct bt_function *fn,
			const struct bt_module *module)
{
	struct bt_place place;

	if (!filter)
		return true;
	place = (struct bt_place){ .fn = fn, .module = (struct bt_module *)module };
	for (; filter; filter = filter->next)
		if (matches(filter, &place) == filter->not)
			return false;
	return true;
}

/* Is each condition func= or module=? Such conditions need a function, but no branch. */
bool bt_filter_about_functions(const struct bt_filter *filter)
{
	for (; filter; filter = filter->next)
		if (filter->what != FILTER_EITHER && filter->what != FILTER_MODULE)
			return false;
	return true;
}

void bt_filter_free(struct bt_filter *filter)
{
	struct bt_filter *next;

	for (; filter; filter = next) {
		next = filter->next;
		free(filter->patterns);
		free(filter);
	}
}
