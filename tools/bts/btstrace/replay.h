/* SPDX-License-Identifier: GPL-2.0 */
/* Reads a recorded trace, and passes it to a session. See chunk.h for the format. */
#ifndef BTSTRACE_REPLAY_H
#define BTSTRACE_REPLAY_H

#include "ident.h"
#include "session.h"

/*
 * Called for a file that has changed since it was traced, or that cannot be opened. @then and
 * @now are its identities. @now is NULL if the file cannot be opened; errno tells why.
 */
typedef void bt_misfit(const char *path, const struct bt_ident *then, const struct bt_ident *now);

size_t bt_file_check(const u8 *bytes, size_t len, bt_misfit *tell);
const char *bt_file_replay(struct bt_session *s, const u8 *bytes, size_t len);

#endif
