/* SPDX-License-Identifier: GPL-2.0 */
/* What the kit asks of its kernel module: experiments with the Debug Store. */
#ifndef BTS_KIT_LAB_H
#define BTS_KIT_LAB_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KIT_LAB_DEVICE	"/dev/kit_lab"

#define KIT_BTINT	0x01	/* ask for the interrupt at the threshold */
#define KIT_MASKED	0x02	/* with its vector masked until recording has stopped */
#define KIT_PAST	0x04	/* begin one record behind the threshold */
#define KIT_HALF	0x08	/* move the threshold by half a record */
#define KIT_STEP	0x10	/* end by a single step: a debug exception */
#define KIT_FREEZE	0x20	/* with FREEZE_LBRS_ON_PMI set */
#define KIT_OFF		0x40	/* record nothing: for comparison */

/**
 * struct kit_run - known branches of the kernel, recorded on one CPU
 * @branches:	in: how many
 * @threshold:	in: how many records until the interrupt
 * @flags:	in: KIT_*
 * @record_size: bytes of a record, as the kernel lays out the store
 * @bytes:	by how much the index has moved
 * @known:	records that are of the known branches
 * @strange:	records in between that are not
 * @nmis:	interrupts that came until recording stopped, or soon after
 * @nmis_unmasked: with KIT_MASKED, those that came when the vector was unmasked
 * @nmi_at:	which record, from 1, is the delivery of the NMI; 0 if none
 * @step_at:	the same for the debug exception
 * @ticks:	of the time stamp counter, while the branches were made
 * @flags_or:	all bits that are set in the third word of records
 * @flags_and:	those that are set in all of them
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
 * struct kit_filter - what was recorded between KIT_LAB_FILTER and KIT_LAB_LOOK
 * @user:	branches within user mode
 * @enters:	branches from user mode into the kernel
 * @leaves:	branches from the kernel to user mode
 * @kernel:	branches within the kernel
 * @same:	records with the same address on both sides
 */
struct kit_filter {
	__u32 user;
	__u32 enters;
	__u32 leaves;
	__u32 kernel;
	__u32 same;
};

#define KIT_LAB_RUN	_IOWR('k', 1, struct kit_run)
/* Record on this CPU; the argument is 1 to leave out the kernel, else 0. */
#define KIT_LAB_FILTER	_IOW('k', 2, __u32)
#define KIT_LAB_LOOK	_IOR('k', 3, struct kit_filter)
/* Run the unit tests that are built into the kernel. */
#define KIT_LAB_UNITS	_IO('k', 4)

#endif /* BTS_KIT_LAB_H */
