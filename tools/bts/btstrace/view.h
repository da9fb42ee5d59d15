/* SPDX-License-Identifier: GPL-2.0 */
/* The source line to show for an address */
#ifndef BTSTRACE_VIEW_H
#define BTSTRACE_VIEW_H

#include "bt.h"

/*
 * struct bt_view - the source line to show for an address
 * @file:	a source file, or NULL. If the address is in an inlined function of a system
 *	header, @file is the file that calls this function, if that is known.
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
