// SPDX-License-Identifier: GPL-2.0
/*
 * PTRACE_BTS_*: the branch trace of a tracee, for its tracer
 *
 * thread.ptrace_bts of the tracee holds a reference to the trace. A task that removes this pointer
 * ends the trace. This task may be the tracer, the tracee, a worker (after the tracer has
 * detached), or the parent (if the fork of the tracee fails). The tracee may hold a reference, too,
 * while it uses its trace. Dropping the last of these references destroys the context.
 *
 * Memory is charged to the user of the tracer at the time of the request, and uncharged
 * from the same user, even if the tracer has exited or changed its user since.
 */

#include <linux/cleanup.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched/coredump.h>
#include <linux/sched/exec_state.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/uprobes.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "ptrace_bts_internal.h"

/* Ends traces whose tracer has detached or exited. If this is NULL, no trace can be created. */
static struct workqueue_struct *ptrace_bts_wq __ro_after_init;

/*
 * Charging and references
 */

static unsigned long ptrace_bts_pages(const struct ptrace_bts *pb)
{
	return bts_pages(pb->nr, pb->config.flags & PTRACE_BTS_F_STOP_FULL ? BTS_STOP_FULL : 0);
}

static bool ptrace_bts_try_charge(const struct ptrace_bts *pb)
{
	unsigned long now = atomic_long_read(&pb->user->locked_vm);
	unsigned long pages = ptrace_bts_pages(pb);

	do {
		if (pages > pb->limit || now > pb->limit - pages)
			return false;
	} while (!atomic_long_try_cmpxchg(&pb->user->locked_vm, &now, now + pages));

	return true;
}

static int ptrace_bts_charge(const struct ptrace_bts *pb)
{
	if (ptrace_bts_try_charge(pb))
		return 0;

	/* Traces whose tracer has detached or exited may still be charged: wait for their end. */
	flush_workqueue(ptrace_bts_wq);

	return ptrace_bts_try_charge(pb) ? 0 : -ENOMEM;
}

static void ptrace_bts_uncharge(const struct ptrace_bts *pb)
{
	atomic_long_sub(ptrace_bts_pages(pb), &pb->user->locked_vm);
}

/* Drop a reference that is counted in pb->count. Dropping the last one frees @pb. */
static void ptrace_bts_drop(struct ptrace_bts *pb)
{
	if (refcount_dec_and_test(&pb->count))
		kfree_rcu(pb, rcu);
}

/**
 * ptrace_bts_drop_parent - drop the references that pb->from and pb->tracer hold, if any
 * @pb: the trace
 */
void ptrace_bts_drop_parent(struct ptrace_bts *pb)
{
	if (!pb->from)
		return;
	put_task_struct(pb->tracer);
	pb->tracer = NULL;
	ptrace_bts_drop(pb->from);
	pb->from = NULL;
}

/**
 * ptrace_bts_put - drop a reference that is counted in pb->users
 * @pb: the trace
 *
 * Dropping the last one destroys the context, and uncharges its memory. May sleep.
 */
void ptrace_bts_put(struct ptrace_bts *pb)
{
	if (!refcount_dec_and_test(&pb->users))
		return;

	if (pb->ctx) {
		bts_destroy(pb->ctx);
		ptrace_bts_uncharge(pb);
	}
	free_uid(pb->user);
	put_pid_ns(pb->ns);
	ptrace_bts_drop_parent(pb);
	ptrace_bts_drop(pb);
}

/**
 * ptrace_bts_get - get the trace of a task
 * @task: the task
 *
 * Return: the trace, with a reference for ptrace_bts_put(), or NULL.
 */
struct ptrace_bts *ptrace_bts_get(struct task_struct *task)
{
	struct ptrace_bts *pb;

	guard(rcu)();
	pb = rcu_dereference(task->thread.ptrace_bts);

	return pb && refcount_inc_not_zero(&pb->users) ? pb : NULL;
}

