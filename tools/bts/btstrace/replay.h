/* SPDX-License-Identifier: GPL-2.0 */
/* Reads a recorded trace, and tells a session what it holds; see chunk.h. */
#ifndef BTSTRACE_REPLAY_H
#define BTSTRACE_REPLAY_H

#include "ident.h"
#include "session.h"

/*
 * Says that a file is another than it was, or that it cannot be opened: then @now is NULL,
 * and errno tells why.
 */
typedef void bt_misfit(const char *path, const struct bt_ident *then, const struct bt_ident *now);

size_t bt_file_check(const u8 *bytes, size_t len, bt_misfit *tell);
const char *bt_file_replay(struct bt_session *s, const u8 *bytes, size_t len);

#endif
