/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_BTS_INTERNAL_H
#define _ARCH_X86_KERNEL_BTS_INTERNAL_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>

#include <asm/bts.h>

#include "bts_ring.h"

/**
 * struct bts_task - the contexts of a task; thread.bts points to it
 * @contexts:	the contexts whose records come from bts_source, the hardware source
 * @flags:	the union of the flags of @contexts; plus BTS_STEPS if @stepped is not empty,
 *		and BTS_SCHED if a context in @stepped has it
 * @stepped:	the contexts whose records come from bts_software, the software source
 * @step_flags:	the union of the flags of @stepped
 */
struct bts_task {
	struct list_head	contexts;
	u32			flags;
	struct list_head	stepped;
	u32			step_flags;
};

#define BTS_STEPS	BIT(31)

/**
 * struct bts_context - one trace
 * @node:	entry in the list of its task or CPU
 * @holder:	entry in bts_holders, the list of contexts that need the hardware source
 * @ring:	its records
 * @attr:	its attributes as they were given at creation, with BTS_IDLE added to BTS_FLIGHT;
 *		bts_change_task() changes @attr.flags and @attr.overflow
 * @source:	the source of its records
 * @task:	the task that is traced; NULL if a CPU is traced, or after bts_detach() or
 *		bts_exit()
 * @cpu:	the CPU that is traced; -1 if a task is traced
 * @late:	the context was created while its CPU was frozen, and the CPU still is
 * @full:	@attr.overflow was called, or is about to be called; cleared when records were
 *		removed and @ring is not full any more, or by bts_change_task()
 * @ns:		the namespace of the pids in @ring, with a reference
 * @work:	calls @attr.overflow, for the hardware source
 */
struct bts_context {
	struct list_head	node;
	struct list_head	holder;
	struct bts_ring		ring;
	struct bts_attr		attr;
	const struct bts_source	*source;
	struct task_struct	*task;
	int			cpu;
	bool			late;
	bool			full;
	struct pid_namespace	*ns;
	struct irq_work		work;
};

/**
 * struct bts_cpu - the contexts of a CPU and of the task that runs there
 * @contexts:	the contexts of this CPU
 * @flags:	the union of the flags of @contexts; but BTS_FLIGHT only if all of them have it
 * @idle_flags:	the union of the flags of those in @contexts that have BTS_IDLE; but BTS_FLIGHT
 *		only if all of @contexts have it
 * @idle:	the idle task is running; up to date only while @followed
 * @parked:	bts_cpu_down() has run on the CPU, and bts_cpu_up() has not run since
 * @followed:	bts_follow() has set TIF_BTS of the task that runs here; the next switch
 *		finds out whether TIF_BTS is still needed
 * @stale:	the source is frozen, and the records that it keeps must not be delivered to
 *		the contexts of @owner
 * @frozen_idle: while @stale, the value of @idle when those records were made
 * @owner:	the contexts of the task that runs here; bts_no_contexts if it has none
 */
struct bts_cpu {
	struct list_head	contexts;
	u32			flags;
	u32			idle_flags;
	bool			idle;
	bool			parked;
	bool			followed;
	bool			stale;
	bool			frozen_idle;
	struct bts_task		*owner;
};

DECLARE_PER_CPU(struct bts_cpu, bts_cpu);

extern struct bts_task bts_no_contexts;

extern struct mutex bts_mutex;
extern const struct bts_source bts_no_source;
extern const struct bts_source *bts_source;
extern const struct bts_source *bts_software;
extern unsigned int bts_users;
extern bool bts_revoked;
extern bool bts_cpl_skewed;

/*
 * Tell whether perf or KVM has taken the hardware from @ctx. Then no branches, switches or
 * signals are recorded for @ctx, only X86_BTS_EXEC and X86_BTS_LOST.
 */
static inline bool bts_is_revoked(const struct bts_context *ctx)
{
	return !ctx->source->software && READ_ONCE(bts_revoked);
}

