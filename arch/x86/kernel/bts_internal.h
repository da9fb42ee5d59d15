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
 * struct bts_task - the owner of the records of a task; thread.bts points to it
 * @contexts:	those whose records come from bts_source
 * @flags:	the union of what they want; BTS_STEPS if @stepped are not empty, BTS_SCHED
 *		if any of both wants that
 * @stepped:	those whose records come from bts_software
 * @step_flags:	the union of what they want
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
 * @node:	in the list of its task or CPU
 * @holder:	in the list of those that hold the source
 * @ring:	its records
 * @attr:	as it was created or last changed
 * @source:	where its records come from
 * @task:	whose it is; NULL for a CPU's or after the task is gone
 * @cpu:	or which CPU's; -1 for a task's
 * @late:	its CPU was frozen before it was there, and is
 * @full:	@attr.overflow has been or is about to be called
 * @ns:		@attr.ns, held
 * @work:	calls @attr.overflow
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
 * struct bts_cpu - who traces a CPU, and which task runs there
 * @contexts:	of this CPU
 * @flags:	the union of what they want
 * @idle_flags:	likewise, of those that want the idle task too
 * @idle:	the idle task is running
 * @parked:	the CPU is about to go offline or to sleep, or has
 * @followed:	the task that runs there has TIF_BTS; the next switch finds out whether
 *		that is still wanted
 * @stale:	the source is frozen and keeps records from before @owner came
 * @outdated:	the CPU was offline in a thaw: what the source keeps frozen is from before
 * @owner:	whose task is running, bts_nobody if it is not traced
 */
struct bts_cpu {
	struct list_head	contexts;
	u32			flags;
	u32			idle_flags;
	bool			idle;
	bool			parked;
	bool			followed;
	bool			stale;
	bool			outdated;
	struct bts_task		*owner;
};

DECLARE_PER_CPU(struct bts_cpu, bts_cpu);

extern struct bts_task bts_nobody;

extern struct mutex bts_mutex;
extern const struct bts_source bts_no_source;
extern const struct bts_source *bts_source;
extern const struct bts_source *bts_software;
extern unsigned int bts_users;
extern bool bts_revoked;
extern bool bts_cpl_skewed;

/* The hardware was taken away: nothing is recorded for it, and nothing marked but exec. */
static inline bool bts_is_revoked(const struct bts_context *ctx)
{
	return !ctx->source->software && READ_ONCE(bts_revoked);
}

bool bts_takes_kernel(u32 flags);
const struct bts_source *bts_find_source(u32 id);
u32 bts_record_flags(const struct bts_source *source);
u32 bts_possible_flags(const struct bts_source *source);

int bts_source_claim(void);
int bts_source_get(struct bts_context *ctx);
void bts_source_put(struct bts_context *ctx);

void bts_follow(struct task_struct *task);
void bts_disown(void);
void bts_forget_freezes(void);
bool bts_refrozen(void);
void bts_put_event(struct bts_context *ctx, const struct x86_bts_record *event);
void bts_mark(struct bts_context *ctx, u16 type, struct task_struct *task);

/**
 * struct bts_call - something to do to a context where that is allowed
 * @ctx:	the context
 * @func:	what to do; called where no switch comes in between
 * @ret:	what came of it
 * @paused:	the source is at rest; if not, it is frozen, or the context is not
 *		live on this CPU
 * @done:	of a running task's: it is done
 * @owner:	the rest is for @func
 * @seq:	likewise
 * @end:	likewise
 * @n:		likewise
 * @run:	likewise
 * @rec:	likewise
 * @status:	likewise
 * @attr:	likewise
 * @event:	likewise
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

/* hw_branches_lbr.c calls these functions of bts_flight.c: */
bool bts_flight_wants(const struct bts_raw *raw);
struct hw_branch bts_flight_branch(const struct bts_raw *raw, const struct bts_raw *older);

#endif /* _ARCH_X86_KERNEL_BTS_INTERNAL_H */
