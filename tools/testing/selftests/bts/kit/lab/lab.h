/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requests of the kit to its kernel module: experiments with the Debug Store, and the
 * kernel's unit tests
 */
#ifndef BTS_KIT_LAB_H
#define BTS_KIT_LAB_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KIT_LAB_DEVICE	"/dev/kit_lab"

#define KIT_BTINT	0x01	/* enable the interrupt at the threshold */
#define KIT_MASKED	0x02	/* mask that interrupt's vector until recording has stopped */
#define KIT_PAST	0x04	/* begin one record behind the threshold */
#define KIT_HALF	0x08	/* add half a record to the threshold */
#define KIT_STEP	0x10	/* end with a single step: a debug exception */
#define KIT_FREEZE	0x20	/* set FREEZE_LBRS_ON_PMI while recording */
#define KIT_OFF		0x40	/* do not record, for comparison */
#define KIT_GO_ON	0x80	/* after an interrupt, empty the buffer and go on recording */

/**
 * struct kit_run - known branches of the kernel, recorded on one CPU
 * @branches: in: number of rounds of a loop; each round but the last makes a branch
 * @threshold: in: number of records up to the threshold
 * @flags: in: KIT_*
 * @record_size: bytes of a record, according to the kernel
 * @bytes: distance of the index from the base when recording stopped
 * @known: number of records of the known branches
 * @strange: number of other records between known ones
 * @nmis: number of interrupts that came until soon after recording stopped
 * @nmis_unmasked: with KIT_MASKED, number of interrupts soon after the vector was unmasked; else 0
 * @nmi_at: number, from 1, of the record of the NMI's delivery; 0 if none
 * @step_at: number, from 1, of the record of the debug exception; 0 if none
 * @ticks: ticks of the time stamp counter from before recording starts until it has stopped
 * @flags_or: all bits that are set in the third word of any record
 * @flags_and: all bits that are set in the third word of every record; all if there is no record
 */
struct kit_run {
	__u32 branches;
	__u32 threshold;
	__u32 flags;
	__u32 record_size;
	__u32 bytes;
	__u32 known;
	__u32 strange;
	__u32 nmis;
	__u32 nmis_unmasked;
	__u32 nmi_at;
	__u32 step_at;
	__u32 pad;
	__u64 ticks;
	__u64 flags_or;
	__u64 flags_and;
};

/**
 * struct kit_filter - records between KIT_LAB_FILTER and KIT_LAB_LOOK
 * @after: in: the address to which the caller's system calls return
 * @user: branches within user mode
 * @enters: branches from user mode into the kernel
 * @leaves: branches from the kernel to user mode
 * @kernel: branches within the kernel
 * @returns: branches to @after, whatever their source is; they are counted above as well
 * @good: those of @returns whose source is in the kernel
 * @wrong: the source of one of @returns that is not in the kernel; 0 if there is none
 */
struct kit_filter {
	__u64 after;
	__u64 wrong;
	__u32 user;
	__u32 enters;
	__u32 leaves;
	__u32 kernel;
	__u32 returns;
	__u32 good;
};

#define KIT_LAB_RUN	_IOWR('k', 1, struct kit_run)
/* Record on this CPU. If the argument is not 0, filter out the kernel. */
#define KIT_LAB_FILTER	_IOW('k', 2, __u32)
#define KIT_LAB_LOOK	_IOWR('k', 3, struct kit_filter)
/* Run the unit tests that are built into the kernel. */
#define KIT_LAB_UNITS	_IO('k', 4)

#endif /* BTS_KIT_LAB_H */
