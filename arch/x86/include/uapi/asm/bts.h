/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_ASM_X86_BTS_H
#define _UAPI_ASM_X86_BTS_H

#include <linux/types.h>

/*
 * The types of records. A reader skips records of a type that it does not know.
 */
#define X86_BTS_INVALID		0	/* no record; not used in a trace */
#define X86_BTS_BRANCH		1	/* a taken branch with both addresses */
#define X86_BTS_TASK_ARRIVES	2	/* a task was scheduled in */
#define X86_BTS_TASK_DEPARTS	3	/* a task was scheduled out */
#define X86_BTS_ENTER		4	/* user mode entered the kernel; branch.to is 0 */
#define X86_BTS_LEAVE		5	/* the kernel returned to user mode; branch.from is 0 */
#define X86_BTS_LOST		6	/* records are, or may be, missing here */
#define X86_BTS_EXEC		7	/* execve(): the thread runs another program from here on */
#define X86_BTS_SIGNAL		8	/* a signal handler is about to run */
#define X86_BTS_SIGRETURN	9	/* a signal handler has returned */

/*
 * The flags of a record X86_BTS_BRANCH, X86_BTS_ENTER or X86_BTS_LEAVE. A reader ignores flags that
 * it does not know.
 */
#define X86_BTS_F_MISPREDICTED	0x1	/* the processor had predicted the branch wrongly */
#define X86_BTS_F_UNRELIABLE	0x2	/* the record may be wrong: the processor has an erratum */

/**
 * struct x86_bts_record - one entry of a branch trace
 * @type:	one of X86_BTS_*; it tells which member of the union is used
 * @flags:	X86_BTS_F_*
 * @info:	X86_BTS_SIGNAL: the number of the signal; otherwise 0
 * @branch:	X86_BTS_BRANCH, X86_BTS_ENTER, X86_BTS_LEAVE: the address of the instruction
 *		that branched or was interrupted, and the target of the branch; X86_BTS_SIGNAL,
 *		X86_BTS_SIGRETURN: the address that the thread would have executed next, and the
 *		address where it continues. Except in X86_BTS_BRANCH, an address of the kernel is
 *		replaced by 0.
 * @event:	X86_BTS_TASK_ARRIVES, X86_BTS_TASK_DEPARTS, X86_BTS_EXEC: the time in
 *		nanoseconds, the thread, and the CPU
 * @lost:	X86_BTS_LOST: the time in nanoseconds when this record was stored, and the
 *		minimum number of missing records; @lost.count is 0 if they were not counted
 */
struct x86_bts_record {
	__u16 type;
	__u16 flags;
	__u32 info;
	union {
		struct {
			__u64 from;
			__u64 to;
		} branch;
		struct {
			__u64 clock;
			__s32 pid;
			__u32 cpu;
		} event;
		struct {
			__u64 clock;
			__u64 count;
		} lost;
	};
};

#endif /* _UAPI_ASM_X86_BTS_H */
