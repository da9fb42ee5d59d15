/* SPDX-License-Identifier: GPL-2.0 */
/* The source line to show for an address */
#ifndef BTSTRACE_VIEW_H
#define BTSTRACE_VIEW_H

#include "bt.h"

/*
 * struct bt_view - the source line to show for an address
 * @file:	a source file, or NULL. Inlined functions of system headers are left out: if the
 *	address is in such a function, this is the file of the call, if that is known.
 * @line:	the line in @file
 * @inlined:	the inlined function that contains this line; NULL if there is none, if it is not
 *	known, or if @file is a system header
 */
struct bt_view {
	const char	*file;
	int		line;
	const char	*inlined;
};

/* Called with a source line whose code begins at @addr */
typedef void bt_take_line(void *arg, u64 addr, const char *file, int line);

bool bt_is_system_source(const char *file);

#endif
