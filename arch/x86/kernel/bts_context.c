// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of branch traces: creating, changing, destroying
 *
 * See bts.c for the locking rules.
 */

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include <kunit/visibility.h>

#include <asm/cpufeature.h>

#include "bts_internal.h"

static void bts_overflow(struct irq_work *work)
{
	struct bts_context *ctx = container_of(work, struct bts_context, work);
	void (*overflow)(struct bts_context *ctx, void *data);

	/* bts_change_task() may have set @overflow to NULL since the work was queued. */
	overflow = READ_ONCE(ctx->attr.overflow);
	if (overflow)
		overflow(ctx, ctx->attr.data);
}

static void bts_free(struct bts_context *ctx)
{
	put_pid_ns(ctx->ns);
	bts_ring_free(&ctx->ring);
	kfree(ctx);
}

static struct bts_context *bts_alloc(const struct bts_attr *attr,
				     const struct bts_source *source)
{
	struct bts_context *ctx;
	int err;

	ctx = kzalloc_obj(*ctx, GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);

	err = bts_ring_init(&ctx->ring, attr->nr, attr->flags, source->props);
	if (err) {
		kfree(ctx);
		return ERR_PTR(err);
	}

	INIT_LIST_HEAD(&ctx->node);
	ctx->attr = *attr;
	ctx->source = source;
	ctx->cpu = -1;
	ctx->ns = get_pid_ns(attr->ns ?: task_active_pid_ns(current));
	ctx->work = IRQ_WORK_INIT_HARD(bts_overflow);

	return ctx;
}

static bool bts_attr_valid(const struct bts_attr *attr, u32 allowed)
{
	u32 flags = attr->flags;

	if (flags & ~allowed || !(flags & (BTS_USER | BTS_KERNEL | BTS_SCHED)))
		return false;
	if (flags & BTS_ENTRY && !(flags & BTS_USER))
		return false;
	if (flags & BTS_FLIGHT &&
	    (flags & ~(BTS_KERNEL | BTS_IDLE | BTS_FLIGHT) || attr->overflow))
		return false;

	return !(flags & BTS_FLIGHT) || flags & BTS_KERNEL;
}

static u32 bts_union(const struct list_head *contexts)
{
	const struct bts_context *ctx;
	u32 flags = 0;

	list_for_each_entry(ctx, contexts, node)
		flags |= ctx->attr.flags;

	return flags;
}

static void bts_task_update(struct bts_task *owner)
{
	owner->flags = bts_union(&owner->contexts);
	owner->step_flags = bts_union(&owner->stepped);
	if (!list_empty(&owner->stepped))
		owner->flags |= BTS_STEPS | (owner->step_flags & BTS_SCHED);
}

static bool bts_task_empty(const struct bts_task *owner)
{
	return list_empty(&owner->contexts) && list_empty(&owner->stepped);
}

/*
 * bts_switch_to() also reads thread.bts of tasks that have no contexts. So thread.bts of a task
 * that may run is changed under the same rules as the lists of the task.
 */

static void bts_task_link(struct bts_call *call)
{
	struct task_struct *task = call->ctx->task;
	struct bts_task *owner = call->owner;

	/* The task may have called bts_exit() already. */
	if (task->flags & PF_EXITING) {
		call->ret = -ESRCH;
		return;
	}

	list_add_tail(&call->ctx->node,
		      call->ctx->source->software ? &owner->stepped : &owner->contexts);
	bts_task_update(owner);
	task->thread.bts = owner;
	set_tsk_thread_flag(task, TIF_BTS);
	if (task != current)
		return;

	this_cpu_write(bts_cpu.owner, owner);
	/* If the source is frozen, its records are from before this trace began. */
	if (!call->paused)
		bts_drop_frozen_of_owner();
}

static void bts_task_disown(struct task_struct *task)
{
	clear_tsk_thread_flag(task, TIF_BTS);
	task->thread.bts = NULL;
	if (task != current)
		return;
	this_cpu_write(bts_cpu.owner, &bts_no_contexts);
	bts_follow(current);
}

