/* SPDX-License-Identifier: GPL-2.0 */
/* This header says how live threads are traced. */
#ifndef BTSTRACE_HOW_H
#define BTSTRACE_HOW_H

#include "bt.h"

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

#endif
