/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_ASM_X86_BTS_H
#define _UAPI_ASM_X86_BTS_H

#include <linux/types.h>

/*
 * What a record tells. A reader skips a qualifier that it does not know.
 */
#define BTS_INVALID		0	/* nothing */
#define BTS_BRANCH		1	/* a taken branch, both sides told */
#define BTS_TASK_ARRIVES	2	/* a task was scheduled in */
#define BTS_TASK_DEPARTS	3	/* a task was scheduled out */
#define BTS_ENTER		4	/* a branch into the kernel; to is 0 */
#define BTS_LEAVE		5	/* a branch out of the kernel; from is 0 */
#define BTS_LOST		6	/* records are missing here */
#define BTS_EXEC		7	/* the program was replaced here */

/**
 * struct bts_record - one entry of a branch trace
 * @qualifier:	which of the forms below it has: one of BTS_*
 * @branch:	BTS_BRANCH, BTS_ENTER, BTS_LEAVE: from which instruction to which
 * @event:	BTS_TASK_ARRIVES, BTS_TASK_DEPARTS, BTS_EXEC: when, which thread, and
 *		on which CPU
 * @lost:	BTS_LOST: when that was noticed, and how many records are missing at
 *		least; @lost.count is 0 if nobody counted them
 */
struct bts_record {
	__u64 qualifier;
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
