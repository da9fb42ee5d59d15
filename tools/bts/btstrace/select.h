/* SPDX-License-Identifier: GPL-2.0 */
/* Decides which functions of a call tree are shown. */
#ifndef BTSTRACE_SELECT_H
#define BTSTRACE_SELECT_H

#include "calls.h"

bool bt_select_below(const struct bt_session *s, const struct bt_frame *frame);
void bt_select_frame(const struct bt_session *s, struct bt_calls *c, struct bt_frame *frame);

#endif
