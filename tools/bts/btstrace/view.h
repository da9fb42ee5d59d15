/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of source text, as people see them. */
#ifndef BTSTRACE_VIEW_H
#define BTSTRACE_VIEW_H

#include "bt.h"

/*
 * struct bt_view - how people see an address
 * @file:	source file
 * @line:	its line; if that is in a header of the system, the one in the user's own
 *		file that led there
 * @inlined:	the function that this line is part of, if it was inlined; or NULL
 */
struct bt_view {
	const char	*file;
	int		line;
	const char	*inlined;
};

/* Takes a line that there is code for, at @addr. */
typedef void bt_take_line(void *arg, u64 addr, const char *file, int line);

bool bt_is_system_source(const char *file);

#endif
