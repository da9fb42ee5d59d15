/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces live threads: starts a command or attaches to processes, and passes their records
 * to a session.
 */
#ifndef BTSTRACE_FOLLOW_H
#define BTSTRACE_FOLLOW_H

#include "how.h"
#include "session.h"

struct bt_follow;

struct bt_follow *bt_follow_new(struct bt_session *s, const struct bt_how *how);
int bt_follow_start(struct bt_follow *f, char **argv);
int bt_follow_attach(struct bt_follow *f, pid_t pid);
int bt_follow_run(struct bt_follow *f);
int bt_follow_status(const struct bt_follow *f);
void bt_follow_free(struct bt_follow *f);

#endif
