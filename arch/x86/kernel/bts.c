// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: any number of contexts share a source of records
 *
 * A context is the trace of one task or of one CPU: flags that say which branches are
 * wanted, and a ring for their records. The hardware source is the Debug Store, see bts_ds.c.
 * On each CPU, it records the union of what the contexts of the current task and the contexts
 * of the CPU want. When it delivers its records, each ring filters them for its own context.
 *
 * There may also be a software source, bts_step.c, which single-steps tasks. A task has one
 * list of contexts for each of the two sources.
 *
 * The contexts of a CPU and those of its current task are live on this CPU: it records for them.
 *
 * Locking rules:
 *
 *  - bts_mutex is held to create and destroy contexts and to claim the source.
 *    Take cpus_read_lock() before bts_mutex.
 *  - A CPU itself accesses its list of contexts, its bts_cpu.owner, the lists of the owner, and the
 *    rings of the contexts on these lists, with interrupts off. While the hardware source
 *    records, only its NMI handler accesses the rings that it delivers to. Other code first
 *    pauses the source, or finds it frozen: then the NMI handler delivers nothing.
 *  - If the CPU is offline, any CPU may access all of these under cpus_read_lock() and bts_mutex.
 *  - A CPU accesses the lists of a task from when the task is switched in until it is
 *    switched out. Other tasks therefore access a context of this task either on the CPU
 *    where the task runs, or while the locks of the scheduler keep the task off all CPUs: see
 *    bts_call_task().
 *  - If a context of a task was detached, or its task has exited, any CPU may access the context.
 *    Callers must not do so at the same time.
 *
 * Two readers of rings do not follow these rules: bts_flight.c, which works in a crash, and code
 * that copies the records that bts_peek() has found.
 *
 * The lists need no RCU: after a context was taken off a list, no CPU can reach it by this list.
 */

#include <linux/cleanup.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include <kunit/visibility.h>

#include <asm/debugctl.h>

#include "bts_internal.h"

DEFINE_PER_CPU(bool, bts_cleared);

/* The software source is paused and resumed only for tasks that have contexts of it. */
static void bts_pause_steps(const struct bts_task *owner)
{
	if (owner->flags & BTS_STEPS)
		bts_software->pause();
}

static void bts_resume_steps(const struct bts_task *owner)
{
	if (owner->flags & BTS_STEPS)
		bts_software->resume();
}

static void bts_mark_list(struct list_head *contexts, u16 type, struct task_struct *task)
{
	struct bts_context *ctx;

	list_for_each_entry(ctx, contexts, node) {
		if (ctx->attr.flags & BTS_SCHED && !bts_is_revoked(ctx))
			bts_mark(ctx, type, task);
	}
}

static void bts_mark_steps(struct bts_task *owner, u16 type, struct task_struct *task)
{
	if (type == X86_BTS_TASK_DEPARTS)
		bts_pause_steps(owner);
	bts_mark_list(&owner->stepped, type, task);
	if (type == X86_BTS_TASK_ARRIVES)
		bts_resume_steps(owner);
}

static void bts_mark_all(struct bts_cpu *cpu, u16 type, struct task_struct *task)
{
	struct bts_context *ctx;

	bts_mark_steps(cpu->owner, type, task);
	bts_mark_list(&cpu->owner->contexts, type, task);
	list_for_each_entry(ctx, &cpu->contexts, node) {
		if (ctx->attr.flags & BTS_SCHED && bts_ctx_records_now(cpu, ctx))
			bts_mark(ctx, type, task);
	}
}

static __always_inline void bts_mark_switch(struct bts_cpu *cpu, u16 type,
					    struct task_struct *task)
{
	if (unlikely((cpu->owner->flags | cpu->flags) & (BTS_SCHED | BTS_STEPS)))
		bts_mark_all(cpu, type, task);
}

/*
 * Called while the hardware source is frozen. From here on, its frozen records must not be
 * delivered to the contexts of cpu->owner: mark a gap in these contexts instead.
 */
void bts_drop_frozen_of_owner(void)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	list_for_each_entry(ctx, &cpu->owner->contexts, node)
		bts_put_gap(ctx);
	if (!cpu->stale)
		cpu->frozen_idle = cpu->idle;
	cpu->stale = true;
}