/*
 * Tell whether a context of a CPU records now; while @cpu->stale, whether it recorded when the CPU
 * was frozen. A context that was created while the CPU was frozen does not record until the thaw,
 * and a context without BTS_IDLE does not record the idle task.
 */
static inline bool bts_ctx_records_now(const struct bts_cpu *cpu, const struct bts_context *ctx)
{
	bool idle = cpu->stale ? cpu->frozen_idle : cpu->idle;

	return !ctx->late && (!idle || ctx->attr.flags & BTS_IDLE);
}

/* If @ctx records branches, mark in its ring that the source may have lost records. */
static inline void bts_put_gap(struct bts_context *ctx)
{
	if (ctx->attr.flags & (BTS_USER | BTS_KERNEL))
		bts_ring_put_gap(&ctx->ring);
}

/* Resume the hardware source, after its ->pause() has returned true. */
static inline void bts_resume(void)
{
	/* If an NMI has frozen the source since ->pause(), records are missing from here on. */
	if (!bts_source->resume())
		bts_deliver_gap();
}

/*
 * Tell whether contexts with @flags should not use the CPL filter of the hardware, because it drops
 * wanted records: see bts_filter.c. Without the CPL filter, the hardware records both modes. A
 * trace without BTS_KERNEL may lack the permission to record the kernel, and so avoids the CPL
 * filter only if it has BTS_SOFT_FILTER.
 */
static inline bool bts_avoids_cpl_filter(u32 flags)
{
	return flags & (BTS_KERNEL | BTS_SOFT_FILTER) && READ_ONCE(bts_cpl_skewed);
}

const struct bts_source *bts_find_source(u32 id);
u32 bts_record_flags(const struct bts_source *source);
u32 bts_possible_flags(const struct bts_source *source);

int bts_source_claim(void);
int bts_source_get(struct bts_context *ctx);
void bts_source_put(struct bts_context *ctx);

void bts_follow(struct task_struct *task);
void bts_drop_frozen_of_owner(void);
void bts_forget_freezes(void);
void bts_put_event(struct bts_context *ctx, const struct x86_bts_record *event);
void bts_mark(struct bts_context *ctx, u16 type, struct task_struct *task);

/**
 * struct bts_call - a function to be called where access to a context is allowed
 * @ctx:	the context
 * @func:	the function; while it runs, the task of @ctx cannot be switched in or out
 * @ret:	the result of @func
 * @paused:	the hardware source is paused; if false, it is frozen, or no CPU records for
 *		@ctx now
 * @done:	set by bts_visit_current(): @func has been called
 * @owner:	argument of @func, as all below
 * @seq:	argument of @func
 * @end:	argument of @func
 * @n:		argument of @func
 * @run:	argument of @func
 * @rec:	argument of @func
 * @status:	argument of @func
 * @attr:	argument of @func
 * @event:	argument of @func
 */
struct bts_call {
	struct bts_context		*ctx;
	void				(*func)(struct bts_call *call);
	int				ret;
	bool				paused;
	bool				done;
	struct bts_task			*owner;
	u64				seq;
	u64				end;
	u32				n;
	const struct x86_bts_record		**run;
	struct x86_bts_record		*rec;
	struct bts_status		*status;
	const struct bts_attr		*attr;
	const struct x86_bts_record	*event;
};

void bts_call_here(void *info);
int bts_call(struct bts_context *ctx, struct bts_call *call);
void bts_call_locked(struct bts_context *ctx, struct bts_call *call);

/*
 * These functions of bts_flight.c are also called for last branch records, and for the branches of
 * the previous boot.
 */
bool bts_flight_wants(const struct bts_raw *raw);
struct hw_branch bts_flight_branch(const struct bts_raw *raw, const struct bts_raw *older);

#endif /* _ARCH_X86_KERNEL_BTS_INTERNAL_H */
