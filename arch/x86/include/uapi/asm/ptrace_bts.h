/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_ASM_X86_PTRACE_BTS_H
#define _UAPI_ASM_X86_PTRACE_BTS_H

#include <linux/types.h>
#include <asm/bts.h>

/*
 * Branch trace of a stopped tracee: see ptrace_bts(2). All structures are the
 * same for 32-bit, x32 and 64-bit callers.
 */
#define PTRACE_BTS_CONFIG	40	/* addr: ptrace_bts_config, data: its size */
#define PTRACE_BTS_STATUS	41	/* addr: ptrace_bts_status, data: its size */
#define PTRACE_BTS_SIZE		42	/* returns how many records there are */
#define PTRACE_BTS_GET		43	/* addr: bts_record, data: index, newest is 0 */
#define PTRACE_BTS_CLEAR	44	/* forgets all records */
#define PTRACE_BTS_DRAIN	45	/* addr: bts_record[], data: bytes, oldest first */

#define PTRACE_BTS_F_TRACE	0x01	/* record branches in user mode */
#define PTRACE_BTS_F_SCHED	0x02	/* record when it is scheduled in and out */
#define PTRACE_BTS_F_SIGNAL	0x04	/* stop it by @signal when the trace is full */
#define PTRACE_BTS_F_ALLOC	0x08	/* make a new, empty trace of @size bytes */
#define PTRACE_BTS_F_KERNEL	0x10	/* record branches in the kernel */
#define PTRACE_BTS_F_STOP_FULL	0x20	/* keep the oldest records, not the newest */
#define PTRACE_BTS_F_INHERIT	0x40	/* its traced children start with the same */
#define PTRACE_BTS_F_ENTRY	0x80	/* record where user mode was left, too */

/* As other PTRACE_EVENT_*: the status of waitpid() >> 8 is SIGTRAP | this << 8 */
#define PTRACE_EVENT_BTS	40

/**
 * struct ptrace_bts_config - what a trace is to be
 * @size:	bytes for records, with ALLOC; 0 without. ALLOC alone with 0 ends
 *		the trace.
 * @flags:	PTRACE_BTS_F_*
 * @signal:	which signal, with SIGNAL; or 0, for a stop without a signal,
 *		PTRACE_EVENT_BTS
 * @bts_size:	0, or the size of a record that the caller counts on
 */
struct ptrace_bts_config {
	__u32 size;
	__u32 flags;
	__u32 signal;
	__u32 bts_size;
};

#define PTRACE_BTS_SOURCE_NONE	0
#define PTRACE_BTS_SOURCE_DS	1	/* Intel's Debug Store */

/* Models on which the 'from' of some records may be wrong: */
#define PTRACE_BTS_ERRATUM_FROM_EVENT	0x1	/* after a change of power state */
#define PTRACE_BTS_ERRATUM_FROM_CPL	0x2	/* where the privilege level changes */

#define PTRACE_BTS_CLOCK_NONE	0
#define PTRACE_BTS_CLOCK_SCHED	1	/* nanoseconds, as perf's, ftrace's, printk's */

/**
 * struct ptrace_bts_status - what a trace is, and how it is doing
 * @size:	bytes for records, what was asked for in whole records
 * @flags:	PTRACE_BTS_F_* in force, never ALLOC
 * @signal:	in force
 * @bts_size:	size of a record
 * @held:	how many records there are to be read
 * @lost:	how many are missing, as far as they were counted: there was no room,
 *		or the hardware's filter has dropped them
 * @overwritten: how many were overwritten unread
 * @gaps:	how often the hardware lost some, uncounted
 * @source:	PTRACE_BTS_SOURCE_*
 * @errata:	PTRACE_BTS_ERRATUM_*
 * @clock:	PTRACE_BTS_CLOCK_*, of the times in records
 * @not_inherited: how many children could not be given a trace
 * @reserved:	0
 */
struct ptrace_bts_status {
	__u32 size;
	__u32 flags;
	__u32 signal;
	__u32 bts_size;
	__u64 held;
	__u64 lost;
	__u64 overwritten;
	__u32 gaps;
	__u32 source;
	__u32 errata;
	__u32 clock;
	__u32 not_inherited;
	__u32 reserved;
};

#endif /* _UAPI_ASM_X86_PTRACE_BTS_H */