/**
 * bts_follow - make the next task switch on this CPU call bts_switch_to(), if a context needs it
 * @task: the task that runs on this CPU, or is about to run
 *
 * Sets TIF_BTS of @task if this CPU has contexts that are not flight recorders. Then each switch
 * passes TIF_BTS on to the next task. Called with interrupts off.
 */
void bts_follow(struct task_struct *task)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);

	if (list_empty(&cpu->contexts) || cpu->flags & BTS_FLIGHT)
		return;

	cpu->followed = true;
	set_tsk_thread_flag(task, TIF_BTS);
}

static noinline void bts_follow_switch(struct task_struct *prev, struct task_struct *next)
{
	if (!prev->thread.bts)
		clear_tsk_thread_flag(prev, TIF_BTS);
	this_cpu_write(bts_cpu.followed, false);
	bts_follow(next);
}

static __always_inline void bts_arrive(struct bts_cpu *cpu, struct task_struct *prev,
				       struct task_struct *next)
{
	if (unlikely(cpu->followed))
		bts_follow_switch(prev, next);
	cpu->owner = next->thread.bts ?: &bts_no_contexts;
	cpu->idle = is_idle_task(next);
}

/* While the hardware source is frozen, only the software source records. */
static noinline void bts_switch_frozen(struct bts_cpu *cpu, struct task_struct *prev,
				       struct task_struct *next)
{
	bts_drop_frozen_of_owner();
	bts_mark_steps(cpu->owner, X86_BTS_TASK_DEPARTS, prev);
	bts_arrive(cpu, prev, next);
	bts_mark_steps(cpu->owner, X86_BTS_TASK_ARRIVES, next);
}

/**
 * bts_switch_to - stop recording one task and start recording another
 * @prev: the task that is switched out
 * @next: the task that is switched in
 *
 * Called with interrupts off, if @prev or @next has TIF_BTS.
 */
void bts_switch_to(struct task_struct *prev, struct task_struct *next)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);

	if (unlikely(!bts_source->pause())) {
		bts_switch_frozen(cpu, prev, next);
		return;
	}

	bts_mark_switch(cpu, X86_BTS_TASK_DEPARTS, prev);
	bts_arrive(cpu, prev, next);
	/* If no context is live on this CPU now, leave the source paused. */
	if (cpu->owner == &bts_no_contexts && list_empty(&cpu->contexts))
		return;

	bts_mark_switch(cpu, X86_BTS_TASK_ARRIVES, next);
	bts_resume();
}

/**
 * bts_debug_exception - resume recording if a #DB has stopped it
 *
 * Called by the handlers of #DB, with interrupts off, after bts_note_cleared(). Does nothing if the
 * CPU is frozen, or if perf has BTS: then the handlers set TR again by debugctl_sync().
 */
void bts_debug_exception(void)
{
	if (unlikely(this_cpu_read(bts_cleared)) && bts_source->restart)
		bts_source->restart();
}

/*
 * Call the function of @info, a struct bts_call, on this CPU while the sources are paused. If the
 * hardware source is frozen, it stays frozen.
 */
void bts_call_here(void *info)
{
	struct bts_call *call = info;

	guard(irqsave)();
	call->paused = bts_source->pause();
	bts_pause_steps(this_cpu_read(bts_cpu.owner));
	call->func(call);
	/* call->func() may have changed the owner. */
	bts_resume_steps(this_cpu_read(bts_cpu.owner));
	if (call->paused)
		bts_resume();
}

static void bts_nothing(struct bts_call *call)
{
}

/**
 * bts_flush_cpu - deliver the records in the buffer of a CPU to the contexts that are live there
 * @cpu: the CPU
 *
 * Called with interrupts on. If @cpu is frozen, nothing is delivered.
 *
 * Return: 0; -ENXIO if @cpu is not online; -EOPNOTSUPP if this machine has no source
 * of records that can trace CPUs.
 */
int bts_flush_cpu(int cpu)
{
	struct bts_call call = { .func = bts_nothing };

	if (!bts_source->id)
		return -EOPNOTSUPP;

	return smp_call_function_single(cpu, bts_call_here, &call, 1);
}
EXPORT_SYMBOL_IF_KUNIT(bts_flush_cpu);