static void bts_task_unlink(struct bts_call *call)
{
	struct task_struct *task = call->ctx->task;
	struct bts_task *owner = task->thread.bts;

	list_del_init(&call->ctx->node);
	bts_task_update(owner);
	if (bts_task_empty(owner))
		bts_task_disown(task);
	/* Pairs with bts_try_task(): from here on, any CPU may access the context. */
	smp_store_release(&call->ctx->task, NULL);
}

static struct bts_task *bts_task_alloc(void)
{
	struct bts_task *owner = kzalloc_obj(*owner, GFP_KERNEL_ACCOUNT);

	if (!owner)
		return NULL;
	INIT_LIST_HEAD(&owner->contexts);
	INIT_LIST_HEAD(&owner->stepped);

	return owner;
}

/* @owner becomes thread.bts of the task if the task has no other context. */
static int bts_task_add(struct task_struct *task, struct bts_context *ctx,
			struct bts_task *owner)
{
	struct bts_call call = {
		.func	= bts_task_link,
		.owner	= task->thread.bts ?: owner,
	};

	ctx->task = task;
	bts_call_locked(ctx, &call);

	return call.ret;
}

/**
 * bts_create_task - trace a task
 * @task: the task; what it runs before this returns may be recorded or not
 * @attr: what is wanted
 * @ctxp: where to store the new context
 *
 * Return: 0; -EINVAL for invalid flags, an invalid size, or an idle task; -ESRCH if @task has begun
 * to exit; -EBUSY if another user has the hardware, or hardware that excludes it, or requests one;
 * -EOPNOTSUPP if this machine has no source, the source cannot do what is wanted, or the source is
 * the hardware and perf has no PMU driver; -ENODEV if the machine lacks @attr->source; -ENOMEM.
 */
int bts_create_task(struct task_struct *task, const struct bts_attr *attr,
		    struct bts_context **ctxp)
{
	const struct bts_source *source = bts_find_source(attr->source);
	struct bts_context *ctx;
	struct bts_task *owner;
	int err;

	if (IS_ERR(source))
		return PTR_ERR(source);
	if (!bts_attr_valid(attr, BTS_TASK_FLAGS) || !task->pid)
		return -EINVAL;
	if (attr->flags & ~bts_possible_flags(source))
		return -EOPNOTSUPP;

	ctx = bts_alloc(attr, source);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	/* Allocate before the locks are taken: charging a memory cgroup may block for long. */
	owner = bts_task_alloc();
	if (!owner) {
		bts_free(ctx);
		return -ENOMEM;
	}

	guard(cpus_read_lock)();
	guard(mutex)(&bts_mutex);
	err = bts_source_get(ctx);
	if (!err) {
		err = bts_task_add(task, ctx, owner);
		if (err)
			bts_source_put(ctx);
	}
	if (task->thread.bts != owner)
		kfree(owner);
	if (err) {
		bts_free(ctx);
		return err;
	}

