/* SPDX-License-Identifier: GPL-2.0 */
/* Which functions of a call tree are shown: --root, --depth, -e. */
#ifndef BTSTRACE_SELECT_H
#define BTSTRACE_SELECT_H

#include "calls.h"

/*
 * struct bt_select - what is wanted
 * @root:	a pattern: only functions of such a name, and what they call; or NULL
 * @depth:	no more than so many below each other; 0 for all
 */
struct bt_select {
	const char	*root;
	u32		depth;
};

void bt_select_frame(const struct bt_session *s, struct bt_calls *c, struct bt_frame *frame);

#endif
