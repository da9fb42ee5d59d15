/* SPDX-License-Identifier: GPL-2.0 */
/* Live threads: starts or attaches to them, and tells a session what they do. */
#ifndef BTSTRACE_FOLLOW_H
#define BTSTRACE_FOLLOW_H

#include "proc.h"
#include "session.h"

/*
 * struct bt_how - what is wanted of live threads
 * @bytes:	of each thread's trace
 * @fixed:	no less will do
 * @shrink:	the more threads, the less for each: what is there will do
 * @full:	nothing may be lost: read whenever a trace is full
 * @children:	follow threads and processes that are made
 * @kernel:	the kernel's branches too
 * @entries:	where user mode is left
 * @sched:	when threads are scheduled in and out
 * @quiet:	do not tell on standard error that the hardware is not there
 * @progress:	tell on standard error how far it is
 */
struct bt_how {
	u32	bytes;
	bool	fixed;
	bool	shrink;
	bool	full;
	bool	children;
	bool	kernel;
	bool	entries;
	bool	sched;
	bool	quiet;
	bool	progress;
};

struct bt_follow;

struct bt_follow *bt_follow_new(struct bt_session *s, const struct bt_how *how);
int bt_follow_start(struct bt_follow *f, char **argv);
int bt_follow_attach(struct bt_follow *f, pid_t pid);
int bt_follow_run(struct bt_follow *f);
int bt_follow_status(const struct bt_follow *f);
void bt_follow_free(struct bt_follow *f);

#endif
