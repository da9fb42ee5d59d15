/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of /dev/debugctl_lab, a device of a kernel module for tests of DEBUGCTL and of the Debug
 * Store. The module reads DEBUGCTL in the kernel, and sends NMIs at critical places. LAB_STORM and
 * LAB_REPORT act on all CPUs, LAB_REFUSE on the calling task, and LAB_READ and LAB_SET_LBR on the
 * caller's CPU, where also the action of LAB_OPEN_WINDOW and the #DB of LAB_WATCH happen.
 */
#ifndef BTS_DEBUGCTL_LAB_H
#define BTS_DEBUGCTL_LAB_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The value of the MSR, and the copy that the patched kernel keeps in a per-CPU variable. */
struct lab_state {
	__u64 msr;
	__u64 copy;
	__u32 has_copy;		/* 0 if the kernel has no copy: then @copy is read from the MSR */
	__u32 cpu;
};

enum lab_action {
	LAB_NMI_SETS_LBR,	/* send an NMI, whose handler sets LBR */
	LAB_BRANCHES,		/* loop (at most 2^22 times) until perf's PMI stops BTS */
	LAB_RESETS_PMU,		/* send an NMI, in which perf resets a stuck PMU */
};

/* A window: a place in a kernel function where the action happens once, on the caller's CPU. */
struct lab_window {
	char function[52];
	__u32 skip;		/* how often the CPU passes the place before the action happens */
	__u32 at_wrmsr;		/* 1: before a WRMSR of DEBUGCTL, 0: at the entry of the function */
	__u32 action;
};

/* An NMI storm on all CPUs, and an observer. */
struct lab_storm {
	__u32 nmi_us;		/* interval of NMIs on each CPU; 0: none */
	__u32 observe_us;	/* interval at which the observer looks at each CPU; 0: none */
	__u32 flip_lbr;		/* each NMI inverts LBR on its CPU */
	__u32 pad;
};

struct lab_report {
	__u64 nmis;
	__u64 observed;
	__u64 copy_differs;	/* how often the observer found the MSR and the copy different */
	__u64 lbr_differs;	/* how often it found LBR not as the last NMI had set it */
	__u64 bad_msr;		/* the MSR at the last difference of each CPU, ORed */
	__u64 bad_copy;		/* the copies at these times, ORed */
};

#define LAB_READ	_IOR('D', 0, struct lab_state)
#define LAB_SET_LBR	_IOW('D', 1, __u32)
#define LAB_OPEN_WINDOW	_IOW('D', 2, struct lab_window)
#define LAB_WINDOW_HITS	_IOR('D', 3, __u32)	/* also closes the window */
#define LAB_STORM	_IOW('D', 4, struct lab_storm)
#define LAB_REPORT	_IOR('D', 5, struct lab_report)	/* also ends the storm */
#define LAB_WATCH	_IO('D', 6)	/* cause a #DB in the kernel by a watchpoint */
#define LAB_REFUSE	_IOW('D', 7, __u32)	/* fail allocations of 2^N pages; 0: none */

#endif /* BTS_DEBUGCTL_LAB_H */
