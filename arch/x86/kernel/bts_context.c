// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of branch traces: creating, reading, destroying
 *
 * See bts.c for who may touch what.
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

static DEFINE_MUTEX(bts_mutex);

/*
 * Is @task off its CPU, and has the hook of that switch done its work? That it
 * stays there is the caller's business.
 */
static bool bts_task_settled(struct task_struct *task)
{
	unsigned int state = READ_ONCE(task->__state);

	if (!(state & (TASK_NEW | __TASK_TRACED | __TASK_STOPPED | TASK_FROZEN)))
		return false;
#ifdef CONFIG_SMP
	/* Pairs with finish_task(), which comes after the hook. */
	return !smp_load_acquire(&task->on_cpu);
#else
	return true;
#endif
}

static bool bts_call_task(struct bts_context *ctx, struct bts_call *call)
{
	struct task_struct *task;

	/* Should @task exit against all promises, it does not go away yet. */
	guard(rcu)();
	/* Pairs with bts_exit(): no CPU can touch the ring any more. */
	task = smp_load_acquire(&ctx->task);

	if (task == current)
		bts_call_here(call);
	else if (!task || bts_task_settled(task))
		call->func(call);
	else
		return false;

	return true;
}

/* To change lists. */
static int bts_call_locked(struct bts_context *ctx, struct bts_call *call)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&bts_mutex);

	call->ctx = ctx;
	if (ctx->cpu < 0)
		return bts_call_task(ctx, call) ? 0 : -EBUSY;

	if (cpu_online(ctx->cpu))
		smp_call_function_single(ctx->cpu, bts_call_here, call, 1);
	else
		call->func(call);

	return 0;
}

static int bts_call(struct bts_context *ctx, struct bts_call *call)
{
	call->ctx = ctx;
	if (ctx->cpu < 0)
		return bts_call_task(ctx, call) ? call->ret : -EBUSY;

	guard(cpus_read_lock)();
	/* An error here says that the CPU is offline. */
	if (smp_call_function_single(ctx->cpu, bts_call_here, call, 1)) {
		guard(mutex)(&bts_mutex);
		call->func(call);
	}

	return call->ret;
}

/*
 * Creating and destroying
 */

static int bts_source_get(void)
{
	int err;

	lockdep_assert_held(&bts_mutex);

	if (!bts_users) {
		err = bts_source->get();
		if (err)
			return err;
	}
	WRITE_ONCE(bts_users, bts_users + 1);

	return 0;
}

static void bts_source_put(void)
{
	lockdep_assert_held(&bts_mutex);

	WRITE_ONCE(bts_users, bts_users - 1);
	if (bts_users)
		return;

	bts_source->put();
	bts_forget_freezes();
}

