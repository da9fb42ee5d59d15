/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The laboratory of group debugctl: a module that looks at DEBUGCTL from
 * inside the kernel, and makes an NMI hit where it hurts. What the programs
 * ask of it, through ioctl() on /dev/debugctl_lab. A request acts on the CPU
 * that the caller runs on, if nothing else is said.
 */
#ifndef BTS_DEBUGCTL_LAB_H
#define BTS_DEBUGCTL_LAB_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* What the register holds, and what the kernel believes it holds. */
struct lab_state {
	__u64 msr;
	__u64 copy;
	__u32 has_copy;		/* 0: a kernel without the copy */
	__u32 cpu;
};

/* What happens in a window. */
enum lab_action {
	LAB_NMI_SETS_LBR,	/* an NMI arrives, its handler sets LBR */
	LAB_BRANCHES,		/* branches, until perf's PMI has stopped BTS */
	LAB_RESETS_PMU,		/* an NMI arrives, and perf resets its PMU: it is stuck */
};

/* A place in a kernel function where, on this CPU, the action happens once. */
struct lab_window {
	char function[52];
	__u32 skip;		/* not the first so many times */
	__u32 at_wrmsr;		/* 1: right before it writes DEBUGCTL, 0: its entry */
	__u32 action;
};

/* An NMI storm on all CPUs, and an observer beside it. */
struct lab_storm {
	__u32 nmi_us;		/* an NMI for each CPU so often; 0: none */
	__u32 observe_us;	/* look at each CPU so often */
	__u32 flip_lbr;		/* each NMI inverts LBR on its CPU */
	__u32 pad;
};

struct lab_report {
	__u64 nmis;
	__u64 observed;
	__u64 copy_differs;	/* MSR and copy were not the same */
	__u64 lbr_differs;	/* LBR was not what the last NMI had made it */
	__u64 bad_msr;		/* of the last difference */
	__u64 bad_copy;
};

#define LAB_READ	_IOR('D', 0, struct lab_state)
#define LAB_SET_LBR	_IOW('D', 1, __u32)
#define LAB_OPEN_WINDOW	_IOW('D', 2, struct lab_window)
#define LAB_WINDOW_HITS	_IOR('D', 3, __u32)	/* closes it, too */
#define LAB_STORM	_IOW('D', 4, struct lab_storm)
#define LAB_REPORT	_IOR('D', 5, struct lab_report)	/* ends the storm */
#define LAB_WATCH	_IO('D', 6)	/* a kernel #DB: write a watched word */
#define LAB_REFUSE	_IOW('D', 7, __u32)	/* the caller gets no 2^N pages at once; 0: any */

#endif /* BTS_DEBUGCTL_LAB_H */
