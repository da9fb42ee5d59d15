/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_ASM_X86_PTRACE_BTS_H
#define _UAPI_ASM_X86_PTRACE_BTS_H

#include <linux/types.h>
#include <asm/bts.h>

/*
 * Requests of ptrace() for the branch trace of a tracee, which must be stopped: see ptrace_bts(2).
 * All structures are the same for 32-bit, x32 and 64-bit callers.
 */
#define PTRACE_BTS_CONFIG	40	/* addr: ptrace_bts_config, data: its size */
#define PTRACE_BTS_STATUS	41	/* addr: ptrace_bts_status, data: its size */
#define PTRACE_BTS_SIZE		42	/* returns the number of records */
#define PTRACE_BTS_GET		43	/* addr: x86_bts_record, data: index, newest is 0 */
#define PTRACE_BTS_CLEAR	44	/* removes all records */
#define PTRACE_BTS_DRAIN	45	/* reads and removes the oldest records, returns their
					 * number; addr: x86_bts_record[], data: its size in bytes
					 */
#define PTRACE_BTS_READ		46	/* returns the number of records that were read;
					 * addr: ptrace_bts_read, data: its size
					 */

#define PTRACE_BTS_F_TRACE	0x001	/* record branches in user mode */
#define PTRACE_BTS_F_SCHED	0x002	/* record when the tracee is scheduled in and out */
#define PTRACE_BTS_F_SIGNAL	0x004	/* stop the tracee when the trace is full, see @signal of
					 * struct ptrace_bts_config
					 */
#define PTRACE_BTS_F_ALLOC	0x008	/* make a new, empty trace of @size bytes */
#define PTRACE_BTS_F_KERNEL	0x010	/* record branches in the kernel */
#define PTRACE_BTS_F_STOP_FULL	0x020	/* if there is no room, drop new records, not old ones */
#define PTRACE_BTS_F_INHERIT	0x040	/* a child that the tracer also traces gets its own trace,
					 * with the same configuration
					 */
#define PTRACE_BTS_F_ENTRY	0x080	/* with TRACE: also record entries into the kernel */
#define PTRACE_BTS_F_END	0x100	/* end the trace; no other flag is allowed with it */

/*
 * The stop of PTRACE_BTS_F_SIGNAL if @signal is 0. As with most PTRACE_EVENT_*, status >> 8 of
 * waitpid() is SIGTRAP | PTRACE_EVENT_BTS << 8. Like PTRACE_EVENT_STOP, the event has no
 * PTRACE_O_* option.
 */
#define PTRACE_EVENT_BTS	129

/* The source of the records */
#define PTRACE_BTS_SOURCE_ANY	0	/* the best that the machine has */
#define PTRACE_BTS_SOURCE_DS	1	/* Intel's Debug Store */
#define PTRACE_BTS_SOURCE_STEP	2	/* single-stepping by the trap flag: any processor, slow,
					 * user mode only
					 */

/* The clock of the times in records, in nanoseconds */
#define PTRACE_BTS_CLOCK_SCHED	0	/* sched_clock, like that of perf, ftrace and printk */
#define PTRACE_BTS_CLOCK_MONOTONIC 1	/* CLOCK_MONOTONIC */

/**
 * struct ptrace_bts_config - the configuration of a trace
 * @size:	with ALLOC: bytes for records; without: 0
 * @flags:	PTRACE_BTS_F_*
 * @signal:	with SIGNAL: the number of the signal, or 0 for the stop PTRACE_EVENT_BTS; without
 *		SIGNAL: 0
 * @bts_size:	0, or the size of a record that the caller expects
 * @source:	with ALLOC: PTRACE_BTS_SOURCE_*; without: 0
 * @clock:	with ALLOC: PTRACE_BTS_CLOCK_*; without: 0
 */
struct ptrace_bts_config {
	__u32 size;
	__u32 flags;
	__u32 signal;
	__u32 bts_size;
	__u32 source;
	__u32 clock;
};

/*
 * perf or KVM has taken the hardware, and no branches are recorded. PTRACE_BTS_CONFIG with TRACE,
 * KERNEL or ALLOC requests the hardware again, unless @source is PTRACE_BTS_SOURCE_STEP.
 */
#define PTRACE_BTS_S_REVOKED	0x1

/**
 * struct ptrace_bts_status - the configuration and the state of a trace
 * @size:	bytes for records: the requested size, rounded down to whole records
 * @flags:	PTRACE_BTS_F_* in force, never ALLOC
 * @signal:	the signal in force
 * @bts_size:	the size of a record
 * @held:	the number of records that can be read
 * @lost:	the number of records that are known to be missing: there was no room for
 *		them, or a return to user mode was missing: the hardware's filter of user and
 *		kernel mode has probably dropped it, or another record was wrong
 * @overwritten: the number of records that were overwritten before they were consumed
 * @gaps:	the number of places where the source may have lost records without counting them
 * @source:	PTRACE_BTS_SOURCE_*, never ANY
 * @clock:	PTRACE_BTS_CLOCK_*
 * @not_inherited: the number of children that could not be given a trace
 * @next:	the sequence number of the next record; the first record has 0
 * @record_flags: X86_BTS_F_* that records of this trace may have, as far as is known now
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

#define PTRACE_BTS_READ_CONSUME	0x1	/* if records were read, remove them and all older ones */

/**
 * struct ptrace_bts_read - which records to read
 * @first:	the sequence number of the first record to read; if that record is gone, the
 *		number of the oldest one is stored here
 * @records:	a pointer to struct x86_bts_record[], where to store the records
 * @count:	the number of records that there is room for
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
 * @size:	in: the size of this structure for the caller; out: its size for the kernel
 * @source:	in: PTRACE_BTS_SOURCE_*; out: the same, or the best source if this was ANY
 * @sources:	a bit 1 << PTRACE_BTS_SOURCE_* for each source that this machine has
 * @flags:	PTRACE_BTS_F_* that @source supports
 * @record_flags: X86_BTS_F_* that records of @source may have, as far as is known now
 * @bts_size:	the size of a record
 * @max_records: the largest number of records for which a trace can be made
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
