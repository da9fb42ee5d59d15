// SPDX-License-Identifier: GPL-2.0
/*
 * PTRACE_BTS_*: the branch trace of a tracee, for its tracer
 *
 * thread.ptrace_bts holds a reference. The task that takes the pointer out ends the
 * trace: the tracer, the tracee when it exits, or a worker when the tracer has let go.
 * So a trace gives the hardware back, whatever its tracee does. While the tracee
 * looks at its trace it holds a reference, too; the memory goes with the last one.
 *
 * A child that is to inherit a trace gets it before it first enters user mode,
 * in its own context: while copy_process() runs, nobody knows who will trace it,
 * and the locks that are needed cannot be had.
 *
 * Memory is charged to the user that the tracer had when it asked for it, and
 * given back to the same, whatever has become of the tracer since.
 */

#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched/coredump.h>
#include <linux/sched/exec_state.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uprobes.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "ptrace_bts_internal.h"

enum {
	PTRACE_BTS_PTRACER,
	PTRACE_BTS_PERFMON,
	PTRACE_BTS_NOBODY,
};

static int sysctl_ptrace_bts __read_mostly = PTRACE_BTS_PTRACER;

/*
 * Having, paying, and giving back
 */

static unsigned long ptrace_bts_pages(const struct ptrace_bts *pb)
{
	return bts_pages(pb->nr, pb->config.flags & PTRACE_BTS_F_STOP_FULL ? BTS_STOP : 0);
}

static int ptrace_bts_charge(const struct ptrace_bts *pb)
{
	unsigned long now = atomic_long_read(&pb->user->locked_vm);
	unsigned long pages = ptrace_bts_pages(pb);

	do {
		if (pages > pb->limit || now > pb->limit - pages)
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(&pb->user->locked_vm, &now, now + pages));

	return 0;
}

static void ptrace_bts_uncharge(const struct ptrace_bts *pb)
{
	atomic_long_sub(ptrace_bts_pages(pb), &pb->user->locked_vm);
}

/* The structure goes with its last reference of any kind. */
static void ptrace_bts_drop(struct ptrace_bts *pb)
{
	if (refcount_dec_and_test(&pb->count))
		kfree_rcu(pb, rcu);
}

static void ptrace_bts_drop_parent(struct ptrace_bts *pb)
{
	if (!pb->from)
		return;
	put_task_struct(pb->tracer);
	pb->tracer = NULL;
	ptrace_bts_drop(pb->from);
	pb->from = NULL;
}

/**
 * ptrace_bts_put - give up a reference
 * @pb: the trace
 *
 * May sleep.
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

/* The trace of a task, whose reference the caller has to give up, or NULL */
static struct ptrace_bts *ptrace_bts_get(struct task_struct *task)
{
	struct ptrace_bts *pb;

	guard(rcu)();
	pb = rcu_dereference(task->thread.ptrace_bts);

	return pb && refcount_inc_not_zero(&pb->users) ? pb : NULL;
}

/* Record nothing more: the trace is not its task's any more. */
static void ptrace_bts_end(struct ptrace_bts *pb)
{
	/* Pairs with ptrace_bts_start_child(). */
	struct bts_context *ctx = smp_load_acquire(&pb->ctx);

	if (ctx)
		bts_detach(ctx);
	ptrace_bts_put(pb);
}

/**
 * ptrace_bts_set - end the trace of a task, if it has one, and give it another
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

/* May the tracer of current see what it has done until now? */
static bool ptrace_bts_readable(struct task_struct *task)
{
	const struct task_exec_state *exec;

	guard(rcu)();
	exec = task_exec_state_rcu(task);

	return READ_ONCE(exec->dumpable) == TASK_DUMPABLE_OWNER ||
	       ptracer_capable(task, exec->user_ns);
}

/**
 * ptrace_bts_leave_mm - a task is about to get another address space, or none
 * @task: current
 * @mm: the one that it had
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
	 * A task that steps over a probed instruction and is to stop leaves that
	 * instruction with its address space, and nothing else tells of that.
	 */
	if (test_bit(PTRACE_BTS_FULL, &pb->state))
		set_tsk_thread_flag(task, TIF_BTS_FULL);
}

static void ptrace_bts_untrace_work(struct work_struct *work)
{
	struct ptrace_bts *pb = container_of(work, struct ptrace_bts, untrace);
	struct task_struct *child = pb->task;

	/* It may have ended since, and the task have another one. */
	if (unrcu_pointer(cmpxchg(&child->thread.ptrace_bts, RCU_INITIALIZER(pb), NULL)) == pb)
		ptrace_bts_end(pb);
	ptrace_bts_drop(pb);
	put_task_struct(child);
}

