// SPDX-License-Identifier: GPL-2.0
/* This file keeps lists of functions, sorted by address. */
#include <stdlib.h>
#include <string.h>

#include "function.h"

/* Add @fn. The list takes over @fn.name, which was allocated, and frees it later. */
void bt_functions_add(struct bt_functions *list, struct bt_function fn)
{
	if (fn.end < fn.start)
		fn.end = fn.start;
	list->fn = bt_grow(list->fn, &list->room, list->nr + 1, sizeof(fn));
	list->fn[list->nr++] = fn;
}

/* Add a copy of @name to the other names of @fn. */
void bt_function_alias(struct bt_function *fn, const char *name)
{
	struct bt_alias *alias = bt_alloc(1, sizeof(*alias));

	alias->name = bt_copy(name);
	alias->next = fn->alias;
	fn->alias = alias;
}

static int underscores(const char *s)
{
	return strspn(s, "_");
}

/*
 * Sort by address. Of several functions at one address, the preferred comes first: one with
 * a size, then one that is no stand-in, then the name that people most likely know.
 */
static int compare_functions(const void *va, const void *vb)
{
	const struct bt_function *a = va, *b = vb;
	bool a_old = a->rank == BT_RANK_OLD, b_old = b->rank == BT_RANK_OLD;
	bool a_sized = a->end > a->start, b_sized = b->end > b->start;
	int diff;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a_sized != b_sized)
		return a_sized ? -1 : 1;
	if (a->named != b->named)
		return a->named ? -1 : 1;
	if (a_old != b_old)
		return a_old ? 1 : -1;
	diff = underscores(a->name) - underscores(b->name);
	if (!diff)
		diff = a->rank - b->rank;
	if (!diff)
		diff = (int)strlen(a->name) - (int)strlen(b->name);
	return diff ? diff : strcmp(a->name, b->name);
}

/* If @fn has no size, it ends at @next, or at a @fn->limit between @fn->start and @next. */
static void end_before(struct bt_function *fn, u64 next)
{
	if (fn->end == fn->start)
		fn->end = fn->limit > fn->start && fn->limit < next ? fn->limit : next;
}

static void free_function(struct bt_function *fn)
{
	struct bt_alias *alias;

	while ((alias = fn->alias)) {
		fn->alias = alias->next;
		free((void *)alias->name);
		free(alias->shown);
		free(alias);
	}
	free((void *)fn->name);
	free(fn->shown);
}

/*
 * Make the name of @fn an alias of @first, which begins at the same address, unless @fn is a
 * stand-in, or has the same name. Free @fn.
 */
static void merge(struct bt_function *first, struct bt_function *fn)
{
	if (fn->named && strcmp(first->name, fn->name))
		bt_function_alias(first, fn->name);
	free_function(fn);
}

/*
 * Sort the list. Merge functions that begin at one address. If a stand-in, or a symbol without a
 * size, begins within another function, drop it. Elsewhere, a function without a size ends where
 * the next function begins, or at its @limit if that comes first.
 */
void bt_functions_tidy(struct bt_functions *list)
{
	struct bt_function *fn = list->fn;
	size_t in, out = 0;
	u64 covered = 0;

	if (list->nr)
		qsort(fn, list->nr, sizeof(*fn), compare_functions);
	for (in = 0; in < list->nr; in++) {
		bool sized = fn[in].end > fn[in].start;

		if (out && fn[out - 1].start == fn[in].start) {
			merge(&fn[out - 1], &fn[in]);
			continue;
		}
		if ((!sized || !fn[in].named) && fn[in].start < covered) {
			free_function(&fn[in]);
			continue;
		}
		if (sized && fn[in].end > covered)
			covered = fn[in].end;
		if (out)
			end_before(&fn[out - 1], fn[in].start);
		fn[out++] = fn[in];
	}
	if (out && fn[out - 1].limit)
		end_before(&fn[out - 1], UINT64_MAX);
	/* Drop the last function if its end is unknown. */
	if (out && fn[out - 1].end == fn[out - 1].start)
		free_function(&fn[--out]);
	list->nr = out;
}

void bt_functions_free(struct bt_functions *list)
{
	while (list->nr)
		free_function(&list->fn[--list->nr]);
	free(list->fn);
	*list = (struct bt_functions){};
}

/* Returns the innermost function that contains @addr, or NULL. */
const struct bt_function *bt_functions_at(const struct bt_functions *list, u64 addr)
{
	const struct bt_function *fn = list->fn;
	size_t low = 0, high = list->nr, middle;
	int back;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (fn[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	/*
	 * A function that begins before @fn[low - 1] may enclose it. This is rare: look at 16
	 * functions at most.
	 */
	for (back = 0; low && back < 16; back++)
		if (addr < fn[--low].end)
			return &fn[low];
	return NULL;
}
