/* SPDX-License-Identifier: GPL-2.0 */
/* This header is for the branches and functions that are wanted: -e, --root, --depth. */
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
 * struct bt_select - which functions of a call tree
 * @root:	a pattern: only functions of such a name, and what they call; or NULL
 * @depth:	no more than so many below each other; 0 for all
 */
struct bt_select {
	const char	*root;
	u32		depth;
};

#endif