static void bts_overflow(struct irq_work *work)
{
	struct bts_context *ctx = container_of(work, struct bts_context, work);
	void (*overflow)(struct bts_context *ctx, void *data);

	/* bts_change_task() may have taken it away. */
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

static struct bts_context *bts_alloc(const struct bts_attr *attr)
{
	struct bts_context *ctx;
	int err;

	ctx = kzalloc_obj(*ctx, GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);

	err = bts_ring_init(&ctx->ring, attr->nr, attr->flags);
	if (err) {
		kfree(ctx);
		return ERR_PTR(err);
	}

	INIT_LIST_HEAD(&ctx->node);
	ctx->attr = *attr;
	ctx->cpu = -1;
	ctx->exposed = bts_records_kernel(attr->flags);
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

/* What the contexts of a task want together. */
static void bts_task_update(struct bts_task *owner)
{
	struct bts_context *ctx;

	owner->flags = 0;
	list_for_each_entry(ctx, &owner->contexts, node)
		owner->flags |= ctx->attr.flags;
}

/*
 * A switch that comes by takes what thread.bts points to for the owner, be it
 * only because its CPU is traced. So that changes where the list does, and not
 * when the memory comes and goes.
 */

static void bts_task_link(struct bts_call *call)
{
	struct task_struct *task = call->ctx->task;
	struct bts_task *owner = call->owner;

	list_add_tail(&call->ctx->node, &owner->contexts);
	bts_task_update(owner);
	task->thread.bts = owner;
	set_tsk_thread_flag(task, TIF_BTS);
	if (task != current)
		return;

	/* What is frozen is from before this trace began. */
	this_cpu_write(bts_cpu.owner, owner);
	if (!call->paused)
		bts_disown();
}

static void bts_task_disown(struct task_struct *task)
{
	clear_tsk_thread_flag(task, TIF_BTS);
	task->thread.bts = NULL;
	if (task == current)
		this_cpu_write(bts_cpu.owner, &bts_nobody);
}

static void bts_task_unlink(struct bts_call *call)
{
	struct task_struct *task = call->ctx->task;
	struct bts_task *owner = task->thread.bts;

	list_del_init(&call->ctx->node);
	bts_task_update(owner);
	if (list_empty(&owner->contexts))
		bts_task_disown(task);
}

static struct bts_task *bts_task_alloc(void)
{
	struct bts_task *owner = kzalloc_obj(*owner, GFP_KERNEL_ACCOUNT);

	if (owner)
		INIT_LIST_HEAD(&owner->contexts);

	return owner;
}

/* @owner is for a task that has no other context. */
static int bts_task_add(struct task_struct *task, struct bts_context *ctx,
			struct bts_task *owner)
{
	struct bts_call call = {
		.func	= bts_task_link,
		.owner	= task->thread.bts ?: owner,
	};

	ctx->task = task;

	return bts_call_locked(ctx, &call);
}

/**
 * bts_create_task - trace a task
 * @task: current, or a task that the caller keeps off its CPU
 * @attr: what is wanted
 * @ctxp: where the new context goes
 *
 * Return: 0; -EINVAL for flags or a size that make no sense; -EBUSY if @task may
 * be running, or if somebody else has the hardware; -EOPNOTSUPP if there is
 * none; -ENOMEM.
 */
int bts_create_task(struct task_struct *task, const struct bts_attr *attr,
		    struct bts_context **ctxp)
{
	struct bts_context *ctx;
	struct bts_task *owner;
	int err;

	if (!bts_source)
		return -EOPNOTSUPP;
	if (!bts_attr_valid(attr, BTS_TASK_FLAGS))
		return -EINVAL;
	if (task->flags & PF_EXITING && task == current)
		return -EINVAL;
	if (task != current && !bts_task_settled(task))
		return -EBUSY;

	ctx = bts_alloc(attr);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	/* Whoever is charged for memory may have to wait: not with everybody's locks. */
	owner = bts_task_alloc();
	if (!owner) {
		bts_free(ctx);
		return -ENOMEM;
	}

	guard(cpus_read_lock)();
	guard(mutex)(&bts_mutex);
	err = bts_source_get();
	if (!err) {
		err = bts_task_add(task, ctx, owner);
		if (err)
			bts_source_put();
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

/* What the contexts of a CPU want together; circular only if all agree. */
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

	/* Nobody kept it up to date while there was no static key. */
	cpu->idle = cpu_online(call->ctx->cpu) && is_idle_task(current);
	/* What is frozen is from before this trace began. */
	call->ctx->late = bts_source->frozen(call->ctx->cpu);
	list_add_tail(&call->ctx->node, &cpu->contexts);
	bts_cpu_update(cpu);
}

static void bts_cpu_unlink(struct bts_call *call)
{
	struct bts_cpu *cpu = per_cpu_ptr(&bts_cpu, call->ctx->cpu);

	list_del_init(&call->ctx->node);
	bts_cpu_update(cpu);
}

/**
 * bts_create_cpu - trace a CPU
 * @cpu: which one; if it is offline, from when it comes online
 * @attr: what is wanted; with BTS_FLIGHT, BTS_IDLE goes without saying
 * @ctxp: where the new context goes
 *
 * Return: like bts_create_task(), and -ENXIO if there can be no such CPU.
 */
int bts_create_cpu(int cpu, const struct bts_attr *attr, struct bts_context **ctxp)
{
	struct bts_call call = { .func = bts_cpu_link };
	struct bts_context *ctx;
	int err;

	if (!bts_source)
		return -EOPNOTSUPP;
	if (!bts_attr_valid(attr, BTS_CPU_FLAGS))
		return -EINVAL;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -ENXIO;

	ctx = bts_alloc(attr);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);

	ctx->cpu = cpu;
	if (attr->flags & BTS_FLIGHT)
		ctx->attr.flags |= BTS_IDLE;

	guard(cpus_read_lock)();
	guard(mutex)(&bts_mutex);
	err = bts_source_get();
	if (err) {
		bts_free(ctx);
		return err;
	}

	if (!(attr->flags & BTS_FLIGHT))
		static_branch_inc_cpuslocked(&bts_cpus_traced);
	bts_call_locked(ctx, &call);

	*ctxp = ctx;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(bts_create_cpu);

static void bts_do_change(struct bts_call *call)
{
	struct bts_context *ctx = call->ctx;

	ctx->attr.flags = call->attr->flags;
	/* The new @overflow has not been called yet, even if the ring is full. */
	ctx->full = false;
	ctx->exposed |= bts_records_kernel(call->attr->flags);
	WRITE_ONCE(ctx->attr.overflow, call->attr->overflow);
	bts_ring_change(&ctx->ring, call->attr->flags);
	if (ctx->task)
		bts_task_update(ctx->task->thread.bts);
}

/**
 * bts_change_task - record something else of a task from here on
 * @ctx: the context, a task's
 * @attr: what is wanted now; its flags may be none at all, BTS_STOP must be as it
 *	was; @attr->overflow counts, and what else it says does not
 *
 * Return: 0; -EINVAL for flags that make no sense, or a CPU's context; -EBUSY as
 * for bts_status().
 */
int bts_change_task(struct bts_context *ctx, const struct bts_attr *attr)
{
	struct bts_call call = { .func = bts_do_change, .attr = attr };

	if (ctx->cpu >= 0)
		return -EINVAL;
	if (attr->flags & ~BTS_STOP && !bts_attr_valid(attr, BTS_TASK_FLAGS))
		return -EINVAL;
	if ((attr->flags ^ ctx->attr.flags) & BTS_STOP)
		return -EINVAL;

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
 * What is left in the buffers is out of bounds for user mode, but where page
 * tables are no protection it may be read all the same.
 */
static void bts_scrub(const struct bts_context *ctx)
{
	lockdep_assert_cpus_held();

	if (ctx->cpu >= 0) {
		/* Offline it may have been frozen, and nobody thaws it any more. */
		if (smp_call_function_single(ctx->cpu, bts_scrub_here, NULL, 1) &&
		    list_empty(&per_cpu(bts_cpu, ctx->cpu).contexts))
			bts_source->scrub(ctx->cpu);
	} else if (boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN) &&
		   (ctx->exposed || READ_ONCE(bts_cpl_skewed))) {
		on_each_cpu(bts_scrub_here, NULL, 1);
	}
}

static int bts_unlink(struct bts_context *ctx)
{
	struct bts_call call = {
		.func = ctx->cpu >= 0 ? bts_cpu_unlink : bts_task_unlink,
	};
	struct task_struct *task = ctx->task;
	struct bts_task *owner;
	int err;

	if (ctx->cpu < 0 && !task)
		return 0;

	owner = task ? task->thread.bts : NULL;
	err = bts_call_locked(ctx, &call);
	if (err)
		return err;

	if (task && list_empty(&owner->contexts))
		kfree(owner);
	if (!task && !(ctx->attr.flags & BTS_FLIGHT))
		static_branch_dec_cpuslocked(&bts_cpus_traced);

	bts_scrub(ctx);
	bts_source_put();
	return 0;
}

/**
 * bts_destroy - end a trace and free it
 * @ctx: the context
 *
 * May sleep. When it returns no callback of the context runs any more.
 *
 * Return: 0, or -EBUSY if it is that of a task that may be running.
 */
int bts_destroy(struct bts_context *ctx)
{
	scoped_guard(cpus_read_lock) {
		guard(mutex)(&bts_mutex);
		int err = bts_unlink(ctx);

		if (err)
			return err;
	}

	irq_work_sync(&ctx->work);
	bts_free(ctx);

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(bts_destroy);

/*
 * The life of a task
 */

static void bts_exit_unlink(struct bts_call *call)
{
	/* Its last records are frozen: they will not come any more. */
	if (!call->paused)
		bts_disown();
	bts_task_disown(current);
}

/**
 * bts_exit - a task ends
 * @task: current, or a task that has never run
 *
 * Its contexts keep their records and their memory until they are destroyed.
 */
void bts_exit(struct task_struct *task)
{
	struct bts_call call = { .func = bts_exit_unlink };
	struct bts_task *owner = task->thread.bts;
	struct bts_context *ctx, *tmp;

	if (likely(!owner))
		return;

	guard(cpus_read_lock)();
	guard(mutex)(&bts_mutex);
	if (task == current)
		bts_call_here(&call);
	else
		bts_task_disown(task);

	list_for_each_entry_safe(ctx, tmp, &owner->contexts, node) {
		list_del_init(&ctx->node);
		/* From here on it may be read. */
		smp_store_release(&ctx->task, NULL);
		bts_scrub(ctx);
		bts_source_put();
	}
	kfree(owner);
}

static void bts_exec_mark(struct bts_call *call)
{
	struct bts_context *ctx;

	/* What is frozen is the old program's, and would come behind the mark. */
	if (!call->paused)
		bts_disown();
	list_for_each_entry(ctx, &current->thread.bts->contexts, node)
		bts_mark(ctx, BTS_EXEC, current);
}

/**
 * bts_exec - current runs another program from here on
 */
void bts_exec(void)
{
	struct bts_call call = { .func = bts_exec_mark };

	if (unlikely(current->thread.bts))
		bts_call_here(&call);
}

/*
 * Reading
 */

static void bts_do_status(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;

	bts_ring_settle(ring);
	*call->status = (struct bts_status) {
		.flags		= call->ctx->attr.flags,
		.nr		= ring->nr,
		.held		= bts_ring_held(ring),
		.gaps		= ring->gaps,
		.lost		= ring->lost,
		.overwritten	= ring->overwritten + ring->head - ring->tail -
				  bts_ring_held(ring),
		.source		= bts_source->id,
		.errata		= bts_source->errata,
	};
}

/**
 * bts_status - how a trace is doing
 * @ctx: the context
 * @status: filled in
 *
 * Return: 0, or -EBUSY if it is that of a task that may be running.
 */
int bts_status(struct bts_context *ctx, struct bts_status *status)
{
	struct bts_call call = { .func = bts_do_status, .status = status };

	return bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_status);

static void bts_do_get(struct bts_call *call)
{
	bts_ring_settle(&call->ctx->ring);
	call->ret = bts_ring_get(&call->ctx->ring, call->seq, call->rec);
}

/**
 * bts_get - read one record and leave it there
 * @ctx: the context
 * @index: which; 0 is the newest
 * @rec: where it goes
 *
 * Return: 0; -EINVAL if there are not so many; -EBUSY as for bts_status().
 */
int bts_get(struct bts_context *ctx, u64 index, struct bts_record *rec)
{
	struct bts_call call = { .func = bts_do_get, .seq = index, .rec = rec };

	return bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_get);

static void bts_do_peek(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;

	bts_ring_settle(ring);
	call->ret = bts_ring_peek(ring, call->run);
	call->seq = ring->tail;
	call->end = ring->head;
}

/**
 * bts_peek - find the oldest records
 * @ctx: the context
 * @rec: where a pointer to the oldest goes
 * @first: where its running number goes, for bts_consume()
 *
 * While the context is live on a CPU, what is found may be overwritten at any
 * time; bts_consume() tells.
 *
 * Return: how many stand in a row, 0 for none; -EBUSY as for bts_status().
 */
int bts_peek(struct bts_context *ctx, const struct bts_record **rec, u64 *first)
{
	struct bts_call call = { .func = bts_do_peek, .run = rec };
	int n = bts_call(ctx, &call);

	*first = call.seq;
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(bts_peek);

static void bts_do_consume(struct bts_call *call)
{
	struct bts_context *ctx = call->ctx;

	call->ret = bts_ring_consume(&ctx->ring, call->seq, call->n);
	if (bts_ring_held(&ctx->ring) < ctx->attr.nr)
		ctx->full = false;
}

/**
 * bts_consume - give up records that were read
 * @ctx: the context
 * @first: the running number of the first
 * @n: how many
 *
 * Return: how many of the oldest of them were overwritten since bts_peek(), so
 * that what was copied there is garbage; -EBUSY as for bts_status().
 */
int bts_consume(struct bts_context *ctx, u64 first, u32 n)
{
	struct bts_call call = { .func = bts_do_consume, .seq = first, .n = n };

	return bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_consume);

/* How many are copied with interrupts off. */
#define BTS_READ_CHUNK	256

/*
 * Move some records from the ring to @call->rec. What comes next is @call->seq
 * if it has not been overwritten since the last time.
 */
static void bts_do_read(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;
	struct bts_record *rec = call->rec;
	const struct bts_record *run;
	u32 n, room = call->n;

	bts_ring_settle(ring);
	n = bts_ring_peek(ring, &run);
	if (!call->end) {
		call->end = ring->head;
		call->seq = ring->tail;
	}
	if (!n || ring->tail >= call->end)
		return;

	if (ring->tail != call->seq) {
		bts_lost_mark(rec++, ring->tail - call->seq);
		room--;
		call->seq = ring->tail;
	}

	n = min3(n, room, (u32)BTS_READ_CHUNK);
	n = min_t(u64, n, call->end - call->seq);
	memcpy(rec, run, array_size(n, sizeof(*run)));
	call->n = n;
	bts_do_consume(call);
	call->seq += n;
	call->ret = rec + n - call->rec;
}

/**
 * bts_read - read records, oldest first, and take them out
 * @ctx: the context
 * @rec: where they go
 * @n: for how many there is room
 *
 * Of those that come in meanwhile, and the kernel makes some by reading, none is
 * read. If some are overwritten after older ones have been read, BTS_LOST tells
 * how many.
 *
 * Return: how many there were, or -EBUSY as for bts_status().
 */
int bts_read(struct bts_context *ctx, struct bts_record *rec, u32 n)
{
	struct bts_call call = { .func = bts_do_read, };
	u32 done = 0;
	int got;

	while (done < n) {
		call.rec = rec + done;
		call.n = n - done;
		call.ret = 0;
		got = bts_call(ctx, &call);
		if (got <= 0)
			return done ?: got;
		done += got;
	}

	return done;
}
EXPORT_SYMBOL_IF_KUNIT(bts_read);

static void bts_do_clear(struct bts_call *call)
{
	bts_ring_clear(&call->ctx->ring);
	call->ctx->full = false;
}

/**
 * bts_clear - forget all records
 * @ctx: the context
 *
 * Return: 0, or -EBUSY as for bts_status().
 */
int bts_clear(struct bts_context *ctx)
{
	struct bts_call call = { .func = bts_do_clear };

	return bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_clear);