/* Stop recording, and drop the reference of thread.ptrace_bts, which no longer points to @pb. */
static void ptrace_bts_end(struct ptrace_bts *pb)
{
	/* A new child may create the context meanwhile: pairs with ptrace_bts_create(). */
	struct bts_context *ctx = smp_load_acquire(&pb->ctx);

	if (ctx)
		bts_detach(ctx);
	ptrace_bts_put(pb);
}

/**
 * ptrace_bts_set - replace the trace of a task, and end the old trace, if any
 * @child: the task
 * @pb: the new trace, or NULL
 */
void ptrace_bts_set(struct task_struct *child, struct ptrace_bts *pb)
{
	struct ptrace_bts *old;

	old = unrcu_pointer(xchg(&child->thread.ptrace_bts, RCU_INITIALIZER(pb)));
	if (old)
		ptrace_bts_end(old);
}

/**
 * ptrace_bts_release_task - end the trace of a task, if it has one
 * @child: the task
 */
void ptrace_bts_release_task(struct task_struct *child)
{
	if (unlikely(rcu_access_pointer(child->thread.ptrace_bts)))
		ptrace_bts_set(child, NULL);
}

/* Tell whether the tracer of @task may read what @task has done until now. */
static bool ptrace_bts_readable(struct task_struct *task)
{
	const struct task_exec_state *exec;

	guard(rcu)();
	exec = task_exec_state_rcu(task);

	return READ_ONCE(exec->dumpable) == TASK_DUMPABLE_OWNER ||
	       ptracer_capable(task, exec->user_ns);
}

/**
 * ptrace_bts_leave_mm - before a task drops its address space, note who may read its trace
 * @task: current
 * @mm: its old address space, or NULL
 *
 * If the tracer may not read what the task did until now, set @secret of the trace: then, until
 * PTRACE_BTS_CLEAR, only a tracer with CAP_SYS_PTRACE in the initial user namespace may read it.
 */
void ptrace_bts_leave_mm(struct task_struct *task, struct mm_struct *mm)
{
	struct ptrace_bts *pb;

	guard(rcu)();
	pb = rcu_dereference(task->thread.ptrace_bts);
	if (likely(!pb) || !mm)
		return;
	if (!ptrace_bts_readable(task))
		pb->secret = true;
	/*
	 * While a task single-steps the copy of an instruction with a uprobe,
	 * ptrace_bts_exit_to_user_mode() clears TIF_BTS_FULL, but does not stop the task. After
	 * the step, it is called again, and stops the task. If the task drops its address space
	 * before the end of the step, there is no such call: set TIF_BTS_FULL again.
	 */
	if (test_bit(PTRACE_BTS_FULL, &pb->state))
		set_tsk_thread_flag(task, TIF_BTS_FULL);
}

static void ptrace_bts_untrace_work(struct work_struct *work)
{
	struct ptrace_bts *pb = container_of(work, struct ptrace_bts, untrace);
	struct task_struct *child = pb->task;

	/* The trace may have ended since the work was queued, and the task may have a new one. */
	if (unrcu_pointer(cmpxchg(&child->thread.ptrace_bts, RCU_INITIALIZER(pb), NULL)) == pb)
		ptrace_bts_end(pb);
	ptrace_bts_drop(pb);
	put_task_struct(child);
}

/**
 * ptrace_bts_untrace - let a worker end the trace of a task whose tracer detaches
 * @child: the task, in any state
 *
 * Called with tasklist_lock held for writing and interrupts off.
 */
void ptrace_bts_untrace(struct task_struct *child)
{
	struct ptrace_bts *pb;

	guard(rcu)();
	pb = rcu_dereference(child->thread.ptrace_bts);
	/*
	 * test_and_set_bit() is a full barrier. Set the bit before child->parent changes: pairs
	 * with smp_rmb() in ptrace_bts_fork(). Set it before the worker reads pb->ctx: pairs with
	 * smp_mb() in ptrace_bts_start_child().
	 */
	if (likely(!pb) || test_and_set_bit(PTRACE_BTS_ORPHAN, &pb->state) ||
	    !refcount_inc_not_zero(&pb->count))
		return;

	get_task_struct(child);
	queue_work(ptrace_bts_wq, &pb->untrace);
}

