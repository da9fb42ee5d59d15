// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: calling a function where it may access a context
 *
 * See bts.c for the locking rules.
 */

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "bts_internal.h"

/* Fail if @task runs. Otherwise the locks of task_call_func() keep @task off all CPUs meanwhile. */
static int bts_visit(struct task_struct *task, void *info)
{
	struct bts_call *call = info;

	if (task_curr(task))
		return -EAGAIN;
	call->func(call);

	return 0;
}

static void bts_visit_current(void *info)
{
	struct bts_call *call = info;

	if (current != call->ctx->task)
		return;
	bts_call_here(call);
	call->done = true;
}

/*
 * Return false if @call->func() was not called, for example because the task was switched out at
 * the same time. Then the caller has to try again.
 */
static bool bts_try_task(struct bts_call *call)
{
	struct task_struct *task;

	/* The task may exit meanwhile, but RCU keeps its task_struct. */
	guard(rcu)();
	/*
	 * Pairs with bts_exit_list() and bts_task_unlink(): if the task is NULL, no other CPU
	 * accesses the ring any more.
	 */
	task = smp_load_acquire(&call->ctx->task);
	call->done = false;

	if (!task)
		call->func(call);
	else if (task == current)
		bts_call_here(call);
	else if (task_call_func(task, bts_visit, call))
		smp_call_function_single(task_cpu(task), bts_visit_current, call, 1);
	else
		return true;

	return !task || task == current || call->done;
}

static void bts_call_task(struct bts_call *call)
{
	while (!bts_try_task(call))
		cond_resched();
}

/* Call @call->func() where it may change the list that @ctx is in, or is to be in. */
void bts_call_locked(struct bts_context *ctx, struct bts_call *call)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&bts_mutex);

	call->ctx = ctx;
	if (ctx->cpu < 0)
		bts_call_task(call);
	else if (cpu_online(ctx->cpu))
		smp_call_function_single(ctx->cpu, bts_call_here, call, 1);
	else
		call->func(call);
}

int bts_call(struct bts_context *ctx, struct bts_call *call)
{
	call->ctx = ctx;
	if (ctx->cpu < 0) {
		bts_call_task(call);
		return call->ret;
	}

	guard(cpus_read_lock)();
	/* If this fails, the CPU is offline. */
	if (smp_call_function_single(ctx->cpu, bts_call_here, call, 1)) {
		guard(mutex)(&bts_mutex);
		call->func(call);
	}

	return call->ret;
}