/**
 * ptrace_bts_untrace - the tracer of a task lets go of it
 * @child: the task, in any state
 *
 * Called with tasklist_lock held for writing and interrupts off.
 */
void ptrace_bts_untrace(struct task_struct *child)
{
	struct ptrace_bts *pb;

	guard(rcu)();
	pb = rcu_dereference(child->thread.ptrace_bts);
	if (likely(!pb) || test_and_set_bit(PTRACE_BTS_ORPHAN, &pb->state) ||
	    !refcount_inc_not_zero(&pb->count))
		return;

	get_task_struct(child);
	queue_work(system_dfl_wq, &pb->untrace);
}

/*
 * The stop when it is full
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
	/* Without the details where there is no room for them. */
	if (send_sig_info(signal, &info, current))
		send_sig(signal, current, 1);
}

/* In the place of an instruction with a uprobe nobody must see it stop. */
static bool ptrace_bts_in_uprobe(void)
{
#ifdef CONFIG_UPROBES
	return current->utask && current->utask->active_uprobe;
#else
	return false;
#endif
}

/* It may have been read since. */
static bool ptrace_bts_is_full(const struct ptrace_bts *pb)
{
	struct bts_status status;

	bts_status(pb->ctx, &status);

	return status.held >= status.nr;
}

/**
 * ptrace_bts_exit_to_user_mode - stop current if its trace has become full
 *
 * Called on the way to user mode only, with TIF_BTS_FULL set, or when current may
 * be about to leave the place of a uprobe. A task work would not do. It would also
 * run in other ptrace stops and in execve. Its stop would then replace the result of
 * the stop in progress, or come after the tracer was told that the tracee has ended.
 */
void ptrace_bts_exit_to_user_mode(void)
{
	struct ptrace_bts *pb;
	bool stop = false;
	int signal = 0;

	/* A uprobe alone brings current here often, and clearing it is not cheap. */
	if (test_thread_flag(TIF_BTS_FULL))
		clear_thread_flag(TIF_BTS_FULL);
	if (!rcu_access_pointer(current->thread.ptrace_bts) || ptrace_bts_in_uprobe())
		return;

	pb = ptrace_bts_get(current);
	if (!pb)
		return;
	if (test_and_clear_bit(PTRACE_BTS_FULL, &pb->state)) {
		/*
		 * Another tracer must not get the stop of the last one's trace. One that
		 * attaches from here on may, as it may get any event's.
		 */
		stop = pb->config.flags & PTRACE_BTS_F_SIGNAL && ptrace_bts_is_full(pb) &&
		       !test_bit(PTRACE_BTS_ORPHAN, &pb->state);
		signal = pb->config.signal;
	}
	/* The stop may take long, and the tracer may let go meanwhile. */
	ptrace_bts_put(pb);
	if (stop)
		ptrace_bts_stop(signal);
}

/* With interrupts off, on the CPU where the trace became full */
static void ptrace_bts_overflow(struct bts_context *ctx, void *data)
{
	struct ptrace_bts *pb = data;

	set_bit(PTRACE_BTS_FULL, &pb->state);
	set_tsk_thread_flag(pb->task, TIF_BTS_FULL);
	/* It may have gone to another CPU since. */
	kick_process(pb->task);
}

/*
 * Making one
 */

/**
 * ptrace_bts_wants - translate flags for the layer below
 * @flags: PTRACE_BTS_F_*
 *
 * Return: BTS_*
 */
u32 ptrace_bts_wants(u32 flags)
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
		wants |= BTS_STOP;

	return wants;
}

/**
 * ptrace_bts_attr - tell the layer below what to do
 * @pb: the trace
 * @config: what is wanted of it
 *
 * Return: that.
 */
struct bts_attr ptrace_bts_attr(struct ptrace_bts *pb,
				const struct ptrace_bts_config *config)
{
	struct bts_attr attr = {
		.flags	= ptrace_bts_wants(config->flags),
		.nr	= pb->nr,
		.source	= pb->config.source,
		.ns	= pb->ns,
		.data	= pb,
	};

	if (!pb->perfmon)
		attr.flags |= BTS_YIELDS;
	else if (attr.flags & BTS_USER)
		attr.flags |= BTS_WIDE;
	if (pb->config.clock == PTRACE_BTS_CLOCK_MONOTONIC)
		attr.flags |= BTS_MONOTONIC;
	if (config->flags & PTRACE_BTS_F_SIGNAL)
		attr.overflow = ptrace_bts_overflow;

	return attr;
}

/**
 * ptrace_bts_create - pay for a trace and let it begin
 * @pb: the trace
 *
 * Return: 0, -ENOMEM, or as bts_create_task(); nothing has changed then.
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
	/* Pairs with ptrace_bts_end(). */
	smp_store_release(&pb->ctx, ctx);

	return 0;
}

