// SPDX-License-Identifier: GPL-2.0
/* This file decides which functions of a call tree are shown: options --root, --depth and -e. */
#include "select.h"

/* Does --depth allow to show a function whose level is @frame->level + 1? */
bool bt_select_below(const struct bt_session *s, const struct bt_frame *frame)
{
	const struct bt_select *select = s->select;

	return !select || !select->depth || frame->level < select->depth;
}

/*
 * Fill in @inside, @level and @shown of a new frame. If the frame is not shown, its branches
 * count for the nearest shown frame below, that is, for a caller; or for none.
 */
void bt_select_frame(const struct bt_session *s, struct bt_calls *c, struct bt_frame *frame)
{
	const struct bt_select *select = s->select;
	const struct bt_frame *below = bt_frame_caller(c, frame);
	const char *root = select ? select->root : NULL;

	frame->inside = !root || (below && below->inside) || bt_function_matches(frame->fn, root);
	frame->level = below ? below->level : 0;
	frame->shown = frame->inside && bt_filter_function(s->filter, frame->fn, frame->module) &&
		       bt_select_below(s, frame);
	frame->level += frame->shown;
}
