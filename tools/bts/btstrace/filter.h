/* SPDX-License-Identifier: GPL-2.0 */
/* Selects branches and functions: the options -e, --root and --depth */
#ifndef BTSTRACE_FILTER_H
#define BTSTRACE_FILTER_H

#include "space.h"

struct bt_filter;

struct bt_filter *bt_filter_add(struct bt_filter *filter, const char *spec, const char **error);
bool bt_filter_passes(const struct bt_filter *filter, enum bt_kind kind,
		      const struct bt_place *from, const struct bt_place *to);
bool bt_filter_function(const struct bt_filter *filter, const struct bt_function *fn,
			const struct bt_module *module);
bool bt_filter_about_functions(const struct bt_filter *filter);
void bt_filter_free(struct bt_filter *filter);

/*
 * struct bt_select - the functions to show in a call tree
 * @root:	a pattern: show only functions that match, and the functions that they call,
 *	directly or not; NULL: show all functions
 * @depth:	show at most this many levels of calls; 0 for all
 */
struct bt_select {
	const char	*root;
	u32		depth;
};

#endif
