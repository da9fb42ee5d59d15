/* SPDX-License-Identifier: GPL-2.0 */
/* Says why something does not work and what to do about it, in one line. */
#ifndef BTSTRACE_EXPLAIN_H
#define BTSTRACE_EXPLAIN_H

#include "bt.h"

/* Exit statuses of btstrace itself */
enum bt_exit {
	BT_EXIT_NO_BTS	= 110,	/* no Branch Trace Store that can do what was asked for */
	BT_EXIT_BUSY		= 111,	/* perf or KVM uses the hardware */
	BT_EXIT_KERNEL		= 112,	/* no permission to trace the kernel */
	BT_EXIT_MEMLOCK		= 113,	/* RLIMIT_MEMLOCK, or no memory */
	BT_EXIT_SYSCTL		= 114,	/* the sysctl kernel.ptrace_bts forbids it */
	BT_EXIT_PTRACE		= 115,	/* the process cannot be traced */
	BT_EXIT_OLD_KERNEL	= 116,	/* the kernel has no PTRACE_BTS requests */
	BT_EXIT_NO_PROCESS	= 117,	/* there is no such process */
	BT_EXIT_FILE		= 118,	/* a file or the pager cannot be used */
	BT_EXIT_USAGE		= 125,	/* wrong options, or any other error */
	BT_EXIT_NOT_RUN		= 126,	/* the command cannot be executed */
	BT_EXIT_NOT_FOUND	= 127,	/* there is no such command */
};

BT_PRINTF(1, 2) void bt_complain(const char *fmt, ...);
int bt_explain_config(pid_t tid, int error, u32 bytes, bool kernel);
int bt_explain_attach(pid_t tid, int error);

#endif
