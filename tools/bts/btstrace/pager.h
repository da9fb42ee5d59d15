/* SPDX-License-Identifier: GPL-2.0 */
/* Terminals: their colors, their width, and a pager */
#ifndef BTSTRACE_PAGER_H
#define BTSTRACE_PAGER_H

#include "bt.h"

enum bt_when { BT_AUTO, BT_ALWAYS, BT_NEVER };

bool bt_wants_color(int fd, enum bt_when when);
size_t bt_columns(int fd);
int bt_pager_start(int fd);
bool bt_pager_end(void);

#endif