/*
 * The stop when the trace is full
 */

static void ptrace_bts_stop(int signal)
{
	struct kernel_siginfo info;

	if (!signal) {
		ptrace_notify(SIGTRAP | PTRACE_EVENT_BTS << 8, 0);
		return;
	}

	clear_siginfo(&info);
	info.si_signo = signal;
	info.si_errno = ENOBUFS;
	info.si_code = SI_KERNEL;
	/* If the siginfo cannot be queued, send the signal without it. */
	if (send_sig_info(signal, &info, current))
		send_sig(signal, current, 1);
}

/* Tell whether current steps the copy of an instruction with a uprobe. It must not stop then. */
static bool ptrace_bts_in_uprobe(void)
{
#ifdef CONFIG_UPROBES
	return current->utask && current->utask->active_uprobe;
#else
	return false;
#endif
}

/* Tell whether the trace is still full: records may have been removed since the overflow. */
static bool ptrace_bts_is_full(const struct ptrace_bts *pb)
{
	struct bts_status status;

	bts_status(pb->ctx, &status);

	return status.held >= status.nr;
}

/**
 * ptrace_bts_exit_to_user_mode - stop or signal current if its trace has become full
 *
 * Called only before a return to user mode, if TIF_BTS_FULL is set, or if current may have
 * finished the step of an instruction with a uprobe. This is not a task work: ptrace_notify() also
 * runs task works, before it stops current, and a stop in the task work would disturb that stop.
 */
void ptrace_bts_exit_to_user_mode(void)
{
	struct ptrace_bts *pb;
	bool stop = false;
	int signal = 0;

	/* Test first: uprobes call this often, and clearing the flag is an atomic operation. */
	if (test_thread_flag(TIF_BTS_FULL))
		clear_thread_flag(TIF_BTS_FULL);
	if (!rcu_access_pointer(current->thread.ptrace_bts) || ptrace_bts_in_uprobe())
		return;

	pb = ptrace_bts_get(current);
	if (!pb)
		return;
	if (test_and_clear_bit(PTRACE_BTS_FULL, &pb->state)) {
		/*
		 * A new tracer must not get the stop of the previous tracer's trace. A tracer
		 * that attaches after this test may get this stop, as with any other event.
		 */
		stop = pb->config.flags & PTRACE_BTS_F_SIGNAL && ptrace_bts_is_full(pb) &&
		       !test_bit(PTRACE_BTS_ORPHAN, &pb->state);
		signal = pb->config.signal;
	}
	/* Drop the reference before the stop, during which the tracer may detach. */
	ptrace_bts_put(pb);
	if (stop)
		ptrace_bts_stop(signal);
}

/* Called with interrupts off, on the CPU where the trace became full. */
static void ptrace_bts_overflow(struct bts_context *ctx, void *data)
{
	struct ptrace_bts *pb = data;

	set_bit(PTRACE_BTS_FULL, &pb->state);
	set_tsk_thread_flag(pb->task, TIF_BTS_FULL);
	/* The task may run on another CPU by now: make it see the flag. */
	kick_process(pb->task);
}

/*
 * Creating a trace
 */

/**
 * ptrace_bts_to_bts_flags - translate flags for <asm/bts.h>
 * @flags: PTRACE_BTS_F_*
 *
 * Return: BTS_*
 */
