// SPDX-License-Identifier: GPL-2.0
/*
 * PTRACE_BTS_*: the branch trace of a tracee, for its tracer
 *
 * thread.ptrace_bts is written by the tracer while the tracee is frozen in a
 * ptrace stop, by the tracee itself, or before it first runs; never by two of
 * them at once. A tracer that dies may look at it at any time, but does no more
 * than mark the trace as an orphan. The tracee frees it: when it next returns to user
 * mode, when it exits, or, if it is a worker of io_uring or vhost, which never returns
 * there, after its current request. Until then no other tracer sees anything of it.
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
#include <linux/task_work.h>
#include <linux/uprobes.h>
#include <linux/user_namespace.h>

#include "ptrace_bts_internal.h"

enum {
	PTRACE_BTS_OFF,
	PTRACE_BTS_PERFMON,
	PTRACE_BTS_PTRACER,
};

static int sysctl_ptrace_bts __read_mostly = PTRACE_BTS_PTRACER;

/*
 * Having, paying, and giving back
 */

static void ptrace_bts_put(struct ptrace_bts *pb)
{
	if (refcount_dec_and_test(&pb->ref))
		kfree_rcu(pb, rcu);
}

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

/**
 * ptrace_bts_release - end a trace
 * @child: whose it is: current, or off its CPU and staying there
 * @pb: the trace
 *
 * A work that current is to run after this finds nothing left to do.
 */
void ptrace_bts_release(struct task_struct *child, struct ptrace_bts *pb)
{
	/* A task in a group stop runs no works: one for each past tracer would pile up. */
	if (child != current && test_bit(PTRACE_BTS_ORPHAN, &pb->state) &&
	    task_work_cancel(child, &pb->untrace))
		ptrace_bts_put(pb);

	if (ptrace_bts_of(child) == pb)
		RCU_INIT_POINTER(child->thread.ptrace_bts, NULL);

	if (pb->ctx) {
		if (WARN_ON_ONCE(bts_destroy(pb->ctx)))
			return;
		pb->ctx = NULL;
		ptrace_bts_uncharge(pb);
	}

	free_uid(pb->user);
	put_pid_ns(pb->ns);
	if (pb->tracer)
		put_task_struct(pb->tracer);
	if (pb->from)
		ptrace_bts_put(pb->from);
	ptrace_bts_put(pb);
}

/**
 * ptrace_bts_release_task - end the trace of a task, if it has one
 * @child: the task: current, frozen by its tracer, or one that has never run
 */
