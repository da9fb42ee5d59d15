/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The laboratory of group bts: a module that gives programs the branch traces
 * that are otherwise for the kernel's own use. What they ask of it, through
 * /dev/bts_lab. One open file is one context.
 */
#ifndef BTS_LAYER_LAB_H
#define BTS_LAYER_LAB_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* As in <asm/bts.h>, which programs are not given. */
#define LAB_USER	0x01
#define LAB_KERNEL	0x02
#define LAB_ENTRY	0x04
#define LAB_SCHED	0x08
#define LAB_STOP	0x10
#define LAB_IDLE	0x20
#define LAB_FLIGHT	0x40

enum lab_target {
	LAB_SELF,	/* the caller */
	LAB_TASK,	/* @id is its pid; it must be stopped */
	LAB_CPU,	/* @id is its number */
};

enum lab_overflow {
	LAB_NO_CALL,
	LAB_COUNT,	/* count the calls */
	LAB_SAVE,	/* and save the records before user mode goes on */
};

/* By a new freeze; by another thaw, which undid more */
enum lab_thaw {
	LAB_IN_TIME,
	LAB_OVERTAKEN,
	LAB_LATE,
};

struct lab_config {
	__u32 target;
	__s32 id;
	__u32 flags;
	__u32 nr;
	__u32 overflow;
	__u32 room;	/* how many records can be saved */
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
	__u32 calls;	/* of the overflow callback */
	__u32 saved;
};

struct lab_get {
	__u64 index;
	struct lab_record rec;
};

/* What the CPU that the caller runs on is set to. */
struct lab_cpu {
	__u64 debugctl;
	__u32 cpu;
	__u32 context_size;	/* bytes of a context beside its ring */
	__u32 weight;		/* branches of this kernel for one of a plain one's */
	__u32 reserved;
};

/* As perf's, so that the code which is traced can do without a branch. */
#define LAB_START	_IO('$', 0)
#define LAB_END		_IO('$', 1)	/* saves what is there first */

#define LAB_CONFIG	_IOW('B', 0, struct lab_config)
#define LAB_DESTROY	_IO('B', 1)
#define LAB_STATUS	_IOR('B', 2, struct lab_status)	/* the last one after the end */
#define LAB_GET		_IOWR('B', 3, struct lab_get)
#define LAB_CLEAR	_IO('B', 4)
#define LAB_FLUSH	_IO('B', 5)	/* of the CPU in the argument */
#define LAB_FREEZE	_IO('B', 6)
#define LAB_UNFREEZE	_IO('B', 7)	/* or one that is overtaken */
#define LAB_READ_CPU	_IOR('B', 8, struct lab_cpu)
#define LAB_STAY	_IO('B', 9)	/* sleep here until the CPU goes down, and while it does */
#define LAB_LOOK	_IO('B', 10)	/* at a flight recorder */
/* read() takes out records: what was saved first, then what is in the ring. */

#endif /* BTS_LAYER_LAB_H */
