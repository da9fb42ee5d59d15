/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_BTS_H
#define _ASM_X86_BTS_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/types.h>

#include <uapi/asm/bts.h>

/*
 * The flags of a context. At least one of BTS_USER, BTS_KERNEL, BTS_SCHED is needed.
 */
#define BTS_USER	BIT(0)	/* branches that arrive in user mode */
#define BTS_KERNEL	BIT(1)	/* branches that arrive in the kernel */
#define BTS_ENTRY	BIT(2)	/* with BTS_USER: where user mode was left, too */
#define BTS_SCHED	BIT(3)	/* records of tasks that arrive and depart */
#define BTS_STOP	BIT(4)	/* keep the oldest records, not the newest */
#define BTS_IDLE	BIT(5)	/* a cpu's: the idle task as well */
#define BTS_FLIGHT	BIT(6)	/* a cpu's, with BTS_KERNEL: no software involved */
#define BTS_WIDE	BIT(7)	/* with BTS_USER: record the kernel, too, and drop that,
				 * where the hardware's filter loses what is wanted
				 */
#define BTS_MONOTONIC	BIT(8)	/* times are of CLOCK_MONOTONIC */
#define BTS_YIELDS	BIT(9)	/* gives way to those who may watch performance */

#define BTS_TASK_FLAGS	(BTS_USER | BTS_KERNEL | BTS_ENTRY | BTS_SCHED | BTS_STOP | \
			 BTS_WIDE | BTS_MONOTONIC | BTS_YIELDS)
#define BTS_CPU_FLAGS	(BTS_TASK_FLAGS | BTS_IDLE | BTS_FLIGHT)

#define BTS_MAX_RECORDS	BIT(24)

struct bts_context;
struct hw_branch;
struct hw_branches_place;
struct pid_namespace;
struct task_struct;

/**
 * struct bts_raw - a branch as a source hands it over
 * @from:	the instruction that branched
 * @to:		where it went
 * @flags:	the hardware's: BTS_RAW_PREDICTED, where that is told
 */
struct bts_raw {
	u64	from;
	u64	to;
	u64	flags;
};

#define BTS_RAW_PREDICTED	BIT(4)

/**
 * struct bts_told - what the records of a source tell
 * @predicted:	BTS_RAW_PREDICTED; this may become true at any time
 * @flags:	X86_BTS_F_* of all branches
 */
struct bts_told {
	bool	predicted;
	u16	flags;
};

/**
 * struct bts_attr - what a new context is to be
 * @flags:	BTS_USER to BTS_YIELDS
 * @nr:		how many records it holds, 1 to BTS_MAX_RECORDS
 * @source:	BTS_SOURCE_*, or 0 for the best that this machine has
 * @ns:		where the pids in its records are to be understood; NULL for current's
 * @overflow:	if not NULL, called when it is full, on the CPU where that happened, once
 *		until something was read: in hard interrupt context or, by a source of
 *		software, with interrupts off in a switch or on the way to user mode. The
 *		switch holds the lock of the run queue, so @overflow must not sleep, wake
 *		a task, take a lock under which one is woken (siglock is one), or print;
 *		it may set bits and flags of the task, kick it, and queue an irq_work
 * @data:	for @overflow
 *
 * With BTS_STOP and @overflow, the source interrupts as soon as @nr records are
 * there; whoever then stops the task on its way to user mode loses none of its
 * branches in user mode.
 */
struct bts_attr {
	u32	flags;
	u32	nr;
	u32	source;
	struct pid_namespace *ns;
	void	(*overflow)(struct bts_context *ctx, void *data);
	void	*data;
};

/**
 * struct bts_status - what a context has done so far
 * @flags:	as it was created or last changed
 * @nr:		likewise
 * @held:	how many records are there to be read
 * @lost:	how many are missing, as far as they were counted: there was no room,
 *		or the hardware's filter has dropped them
 * @overwritten: how many were overwritten before they were taken out
 * @gaps:	how often the source lost some
 * @source:	BTS_SOURCE_*
 * @record_flags: X86_BTS_F_* that a record may have
 * @next:	the running number of the next record
 * @revoked:	nothing is recorded, as the hardware was taken away
 */
struct bts_status {
	u32	flags;
	u32	nr;
	u32	held;
	u32	gaps;
	u64	lost;
	u64	overwritten;
	u32	source;
	u32	record_flags;
	u64	next;
	bool	revoked;
};

#define BTS_SOURCE_DS		1
#define BTS_SOURCE_STEP		2

/**
 * struct bts_source_info - what a source can do
 * @id:		BTS_SOURCE_*
 * @sources:	a bit 1 << BTS_SOURCE_* for each source that this machine has
 * @flags:	BTS_USER to BTS_YIELDS that a trace of a task may want of it
 * @record_flags: X86_BTS_F_* that its records may have
 */
struct bts_source_info {
	u32	id;
	u32	sources;
	u32	flags;
	u32	record_flags;
};

/**
 * struct bts_want - what is to be recorded on one CPU
 * @flags:	BTS_USER, BTS_KERNEL; BTS_FLIGHT for a circular buffer that nobody is
 *		to be told of
 * @room:	after how many records somebody is to be told at the latest
 */
struct bts_want {
	u32	flags;
	u32	room;
};