/**
 * ptrace_bts_new - allocate a trace that has not begun
 * @child: whose it will be
 * @config: what is wanted
 * @user: pays
 * @limit: how many pages @user may be charged altogether
 * @ns: where pids are understood
 *
 * Return: the trace, or NULL where there is no memory.
 */
struct ptrace_bts *ptrace_bts_new(struct task_struct *child,
				  const struct ptrace_bts_config *config,
				  struct user_struct *user, unsigned long limit,
				  struct pid_namespace *ns)
{
	struct ptrace_bts *pb = kzalloc_obj(*pb, GFP_KERNEL_ACCOUNT);

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

/*
 * Children
 */

/**
 * ptrace_bts_fork - note what a child is to inherit
 * @child: the new task, which has not run yet
 *
 * A fork never fails for the sake of this.
 */
void ptrace_bts_fork(struct task_struct *child)
{
	struct ptrace_bts *from, *pb;

	if (likely(!rcu_access_pointer(current->thread.ptrace_bts)))
		return;
	from = ptrace_bts_get(current);
	if (!from)
		return;
	if (!(from->config.flags & PTRACE_BTS_F_INHERIT) ||
	    !(from->config.flags & PTRACE_BTS_ANY) ||
	    test_bit(PTRACE_BTS_ORPHAN, &from->state)) {
		ptrace_bts_put(from);
		return;
	}

	pb = ptrace_bts_new(child, &from->config, from->user, from->limit, from->ns);
	if (!pb) {
		atomic_inc(&from->not_inherited);
		ptrace_bts_put(from);
		return;
	}

	refcount_inc(&from->count);
	pb->from = from;
	pb->perfmon = from->perfmon;
	scoped_guard(rcu)
		pb->tracer = get_task_struct(rcu_dereference(current->parent));
	/* Pairs with ptrace_bts_untrace(): no later tracer gets what is not his. */
	smp_rmb();
	if (test_bit(PTRACE_BTS_ORPHAN, &from->state))
		ptrace_bts_put(pb);
	else
		rcu_assign_pointer(child->thread.ptrace_bts, pb);
	ptrace_bts_put(from);
}

/**
 * ptrace_bts_perfmon - tell whether current may watch performance
 *
 * Nothing is refused for this alone, so nobody is told.
 *
 * Return: true if so.
 */
bool ptrace_bts_perfmon(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_PERFMON) ||
	       ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

/**
 * ptrace_bts_allowed - tell whether the sysctl lets somebody trace
 * @perfmon: whether he may watch performance
 *
 * Return: true if so.
 */
bool ptrace_bts_allowed(bool perfmon)
{
	int needs = READ_ONCE(sysctl_ptrace_bts);

	return needs == PTRACE_BTS_PTRACER || (needs == PTRACE_BTS_PERFMON && perfmon);
}

/* It may have been left alone, or be somebody else's already. */
static bool ptrace_bts_same_tracer(const struct ptrace_bts *pb)
{
	const struct task_struct *tracer = NULL;

	read_lock(&tasklist_lock);
	if (current->ptrace && !test_bit(PTRACE_BTS_ORPHAN, &pb->state))
		tracer = rcu_dereference_protected(current->parent,
						   lockdep_is_held(&tasklist_lock));
	read_unlock(&tasklist_lock);

	return tracer == pb->tracer;
}

/**
 * ptrace_bts_start_child - start the trace that current inherits
 *
 * Called before it enters user mode for the first time.
 */
void ptrace_bts_start_child(void)
{
	struct ptrace_bts *pb;

	if (likely(!rcu_access_pointer(current->thread.ptrace_bts)))
		return;
	pb = ptrace_bts_get(current);
	if (!pb)
		return;

	if (!ptrace_bts_same_tracer(pb)) {
		ptrace_bts_set(current, NULL);
	} else if (!ptrace_bts_allowed(pb->perfmon) || ptrace_bts_create(pb)) {
		atomic_inc(&pb->from->not_inherited);
		ptrace_bts_set(current, NULL);
	} else {
		ptrace_bts_drop_parent(pb);
		/* The worker may have come before there was something to end. */
		smp_mb();
		if (test_bit(PTRACE_BTS_ORPHAN, &pb->state))
			bts_detach(pb->ctx);
	}
	ptrace_bts_put(pb);
}

static const struct ctl_table ptrace_bts_sysctls[] = {
	{
		.procname	= "ptrace_bts",
		.data		= &sysctl_ptrace_bts,
		.maxlen		= sizeof(sysctl_ptrace_bts),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_TWO,
	},
};

static int __init ptrace_bts_init(void)
{
	register_sysctl_init("kernel", ptrace_bts_sysctls);
	return 0;
}
late_initcall(ptrace_bts_init);