	*ctxp = ctx;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(bts_create_task);

/*
 * Update the flags of @cpu after a change of its contexts. BTS_FLIGHT, a circular buffer, is
 * set only if all contexts want it.
 */
static void bts_cpu_update(struct bts_cpu *cpu)
{
	u32 flight = list_empty(&cpu->contexts) ? 0 : BTS_FLIGHT;
	struct bts_context *ctx;

	cpu->flags = 0;
	cpu->idle_flags = 0;
	list_for_each_entry(ctx, &cpu->contexts, node) {
		cpu->flags |= ctx->attr.flags;
		if (ctx->attr.flags & BTS_IDLE)
			cpu->idle_flags |= ctx->attr.flags;
		flight &= ctx->attr.flags;
	}
	cpu->flags = (cpu->flags & ~BTS_FLIGHT) | flight;
	cpu->idle_flags = (cpu->idle_flags & ~BTS_FLIGHT) | flight;
}

static void bts_cpu_link(struct bts_call *call)
{
	struct bts_cpu *cpu = per_cpu_ptr(&bts_cpu, call->ctx->cpu);

	/* cpu->idle is not up to date if the CPU was not followed. */
	cpu->idle = cpu_online(call->ctx->cpu) && is_idle_task(current);
	/* If the CPU is frozen, its records are from before this trace began. */
	call->ctx->late = bts_source->frozen(call->ctx->cpu);
	list_add_tail(&call->ctx->node, &cpu->contexts);
	bts_cpu_update(cpu);
	if (cpu_online(call->ctx->cpu))
		bts_follow(current);
}

static void bts_cpu_unlink(struct bts_call *call)
{
	struct bts_cpu *cpu = per_cpu_ptr(&bts_cpu, call->ctx->cpu);

	list_del_init(&call->ctx->node);
	bts_cpu_update(cpu);
}

/**
 * bts_create_cpu - trace a CPU
 * @cpu: the CPU; if it is offline, the trace begins when it comes online
 * @attr: what is wanted; BTS_FLIGHT implies BTS_IDLE
 * @ctxp: where to store the new context
 *
 * Return: like bts_create_task(), but never -ESRCH; -ENXIO if @cpu is not in cpu_possible_mask;
 * -EOPNOTSUPP also if the source is BTS_SOURCE_STEP, which cannot trace CPUs.
 */
int bts_create_cpu(int cpu, const struct bts_attr *attr, struct bts_context **ctxp)
{
	const struct bts_source *source = bts_find_source(attr->source);
	struct bts_call call = { .func = bts_cpu_link };
	struct bts_context *ctx;
	int err;

	if (IS_ERR(source))
		return PTR_ERR(source);
	if (source->software)
		return -EOPNOTSUPP;
	if (!bts_attr_valid(attr, BTS_CPU_FLAGS))
		return -EINVAL;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -ENXIO;

	ctx = bts_alloc(attr, source);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);

	ctx->cpu = cpu;
	if (attr->flags & BTS_FLIGHT)
		ctx->attr.flags |= BTS_IDLE;

	guard(cpus_read_lock)();
	guard(mutex)(&bts_mutex);
	err = bts_source_get(ctx);
	if (err) {
		bts_free(ctx);
		return err;
	}

	bts_call_locked(ctx, &call);