void ptrace_bts_release_task(struct task_struct *child)
{
	struct ptrace_bts *pb = ptrace_bts_of(child);

	if (unlikely(pb))
		ptrace_bts_release(child, pb);
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
	struct ptrace_bts *pb = ptrace_bts_of(task);

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

/* Its tracer is gone, and current is where it runs task works. */
static void ptrace_bts_untrace_work(struct callback_head *work)
{
	struct ptrace_bts *pb = container_of(work, struct ptrace_bts, untrace);

	if (ptrace_bts_of(current) == pb)
		ptrace_bts_release(current, pb);
	ptrace_bts_put(pb);
}

/*
 * What io_uring's worker is at would fail because of a signal. Its thread that polls,
 * which has no worker_private, gets such signals from io_uring itself, and looks for
 * them alone when it is about to sleep.
 */
static bool ptrace_bts_fails_by_signal(const struct task_struct *task)
{
	return task->flags & PF_IO_WORKER && READ_ONCE(task->worker_private);
}

/**
 * ptrace_bts_untrace - the tracer of a task lets go of it
 * @child: the task, in any state
 *
 * Called with tasklist_lock held for writing and interrupts off.
 */
void ptrace_bts_untrace(struct task_struct *child)
{
	enum task_work_notify_mode notify = TWA_RESUME;
	struct ptrace_bts *pb;
	bool wake;

	guard(rcu)();
	pb = rcu_dereference(child->thread.ptrace_bts);
	if (likely(!pb) || !refcount_inc_not_zero(&pb->ref))
		return;

	/* A worker in the kernel never returns to user mode. */
	wake = ptrace_bts_fails_by_signal(child);
	if (child->flags & (PF_USER_WORKER | PF_IO_WORKER) && !wake)
		notify = TWA_SIGNAL;
	/* One who exits already gives it back without being asked. */
	if (test_and_set_bit(PTRACE_BTS_ORPHAN, &pb->state) ||
	    task_work_add(child, &pb->untrace, notify)) {
		ptrace_bts_put(pb);
		return;
	}
	/* Between two requests it runs task works. */
	if (wake)
		wake_up_state(child, TASK_INTERRUPTIBLE);
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

	return !bts_status(pb->ctx, &status) && status.held >= status.nr;
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
	struct ptrace_bts *pb = ptrace_bts_of(current);

	clear_thread_flag(TIF_BTS_FULL);
	if (!pb || !test_bit(PTRACE_BTS_FULL, &pb->state) || ptrace_bts_in_uprobe())
		return;

	clear_bit(PTRACE_BTS_FULL, &pb->state);
	/* Another tracer must not get the stop of the last one's trace. */
	if (pb->config.flags & PTRACE_BTS_F_SIGNAL && ptrace_bts_is_full(pb) &&
	    !test_bit(PTRACE_BTS_ORPHAN, &pb->state))
		ptrace_bts_stop(pb->config.signal);
}

/* In hard interrupt context, where the trace became full. */
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
		.ns	= pb->ns,
		.data	= pb,
	};

	if (pb->wide && attr.flags & BTS_USER)
		attr.flags |= BTS_WIDE;
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
	int err;

	err = ptrace_bts_charge(pb);
	if (err)
		return err;

	err = bts_create_task(pb->task, &attr, &pb->ctx);
	if (err)
		ptrace_bts_uncharge(pb);

	return err;
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
	pb->nr = config->size / sizeof(struct bts_record);
	pb->user = get_uid(user);
	pb->limit = limit;
	pb->ns = get_pid_ns(ns);
	pb->task = child;
	refcount_set(&pb->ref, 1);
	init_task_work(&pb->untrace, ptrace_bts_untrace_work);

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
	struct ptrace_bts *from = ptrace_bts_of(current), *pb;

	if (likely(!from) || !(from->config.flags & PTRACE_BTS_F_INHERIT) ||
	    !(from->config.flags & PTRACE_BTS_ANY) ||
	    test_bit(PTRACE_BTS_ORPHAN, &from->state))
		return;

	pb = ptrace_bts_new(child, &from->config, from->user, from->limit, from->ns);
	if (!pb) {
		atomic_inc(&from->not_inherited);
		return;
	}

	refcount_inc(&from->ref);
	pb->from = from;
	pb->perfmon = from->perfmon;
	pb->wide = from->wide;
	scoped_guard(rcu)
		pb->tracer = get_task_struct(rcu_dereference(current->parent));
	/* Pairs with ptrace_bts_untrace(): no later tracer gets what is not his. */
	smp_rmb();
	if (test_bit(PTRACE_BTS_ORPHAN, &from->state))
		ptrace_bts_release(child, pb);
	else
		rcu_assign_pointer(child->thread.ptrace_bts, pb);
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
	struct ptrace_bts *pb = ptrace_bts_of(current);

	if (likely(!pb))
		return;

	if (!ptrace_bts_same_tracer(pb)) {
		ptrace_bts_release(current, pb);
		return;
	}

	if (!ptrace_bts_allowed(pb->perfmon) || ptrace_bts_create(pb)) {
		atomic_inc(&pb->from->not_inherited);
		ptrace_bts_release(current, pb);
		return;
	}

	put_task_struct(pb->tracer);
	pb->tracer = NULL;
	ptrace_bts_put(pb->from);
	pb->from = NULL;
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
