/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The laboratory of branch traces: a module by which test programs use the kernel's internal
 * interface for branch traces, <asm/bts.h>. These are the requests of /dev/bts_lab. Each open
 * file has at most one context, which is a trace of a task or of a CPU.
 */
#ifndef BTS_LAYER_LAB_H
#define BTS_LAYER_LAB_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* As in <asm/bts.h>, which is not for user space. */
#define LAB_USER	0x01
#define LAB_KERNEL	0x02
#define LAB_ENTRY	0x04
#define LAB_SCHED	0x08
#define LAB_STOP	0x10
#define LAB_IDLE	0x20
#define LAB_FLIGHT	0x40

enum lab_target {
	LAB_SELF,	/* the caller */
	LAB_TASK,	/* @id is its pid */
	LAB_CPU,	/* @id is its number */
};

enum lab_overflow {
	LAB_NO_CALL,
	LAB_COUNT,	/* count the overflow callbacks */
	LAB_SAVE,	/* also save the records before the task returns to user mode */
};

/* The argument of LAB_UNFREEZE, which calls bts_freezes() and then bts_unfreeze_all() */
enum lab_thaw {
	LAB_IN_TIME,	/* do nothing else */
	LAB_OVERTAKEN,	/* call bts_freeze_all() in between */
	LAB_LATE,	/* then call bts_unfreeze_all() with the number of an earlier freeze */
};

struct lab_config {
	__u32 target;
	__s32 id;
	__u32 flags;
	__u32 nr;
	__u32 overflow;
	__u32 room;	/* number of records that can be saved */
};

struct lab_record {
	__u16 type;
	__u16 flags;
	__u32 info;
	union {
		struct {
			__u64 from;
			__u64 to;
		};
		struct {
			__u64 clock;
			__s32 pid;
			__u32 cpu;
		};
		struct {
			__u64 when;
			__u64 count;
		};
	};
};

struct lab_status {
	__u32 flags;
	__u32 nr;
	__u32 held;
	__u32 gaps;
	__u64 lost;
	__u64 overwritten;
	__u32 source;
	__u32 calls;	/* number of calls of the overflow callback */
	__u32 saved;
};

struct lab_get {
	__u64 index;
	struct lab_record rec;
};

/* The state of the CPU that the caller runs on, and constants of this kernel. */
struct lab_cpu {
	__u64 debugctl;
	__u32 cpu;
	__u32 context_size;	/* bytes of the context of a task, without its records */
	__u32 weight;		/* factor by which debugging options may multiply branches, or 1 */
	__u32 reserved;
};

/*
 * The same numbers as PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE, so that traced_call() works
 * for this device and for events of perf, without an additional branch.
 */
#define LAB_START	_IO('$', 0)
#define LAB_END		_IO('$', 1)	/* saves the records first */

#define LAB_CONFIG	_IOW('B', 0, struct lab_config)
#define LAB_DESTROY	_IO('B', 1)
#define LAB_STATUS	_IOR('B', 2, struct lab_status)	/* after the end: the last status */
#define LAB_GET		_IOWR('B', 3, struct lab_get)
#define LAB_CLEAR	_IO('B', 4)
#define LAB_FLUSH	_IO('B', 5)	/* bts_flush_cpu(); the argument is the CPU */
#define LAB_FREEZE	_IO('B', 6)
#define LAB_UNFREEZE	_IO('B', 7)	/* the argument is an enum lab_thaw */
#define LAB_READ_CPU	_IOR('B', 8, struct lab_cpu)
#define LAB_STAY	_IO('B', 9)	/* delay this CPU's way offline: see lab_stay() */
#define LAB_LOOK	_IO('B', 10)	/* read a recorder in two parts: see lab_look() */
#define LAB_STALE	_IO('B', 11)	/* look for old records in the buffers: see lab_stale() */
/* read() returns and removes records: first the saved ones, then those in the ring. */

#endif /* BTS_LAYER_LAB_H */