	*ctxp = ctx;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(bts_create_cpu);

static void bts_do_change(struct bts_call *call)
{
	struct bts_context *ctx = call->ctx;

	ctx->attr.flags = call->attr->flags;
	/* The new @overflow has to be called, even if the ring is full already. */
	ctx->full = false;
	WRITE_ONCE(ctx->attr.overflow, call->attr->overflow);
	bts_ring_change(&ctx->ring, call->attr->flags);
	/* bts_exit() sets thread.bts to NULL before it sets ctx->task to NULL. */
	if (ctx->task && ctx->task->thread.bts)
		bts_task_update(ctx->task->thread.bts);
}

/**
 * bts_change_task - change what is recorded of a task
 * @ctx: the context of a task
 * @attr: the new @flags and @overflow; its other members are ignored. BTS_STOP_FULL,
 *	BTS_MONOTONIC and BTS_YIELDS must not change. If no other flag is set, only
 *	X86_BTS_EXEC and X86_BTS_LOST are recorded until the next change.
 *
 * Return: 0; -EINVAL for invalid flags, or the context of a CPU; -EOPNOTSUPP for
 * flags that the source does not support. If perf or KVM has taken the hardware from @ctx and @attr
 * wants branches, the hardware is claimed again; if that fails, the error of bts_source_claim() is
 * returned.
 */
int bts_change_task(struct bts_context *ctx, const struct bts_attr *attr)
{
	struct bts_call call = { .func = bts_do_change, .attr = attr };
	const u32 fixed = BTS_STOP_FULL | BTS_MONOTONIC | BTS_YIELDS;
	int err;

	if (ctx->cpu >= 0)
		return -EINVAL;
	if (attr->flags & ~fixed && !bts_attr_valid(attr, BTS_TASK_FLAGS))
		return -EINVAL;
	if ((attr->flags ^ ctx->attr.flags) & fixed)
		return -EINVAL;
	if (attr->flags & ~bts_possible_flags(ctx->source))
		return -EOPNOTSUPP;

	if (attr->flags & (BTS_USER | BTS_KERNEL) && !ctx->source->software &&
	    READ_ONCE(bts_revoked)) {
		guard(cpus_read_lock)();
		guard(mutex)(&bts_mutex);
		err = bts_source_claim();
		if (err)
			return err;
	}

	return bts_call(ctx, &call);
}

static void bts_do_scrub(struct bts_call *call)
{
	bts_source->scrub(smp_processor_id());
}

static void bts_scrub_here(void *unused)
{
	struct bts_call call = { .func = bts_do_scrub };

	bts_call_here(&call);
}

/*
 * Overwrite the records in the buffer of @cpu. Delivering them has left them in memory. If @cpu is
 * online and frozen, bts_unfreeze_here() overwrites them, if the source is still claimed then.
 */
static void bts_scrub(int cpu)
{
	lockdep_assert_cpus_held();

	/*
	 * An offline CPU may be frozen, and may never thaw: overwrite its buffer here, if no
	 * other context of this CPU needs the frozen records.
	 */
	if (smp_call_function_single(cpu, bts_scrub_here, NULL, 1) &&
	    list_empty(&per_cpu(bts_cpu, cpu).contexts))
		bts_source->scrub(cpu);
}

static void bts_unlink_task(struct bts_context *ctx)
{
	struct bts_call call = { .func = bts_task_unlink };
	struct bts_task *owner = ctx->task->thread.bts;

	bts_call_locked(ctx, &call);
	if (bts_task_empty(owner))
		kfree(owner);
}

static void bts_unlink_cpu(struct bts_context *ctx)
{
	struct bts_call call = { .func = bts_cpu_unlink };

	bts_call_locked(ctx, &call);
	bts_scrub(ctx->cpu);
}

/**
 * bts_detach - stop recording for a context
 * @ctx: the context
 *
 * May sleep. The records that the context holds can still be read. When this returns,
 * @attr.overflow of the context is not running and is not called any more.
 */
void bts_detach(struct bts_context *ctx)
{
	scoped_guard(cpus_read_lock) {
		guard(mutex)(&bts_mutex);
		if (list_empty(&ctx->node))
			break;
		if (ctx->cpu < 0)
			bts_unlink_task(ctx);
		else
			bts_unlink_cpu(ctx);
		bts_source_put(ctx);
	}

	irq_work_sync(&ctx->work);
}

/**
 * bts_destroy - end a trace and free it
 * @ctx: the context
 *
 * May sleep.
 */
void bts_destroy(struct bts_context *ctx)
{
	bts_detach(ctx);
	bts_free(ctx);
}
EXPORT_SYMBOL_IF_KUNIT(bts_destroy);

static void bts_exit_unlink(struct bts_call *call)
{
	/* If the source is frozen, the last records of the task will not be delivered. */
	if (!call->paused)
		bts_drop_frozen_of_owner();
	bts_task_disown(current);
}

static void bts_exit_list(struct list_head *contexts)
{
	struct bts_context *ctx, *tmp;

	list_for_each_entry_safe(ctx, tmp, contexts, node) {
		list_del_init(&ctx->node);
		/* Pairs with bts_try_task(): from here on, any CPU may access the context. */
		smp_store_release(&ctx->task, NULL);
		bts_source_put(ctx);
	}
}

/**
 * bts_exit - detach all contexts of a task that exits
 * @task: current, or a task that has never run
 *
 * The contexts keep their records and their memory until they are destroyed.
 */
void bts_exit(struct task_struct *task)
{
	struct bts_call call = { .func = bts_exit_unlink };
	struct bts_task *owner;

	if (likely(!READ_ONCE(task->thread.bts)))
		return;

	guard(cpus_read_lock)();
	guard(mutex)(&bts_mutex);
	owner = task->thread.bts;
	if (!owner)
		return;
	if (task == current)
		bts_call_here(&call);
	else
		bts_task_disown(task);

	bts_exit_list(&owner->contexts);
	bts_exit_list(&owner->stepped);
	kfree(owner);
}
