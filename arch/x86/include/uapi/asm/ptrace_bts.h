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
#define PTRACE_BTS_GET		43	/* addr: x86_bts_record, data: index, newest is 0 */
#define PTRACE_BTS_CLEAR	44	/* forgets all records */
#define PTRACE_BTS_DRAIN	45	/* addr: x86_bts_record[], data: bytes, oldest first */
#define PTRACE_BTS_READ		46	/* addr: ptrace_bts_read, data: its size */

#define PTRACE_BTS_F_TRACE	0x001	/* record branches in user mode */
#define PTRACE_BTS_F_SCHED	0x002	/* record when it is scheduled in and out */
#define PTRACE_BTS_F_SIGNAL	0x004	/* stop it by @signal when the trace is full */
#define PTRACE_BTS_F_ALLOC	0x008	/* make a new, empty trace of @size bytes */
#define PTRACE_BTS_F_KERNEL	0x010	/* record branches in the kernel */
#define PTRACE_BTS_F_STOP_FULL	0x020	/* keep the oldest records, not the newest */
#define PTRACE_BTS_F_INHERIT	0x040	/* its traced children start with the same */
#define PTRACE_BTS_F_ENTRY	0x080	/* record where user mode was left, too */
#define PTRACE_BTS_F_END	0x100	/* alone: end the trace */

/*
 * As other PTRACE_EVENT_*: the status of waitpid() >> 8 is SIGTRAP | this << 8. Like
 * PTRACE_EVENT_STOP, it has no option.
 */
#define PTRACE_EVENT_BTS	129

/* Where records come from */
#define PTRACE_BTS_SOURCE_ANY	0	/* the best that there is */
#define PTRACE_BTS_SOURCE_DS	1	/* Intel's Debug Store */
#define PTRACE_BTS_SOURCE_STEP	2	/* any processor's trap flag: user mode only */

/* What the times in records are, in nanoseconds */
#define PTRACE_BTS_CLOCK_SCHED	0	/* the scheduler's, as perf's, ftrace's, printk's */
#define PTRACE_BTS_CLOCK_MONOTONIC 1	/* CLOCK_MONOTONIC */

/**
 * struct ptrace_bts_config - what a trace is to be
 * @size:	bytes for records, with ALLOC; 0 without
 * @flags:	PTRACE_BTS_F_*
 * @signal:	which signal, with SIGNAL; or 0, for a stop without a signal,
 *		PTRACE_EVENT_BTS
 * @bts_size:	0, or the size of a record that the caller counts on
 * @source:	PTRACE_BTS_SOURCE_*, with ALLOC; 0 without
 * @clock:	PTRACE_BTS_CLOCK_*, with ALLOC; 0 without
 */
struct ptrace_bts_config {
	__u32 size;
	__u32 flags;
	__u32 signal;
	__u32 bts_size;
	__u32 source;
	__u32 clock;
};

/* The hardware was taken away; CONFIG, without ALLOC as well, asks for it again. */
#define PTRACE_BTS_S_REVOKED	0x1

/**
 * struct ptrace_bts_status - what a trace is, and how it is doing
 * @size:	bytes for records, what was asked for in whole records
 * @flags:	PTRACE_BTS_F_* in force, never ALLOC
 * @signal:	in force
 * @bts_size:	size of a record
 * @held:	how many records there are to be read
 * @lost:	how many are missing, as far as they were counted: there was no room,
 *		or the hardware's filter has dropped them
 * @overwritten: how many were overwritten before they were taken out
 * @gaps:	how often the hardware lost some, uncounted
 * @source:	PTRACE_BTS_SOURCE_*, never ANY
 * @clock:	PTRACE_BTS_CLOCK_*
 * @not_inherited: how many children could not be given a trace
 * @next:	the running number of the next record; the first one has 0
 * @record_flags: X86_BTS_F_* that records of this trace may have
 * @state:	PTRACE_BTS_S_*
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
	__u32 clock;
	__u32 not_inherited;
	__u64 next;
	__u32 record_flags;
	__u32 state;
};

#define PTRACE_BTS_READ_CONSUME	0x1	/* forget what was read, and all before it */

/**
 * struct ptrace_bts_read - which records to read
 * @first:	the running number of the first record that is wanted; the oldest one's
 *		is stored here if that is gone already
 * @records:	a pointer to struct x86_bts_record[], where they go
 * @count:	how many there is room for
 * @flags:	PTRACE_BTS_READ_*
 */
struct ptrace_bts_read {
	__u64 first;
	__u64 records;
	__u32 count;
	__u32 flags;
};

/**
 * struct ptrace_bts_info - what this machine can do, for arch_prctl(ARCH_GET_PTRACE_BTS)
 * @size:	in: the size of this structure; out: the kernel's
 * @source:	in: PTRACE_BTS_SOURCE_*; out: never ANY
 * @sources:	a bit 1 << PTRACE_BTS_SOURCE_* for each source that there is
 * @flags:	PTRACE_BTS_F_* that @source knows
 * @record_flags: X86_BTS_F_* that its records may have
 * @bts_size:	size of a record
 * @max_records: how many records a trace can hold
 * @clocks:	a bit 1 << PTRACE_BTS_CLOCK_* for each clock
 */
struct ptrace_bts_info {
	__u32 size;
	__u32 source;
	__u32 sources;
	__u32 flags;
	__u32 record_flags;
	__u32 bts_size;
	__u32 max_records;
	__u32 clocks;
};

#endif /* _UAPI_ASM_X86_PTRACE_BTS_H */