/**
 * struct bts_source - where records come from
 * @id:		BTS_SOURCE_*
 * @told:	what its records tell
 * @software:	it makes each record in the task that branched, and only of user mode; it
 *		needs no claim, keeps nothing back, has @pause and @resume only, and those
 *		are called only for tasks that have a trace of it
 * @filters:	it can leave the kernel's branches, or user mode's, unrecorded
 * @get:	claim what it needs, in process context; fails with -EOPNOTSUPP where
 *		the machine has none, -EBUSY where somebody else has it, or -ENOMEM.
 *		@give_way is called when somebody else needs it, see ds_claim_bts().
 * @put:	give that back
 * @pause:	stop recording on this CPU, with interrupts off, and hand over what is
 *		there through bts_deliver(), or bts_deliver_step() if it is of software;
 *		false if it is frozen and stays so
 * @resume:	record what bts_want(), or bts_wanted_steps(), says on this CPU again; false
 *		if that is not possible now. Where nothing is wanted it may be left out.
 * @restart:	record again on this CPU, where the processor has stopped that
 * @scrub:	overwrite what is left in the buffers of this, paused, CPU, or of one
 *		that is offline
 * @freeze:	stop recording on this CPU and keep everything, in any context
 * @freeze_others: have all other CPUs do the same soon, without waiting for them
 * @unfreeze:	let this CPU be paused and resumed again, with interrupts off; false
 *		if it was not frozen
 * @frozen:	has a CPU been frozen, in any context
 * @frozen_at:	when, by ktime_get_mono_fast_ns()
 * @hold:	stop recording on this CPU for a look, with interrupts off or in an NMI,
 *		and change nothing else; true if it was held already
 * @release:	the contrary
 * @peek:	copy the record that has so many newer ones in the buffer of a CPU that
 *		does not record, in any context; all 0 if it was overwritten by those;
 *		false if there were not so many
 * @draining:	is a CPU just handing up what its buffer holds, in any context
 */
struct bts_source {
	u32	id;
	const struct bts_told *told;
	bool	software;
	bool	filters;
	int	(*get)(bool (*give_way)(bool privileged));
	void	(*put)(void);
	bool	(*pause)(void);
	bool	(*resume)(void);
	void	(*restart)(void);
	void	(*scrub)(int cpu);
	void	(*freeze)(void);
	void	(*freeze_others)(void);
	bool	(*unfreeze)(void);
	bool	(*frozen)(int cpu);
	u64	(*frozen_at)(int cpu);
	bool	(*hold)(void);
	void	(*release)(void);
	bool	(*peek)(int cpu, u32 newer, struct bts_raw *rec);
	bool	(*draining)(int cpu);
};

#ifdef CONFIG_X86_BTS

int bts_create_task(struct task_struct *task, const struct bts_attr *attr,
		    struct bts_context **ctxp);
int bts_create_cpu(int cpu, const struct bts_attr *attr, struct bts_context **ctxp);
int bts_change_task(struct bts_context *ctx, const struct bts_attr *attr);
void bts_detach(struct bts_context *ctx);
void bts_destroy(struct bts_context *ctx);
unsigned long bts_pages(u32 nr, u32 flags);
int bts_source_info(u32 id, struct bts_source_info *info);
bool bts_records_kernel(u32 id, u32 flags);
void bts_status(struct bts_context *ctx, struct bts_status *status);
int bts_read(struct bts_context *ctx, struct x86_bts_record *rec, u32 n);
int bts_peek(struct bts_context *ctx, u64 *seq, const struct x86_bts_record **rec);
int bts_consume(struct bts_context *ctx, u64 first, u32 n);
void bts_clear(struct bts_context *ctx);
int bts_flush_cpu(int cpu);
void bts_freeze_all(void);
u32 bts_freezes(void);
void bts_unfreeze_all(u32 freezes);

/* flight recorders, read where they are */
bool bts_is_entry(u64 addr);
bool bts_frozen(int cpu);
u64 bts_frozen_at(int cpu);
bool bts_hold(void);
void bts_release(bool held);
u32 bts_flight_last(struct bts_context *ctx, int cpu, struct hw_branches_place *place, u32 newer,
		    struct hw_branch *out, u32 n);
int bts_flight_copy(struct bts_context *ctx, struct hw_branch *out, u32 n);

/* from below: the source has records, or has lost some */
void bts_register_source(const struct bts_source *source);
void bts_deliver(const struct bts_raw *rec, u32 n);
void bts_deliver_gap(void);
void bts_deliver_kernel_gap(void);
struct bts_want bts_want(void);
u32 bts_wanted_steps(void);
void bts_deliver_step(u64 from, u64 to);
void bts_deliver_steps_gap(void);

/* from the rest of the kernel */
void bts_switch_to(struct task_struct *prev, struct task_struct *next);
void bts_debug_exception(void);
void bts_exec(void);
void bts_moved(u16 type, unsigned long from, unsigned long to, u32 info);
void bts_exit(struct task_struct *task);

#else

static inline void bts_switch_to(struct task_struct *prev, struct task_struct *next) { }
static inline void bts_debug_exception(void) { }
static inline void bts_exec(void) { }
static inline void bts_moved(u16 type, unsigned long from, unsigned long to, u32 info) { }
static inline void bts_exit(struct task_struct *task) { }

#endif /* CONFIG_X86_BTS */
#endif /* _ASM_X86_BTS_H */
