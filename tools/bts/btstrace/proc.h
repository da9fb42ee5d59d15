/* SPDX-License-Identifier: GPL-2.0 */
/* Reads from /proc, and with ptrace, what is known of a thread. */
#ifndef BTSTRACE_PROC_H
#define BTSTRACE_PROC_H

#include "bt.h"

/* struct bt_buffer - the contents of a file of /proc, as they were read last */
struct bt_buffer {
	char	*bytes;
	size_t	len;
	size_t	room;
};

bool bt_proc_read(struct bt_buffer *b, pid_t tid, const char *file);
bool bt_proc_comm(pid_t tid, char *comm, size_t len);
pid_t bt_proc_tgid(pid_t tid);
pid_t bt_proc_tracer(pid_t tid);
bool bt_proc_is64(pid_t tid);
u64 bt_proc_ip(pid_t tid);
size_t bt_proc_threads(pid_t tgid, pid_t **tids);

#endif
