/* SPDX-License-Identifier: GPL-2.0 */
/* Why something does not work, and what to do about it: one line each. */
#ifndef BTSTRACE_EXPLAIN_H
#define BTSTRACE_EXPLAIN_H

#include "bt.h"

/* Exit statuses; below 110 is what the command returned. */
enum bt_exit {
	BT_EXIT_NO_SOURCE	= 110,	/* this machine cannot */
	BT_EXIT_BUSY		= 111,	/* another user has the hardware */
	BT_EXIT_KERNEL		= 112,	/* the kernel may not be traced */
	BT_EXIT_MEMLOCK		= 113,	/* RLIMIT_MEMLOCK, or no memory */
	BT_EXIT_SYSCTL		= 114,	/* kernel.ptrace_bts says no */
	BT_EXIT_PTRACE		= 115,	/* the process may not be traced */
	BT_EXIT_OLD_KERNEL	= 116,	/* the requests do not exist */
	BT_EXIT_NO_PROCESS	= 117,	/* nor does the process */
	BT_EXIT_FILE		= 118,	/* a file cannot be read or written */
	BT_EXIT_USAGE		= 125,	/* options, and all else */
	BT_EXIT_NOT_RUN		= 126,	/* the command cannot be executed */
	BT_EXIT_NOT_FOUND	= 127,	/* there is no such command */
};

BT_PRINTF(1, 2) void bt_complain(const char *fmt, ...);
int bt_explain_config(pid_t tid, int error, u32 bytes, bool kernel);
int bt_explain_attach(pid_t tid, int error);

#endif
