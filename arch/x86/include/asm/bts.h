/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_BTS_H
#define _ASM_X86_BTS_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/debugctl.h>

#include <uapi/asm/bts.h>

/*
 * A context is one branch trace, of a task or of a CPU. A source records its branches: the
 * hardware source (the Debug Store) or the software source (single-stepping). See
 * arch/x86/kernel/bts.c.
 *
 * The flags of a context. A new context needs at least one of BTS_USER, BTS_KERNEL, BTS_SCHED.
 */
#define BTS_USER	BIT(0)	/* record branches whose target is in user mode */
#define BTS_KERNEL	BIT(1)	/* record branches whose target is in the kernel */
#define BTS_ENTRY	BIT(2)	/* with BTS_USER: also record where user mode enters the kernel */
#define BTS_SCHED	BIT(3)	/* record when tasks are switched in and out */
#define BTS_STOP_FULL	BIT(4)	/* if there is no room, drop new records, not the oldest ones */
#define BTS_IDLE	BIT(5)	/* context of a CPU: record the idle task as well */
#define BTS_FLIGHT	BIT(6)	/* flight recorder of a CPU, needs BTS_KERNEL. If all contexts of
				 * this CPU have this flag, and the hardware records no branches
				 * for a context of the current task, it uses a circular buffer
				 * and raises no PMI
				 */
#define BTS_SOFT_FILTER	BIT(7)	/* with BTS_USER: if the CPL filter of the hardware drops wanted
				 * records (see bts_filter.c), record user mode and the kernel
				 * without the CPL filter, and filter in software
				 */
#define BTS_MONOTONIC	BIT(8)	/* the clock of the records is CLOCK_MONOTONIC, not sched_clock */
#define BTS_YIELDS	BIT(9)	/* context of a task: if all contexts of the hardware source have
				 * this flag, KVM may take the hardware away, and so may perf for a
				 * user who may monitor performance
				 */

#define BTS_TASK_FLAGS	(BTS_USER | BTS_KERNEL | BTS_ENTRY | BTS_SCHED | BTS_STOP_FULL | \
			 BTS_SOFT_FILTER | BTS_MONOTONIC | BTS_YIELDS)
#define BTS_CPU_FLAGS	((BTS_TASK_FLAGS & ~BTS_YIELDS) | BTS_IDLE | BTS_FLIGHT)

#define BTS_MAX_RECORDS	BIT(24)

struct bts_context;
struct hw_branch;
struct hw_branches_cursor;
struct pid_namespace;
struct task_struct;

/**
 * struct bts_raw - a branch as a source delivers it
 * @from:	the address of the instruction that branched or was interrupted
 * @to:		the target of the branch
 * @flags:	flags of the hardware: BTS_RAW_PREDICTED, if this model reports it
 */
struct bts_raw {
	u64	from;
	u64	to;
	u64	flags;
};

#define BTS_RAW_PREDICTED	BIT(4)

/**
 * struct bts_record_props - properties of all records of a source
 * @predicted:	BTS_RAW_PREDICTED is valid; may become true at any time
 * @flags:	X86_BTS_F_* that each record of a branch gets
 */
struct bts_record_props {
	bool	predicted;
	u16	flags;
};

/**
 * struct bts_attr - the attributes of a new context
 * @flags:	BTS_USER to BTS_YIELDS
 * @nr:		the number of records with which its ring is full, 1 to BTS_MAX_RECORDS
 * @source:	BTS_SOURCE_*, or 0 for the best that this machine has
 * @ns:		the namespace of the pids in its records; NULL for current's
 * @overflow:	called when a branch or an event fills the ring. Called again only if records
 *		were removed meanwhile so that the ring was not full, or after
 *		bts_change_task(); may be NULL. It is called with interrupts off. With the
 *		hardware source, an irq_work calls it on the CPU where the ring became full.
 *		With the software source, it is called at once: in the traced task, in an
 *		interrupt while that task is current, or in a task switch. The task switch holds
 *		the run queue lock, and current may already be the next task. So @overflow must
 *		not sleep, wake a task, take a lock under which tasks are woken (such as
 *		siglock), or print. It may set bits and flags of the task, kick the task, and
 *		queue an irq_work
 * @data:	argument of @overflow
 *
 * With BTS_STOP_FULL and @overflow, the source delivers its records soon after it has made enough
 * to fill the ring. The memory of the ring has room for those that are made meanwhile. So if
 * @overflow makes the task stop before it returns to user mode, and the ring is not full any more
 * when the task goes on, no branches in user mode are lost because the ring is full. There are two
 * exceptions: if the hardware source also records the kernel, for any context, it may make more
 * records than the ring has room for; and without a local APIC, the hardware source delivers its
 * records later.
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
 * struct bts_status - the status of a context
 * @flags:	the flags as they were set at creation or last changed
 * @nr:		the number of records with which its ring is full
 * @held:	the number of records that can be read
 * @lost:	the number of records that are known to be missing: there was no room for them, or
 *		a branch back to the wanted mode was missing, see bts_filter.c
 * @overwritten: the number of records that were overwritten before they were consumed
 * @gaps:	the number of places where the source may have lost records without counting them
 * @source:	BTS_SOURCE_*
 * @record_flags: X86_BTS_F_* that a record may have, as far as is known now
 * @next:	the sequence number of the next record
 * @revoked:	perf or KVM has taken the hardware, and no branches are recorded
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
 * @flags:	the flags, BTS_USER to BTS_YIELDS, that a context of a task may have with it
 * @record_flags: X86_BTS_F_* that its records may have, as far as is known now
 */
