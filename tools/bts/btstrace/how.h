/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options that say how live threads are traced. The trace of a thread is the buffer in which
 * the kernel stores records of its branches.
 */
#ifndef BTSTRACE_HOW_H
#define BTSTRACE_HOW_H

#include "bt.h"

/*
 * struct bt_how - how live threads are traced
 * @bytes:	the size of the trace of each thread; see also @fixed and @shrink
 * @fixed:	the user has chosen @bytes: do not try a smaller trace if memory is short
 * @shrink:	make smaller traces if RLIMIT_MEMLOCK is too small for the threads; see bytes_for()
 * @full:	to lose no records, stop a thread when its trace is full, and read the trace.
 *	Otherwise, new records replace the oldest.
 * @children:	trace the new threads and processes of traced threads, too
 * @kernel:	record branches in the kernel, too
 * @entries:	record entries into the kernel, too
 * @sched:	record when threads are scheduled in and out
 * @quiet:	do not warn that there is no Branch Trace Store
 * @progress:	show the progress on standard error
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