u32 ptrace_bts_to_bts_flags(u32 flags)
{
	u32 wants = 0;

	if (flags & PTRACE_BTS_F_TRACE)
		wants |= BTS_USER;
	if (flags & PTRACE_BTS_F_KERNEL)
		wants |= BTS_KERNEL;
	if (flags & PTRACE_BTS_F_ENTRY)
		wants |= BTS_ENTRY;
	if (flags & PTRACE_BTS_F_SCHED)
		wants |= BTS_SCHED;
	if (flags & PTRACE_BTS_F_STOP_FULL)
		wants |= BTS_STOP_FULL;

	return wants;
}

/**
 * ptrace_bts_attr - translate the configuration of a trace for <asm/bts.h>
 * @pb: the trace
 * @config: its current or its new configuration; only the flags are used
 *
 * Return: the attributes of its context.
 */
struct bts_attr ptrace_bts_attr(struct ptrace_bts *pb,
				const struct ptrace_bts_config *config)
{
	struct bts_attr attr = {
		.flags	= ptrace_bts_to_bts_flags(config->flags),
		.nr	= pb->nr,
		.source	= pb->config.source,
		.ns	= pb->ns,
		.data	= pb,
	};

	if (!pb->perfmon)
		attr.flags |= BTS_YIELDS;
	else if (attr.flags & BTS_USER)
		attr.flags |= BTS_SOFT_FILTER;
	if (pb->config.clock == PTRACE_BTS_CLOCK_MONOTONIC)
		attr.flags |= BTS_MONOTONIC;
	if (config->flags & PTRACE_BTS_F_SIGNAL)
		attr.overflow = ptrace_bts_overflow;

	return attr;
}

/**
 * ptrace_bts_create - charge the memory of a trace and start recording
 * @pb: the trace
 *
 * Return: 0; -ENOMEM or an error of bts_create_task(), and then nothing has changed.
 */
int ptrace_bts_create(struct ptrace_bts *pb)
{
	struct bts_attr attr = ptrace_bts_attr(pb, &pb->config);
	struct bts_context *ctx;
	int err;

	err = ptrace_bts_charge(pb);
	if (err)
		return err;

	err = bts_create_task(pb->task, &attr, &ctx);
	if (err) {
		ptrace_bts_uncharge(pb);
		return err;
	}
	/* A worker may end the trace of a new child meanwhile: pairs with ptrace_bts_end(). */
	smp_store_release(&pb->ctx, ctx);

	return 0;
}

/**
 * ptrace_bts_new - allocate a trace that does not record yet
 * @child: the task to be traced
 * @config: the configuration of the trace
 * @user: the user to be charged
 * @limit: the total number of pages that @user may be charged
 * @ns: the namespace of the pids in records
 *
 * Return: the trace, or NULL if there is no memory, or if ptrace_bts_wq could not be allocated.
 */
struct ptrace_bts *ptrace_bts_new(struct task_struct *child,
				  const struct ptrace_bts_config *config,
				  struct user_struct *user, unsigned long limit,
				  struct pid_namespace *ns)
{
	struct ptrace_bts *pb;

	if (!ptrace_bts_wq)
		return NULL;
	pb = kzalloc_obj(*pb, GFP_KERNEL_ACCOUNT);
	if (!pb)
		return NULL;

	pb->config = *config;
	pb->kernel = config->flags & PTRACE_BTS_F_KERNEL;
	pb->nr = config->size / sizeof(struct x86_bts_record);
	pb->user = get_uid(user);
	pb->limit = limit;
	pb->ns = get_pid_ns(ns);
	pb->task = child;
	refcount_set(&pb->users, 1);
	refcount_set(&pb->count, 1);
	INIT_WORK(&pb->untrace, ptrace_bts_untrace_work);

	return pb;
}

static int __init ptrace_bts_init(void)
{
	/* Ordered: all works take the mutex of bts_detach(), so more workers would wait for it. */
	ptrace_bts_wq = alloc_ordered_workqueue("ptrace_bts", 0);

	return ptrace_bts_wq ? 0 : -ENOMEM;
}
late_initcall(ptrace_bts_init);
