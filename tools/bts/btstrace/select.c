// SPDX-License-Identifier: GPL-2.0
/* Which functions of a call tree are shown */
#include "select.h"

/* Is what is called by a frame that is shown not too deep? */
bool bt_select_below(const struct bt_session *s, const struct bt_frame *frame)
{
	const struct bt_select *select = s->select;

	return !select || !select->depth || frame->level < select->depth;
}

/*
 * Find out whether a frame that begins is shown. What it does counts for the next one
 * below it that is, if not.
 */
void bt_select_frame(const struct bt_session *s, struct bt_calls *c, struct bt_frame *frame)
{
	const struct bt_select *select = s->select;
	const struct bt_frame *below = bt_frame_below(c, frame);
	const char *root = select ? select->root : NULL;

	frame->inside = !root || (below && below->inside) || bt_function_matches(frame->fn, root);
	frame->level = below ? below->level : 0;
	frame->shown = frame->inside && bt_filter_function(s->filter, frame->fn, frame->module) &&
		       bt_select_below(s, frame);
	frame->level += frame->shown;
}