struct bts_source_info {
	u32	id;
	u32	sources;
	u32	flags;
	u32	record_flags;
};

/**
 * struct bts_want - what is to be recorded on one CPU
 * @flags:	BTS_USER, BTS_KERNEL; BTS_FLIGHT for a circular buffer without PMI
 * @room:	the source delivers its records soon after it has made this many, if it can; U32_MAX
 *		for no limit
 */
struct bts_want {
	u32	flags;
	u32	room;
};

/**
 * struct bts_source - a source of records
 * @id:		BTS_SOURCE_*
 * @props:	properties of its records
 * @software:	the source single-steps tasks, and records only user mode. Nobody has to claim
 *		it, it has no buffer, and it has no functions but @pause and @resume.
 * @filters:	the source can leave out branches to the kernel, or to user mode
 * @get:	claim the hardware, in process context. Fails with -EOPNOTSUPP if the machine
 *		has none or perf has no PMU driver, -EBUSY if another user has or requests this
 *		hardware or other hardware that excludes it, or -ENOMEM. @give_way is called
 *		when perf or KVM needs the hardware, see ds_claim_bts().
 * @put:	undo @get
 * @pause:	stop recording on this CPU, and deliver the records in its buffer. Called with
 *		interrupts off. If the CPU is frozen, change nothing and return false.
 * @resume:	record on this CPU what bts_want() returns, or bts_wanted_steps() for the software
 *		source; false if the CPU is frozen
 * @restart:	resume recording on this CPU after a #DB has made the processor stop it; may be
 *		NULL
 * @scrub:	overwrite the records in the buffer of a CPU that is offline, or of this CPU,
 *		which is paused or frozen. If this CPU is frozen, do nothing.
 * @freeze:	stop recording on this CPU, keep its records, and call bts_note_freeze(), with
 *		interrupts off or in an NMI
 * @freeze_others: make all other online CPUs call @freeze soon, without waiting for them
 * @unfreeze:	allow this CPU to be paused and resumed again, with interrupts off; false
 *		if it was not frozen
 * @frozen:	tell whether a CPU is frozen, in any context
 * @hold:	stop recording on this CPU so that its records can be read, with interrupts
 *		off or in an NMI, and change nothing else; true if the caller has to call
 *		@release, false if the CPU was held before
 * @release:	undo @hold
 * @peek:	copy a record from the buffer of a CPU that does not record, in any context.
 *		@newer is the number of newer records in the buffer, 0 for the newest record.
 *		If the buffer has wrapped, a record of all 0 comes before the oldest record, as
 *		older records are missing. False if there is no such record, or it is unreadable.
 * @draining:	tell whether a CPU is delivering the records in its buffer, in any context
 */
struct bts_source {
	u32	id;
	const struct bts_record_props *props;
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
void bts_freeze_all(bool fresh);
u32 bts_freezes(void);
void bts_unfreeze_all(u32 freezes);

/* for readers of flight recorders */
bool bts_is_entry(u64 addr);
bool bts_frozen(int cpu);
u64 bts_frozen_at(int cpu);
bool bts_outdated(int cpu);
bool bts_hold(void);
void bts_release(bool stopped);
u32 bts_flight_last(struct bts_context *ctx, int cpu, struct hw_branches_cursor *cursor, u32 newer,
		    struct hw_branch *out, u32 n);
int bts_flight_copy(struct bts_context *ctx, struct hw_branch *out, u32 n);

/* called by sources */
void bts_register_source(const struct bts_source *source);
void bts_deliver(const struct bts_raw *rec, u32 n);
void bts_deliver_gap(void);
void bts_deliver_kernel_gap(void);
void bts_expect_return(void);
struct bts_want bts_want(void);
u32 bts_wanted_steps(void);
bool bts_freeze_in_force(void);
void bts_note_freeze(void);
void bts_deliver_step(u64 from, u64 to);
void bts_deliver_steps_gap(void);

/* A #DB may have cleared TR on this CPU, and no gap was marked since. */
DECLARE_PER_CPU(bool, bts_cleared);

/**
 * bts_note_cleared - note whether a #DB has cleared TR
 *
 * Called with interrupts off, or in an NMI, by code that is about to write DEBUGCTL: after the
 * write, the register equals its copy. For noinstr code. Takes no branch unless BTS is on.
 *
 * In an NMI, the register may also lack TR for another reason: because of a VM exit, or because the
 * NMI came in debugctl_write_bts() before the write of the register.
 */
static __always_inline void bts_note_cleared(void)
{
	unsigned long bits = debugctl_get() & debugctl_bts_bits(DEBUGCTL_BTS);

	if (unlikely(bits) && unlikely(bits & ~native_rdmsrq(MSR_IA32_DEBUGCTLMSR)))
		this_cpu_write(bts_cleared, true);
}

/* called by the rest of the kernel */
void bts_switch_to(struct task_struct *prev, struct task_struct *next);
void bts_debug_exception(void);
void bts_exec(void);
void bts_mark_signal(u16 type, unsigned long from, unsigned long to, u32 info);
void bts_exit(struct task_struct *task);

#else

static inline void bts_switch_to(struct task_struct *prev, struct task_struct *next) { }
static __always_inline void bts_note_cleared(void) { }
static inline void bts_debug_exception(void) { }
static inline void bts_exec(void) { }
static inline void bts_mark_signal(u16 type, unsigned long from, unsigned long to, u32 info) { }
static inline void bts_exit(struct task_struct *task) { }

#endif /* CONFIG_X86_BTS */
#endif /* _ASM_X86_BTS_H */
