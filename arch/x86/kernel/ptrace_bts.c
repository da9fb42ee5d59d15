// SPDX-License-Identifier: GPL-2.0
/*
 * PTRACE_BTS_*: the branch trace of a tracee, for its tracer
 *
 * thread.ptrace_bts is written by the tracer while the tracee is frozen in a
 * ptrace stop, by the tracee itself, or before it first runs; never by two of
 * them at once. A tracer that dies may look at it at any time, but does no more
 * than mark the trace as an orphan: its tracee gives it back, on its way to user
 * mode or to its end. Until then no other tracer sees anything of it.
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
#include <linux/cred.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>

#include <asm/bts.h>
#include <asm/ptrace_bts.h>

#define PTRACE_BTS_FLAGS	(PTRACE_BTS_F_TRACE | PTRACE_BTS_F_SCHED |	\
				 PTRACE_BTS_F_SIGNAL | PTRACE_BTS_F_ALLOC |	\
				 PTRACE_BTS_F_KERNEL | PTRACE_BTS_F_STOP_FULL |	\
				 PTRACE_BTS_F_INHERIT | PTRACE_BTS_F_ENTRY)

static_assert(BTS_SOURCE_DS == PTRACE_BTS_SOURCE_DS);
static_assert(BTS_ERRATUM_FROM_EVENT == PTRACE_BTS_ERRATUM_FROM_EVENT);
static_assert(BTS_ERRATUM_FROM_CPL == PTRACE_BTS_ERRATUM_FROM_CPL);

/**
 * struct ptrace_bts - the trace of one tracee
 * @ctx:	the trace itself; NULL before a child that inherits has run
 * @config:	as it was asked for, without ALLOC
 * @kernel:	there are, or were, addresses of the kernel in it
 * @secret:	there may be branches in it of a program that cannot be dumped
 * @nr:		for how many records
 * @user:	who pays
 * @limit:	how many pages this user may be charged altogether, for children
 * @ns:		where the tracer understands pids
 * @not_inherited: how many children could not be given the like
 * @task:	whose it is
 * @tracer:	before a child has run: who must trace it then
 * @from:	before a child has run: its parent's
 * @state:	PTRACE_BTS_ORPHAN, PTRACE_BTS_FULL
 * @ref:	thread.ptrace_bts, works that are queued, and @from of others
 * @untrace:	gives everything back
 * @overflow:	stops the tracee
 * @rcu:	a tracer that dies may be looking
 */
struct ptrace_bts {
	struct bts_context	*ctx;
	struct ptrace_bts_config config;
	bool			kernel;
	bool			secret;
	u32			nr;
	struct user_struct	*user;
	unsigned long		limit;
	struct pid_namespace	*ns;
	atomic_t		not_inherited;
	struct task_struct	*task;
	struct task_struct	*tracer;
	struct ptrace_bts	*from;
	unsigned long		state;
	refcount_t		ref;
	struct callback_head	untrace;
	struct callback_head	overflow;
	struct rcu_head		rcu;
};

#define PTRACE_BTS_ORPHAN	0	/* its tracer is gone, @untrace is queued */
#define PTRACE_BTS_FULL		1	/* @overflow is queued */

enum {
	PTRACE_BTS_OFF,
	PTRACE_BTS_PERFMON,
	PTRACE_BTS_PTRACER,
};

static int sysctl_ptrace_bts __read_mostly = PTRACE_BTS_PTRACER;

/* For those who may write it, see above. */
static struct ptrace_bts *ptrace_bts_of(const struct task_struct *child)
{
	return rcu_dereference_protected(child->thread.ptrace_bts, true);
}

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

/*
 * End the trace of @child, which is current, or off its CPU and staying there.
 * Works that are still queued find nothing left to do.
 */
static void ptrace_bts_release(struct task_struct *child, struct ptrace_bts *pb)
{
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

/**
 * ptrace_bts_leave_mm - a task is about to get another address space, or none
 * @task: current
 * @mm: the one that it had
 */
void ptrace_bts_leave_mm(struct task_struct *task, struct mm_struct *mm)
{
	struct ptrace_bts *pb = ptrace_bts_of(task);

	if (unlikely(pb) && mm && get_dumpable(mm) != SUID_DUMP_USER)
		pb->secret = true;
}

/* Its tracer is gone, and current on its way to user mode or to its end. */
static void ptrace_bts_untrace_work(struct callback_head *work)
{
	struct ptrace_bts *pb = container_of(work, struct ptrace_bts, untrace);

	if (ptrace_bts_of(current) == pb)
		ptrace_bts_release(current, pb);
	ptrace_bts_put(pb);
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
	if (likely(!pb) || !refcount_inc_not_zero(&pb->ref))
		return;

	/* One who exits already gives it back without being asked. */
	if (test_and_set_bit(PTRACE_BTS_ORPHAN, &pb->state) ||
	    task_work_add(child, &pb->untrace, TWA_RESUME | TWAF_NO_ALLOC))
		ptrace_bts_put(pb);
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

static void ptrace_bts_overflow_work(struct callback_head *work)
{
	struct ptrace_bts *pb = container_of(work, struct ptrace_bts, overflow);
	bool wanted;

	clear_bit(PTRACE_BTS_FULL, &pb->state);
	wanted = ptrace_bts_of(current) == pb && !test_bit(PTRACE_BTS_ORPHAN, &pb->state) &&
		 pb->config.flags & PTRACE_BTS_F_SIGNAL && !(current->flags & PF_EXITING);
	if (wanted)
		ptrace_bts_stop(pb->config.signal);
	ptrace_bts_put(pb);
}

/* In hard interrupt context, where the trace became full. */
static void ptrace_bts_overflow(struct bts_context *ctx, void *data)
{
	struct ptrace_bts *pb = data;

	if (test_and_set_bit(PTRACE_BTS_FULL, &pb->state))
		return;

	refcount_inc(&pb->ref);
	if (task_work_add(pb->task, &pb->overflow, TWA_RESUME | TWAF_NO_ALLOC))
		ptrace_bts_put(pb);
}

/*
 * Making one
 */

static u32 ptrace_bts_wants(u32 flags)
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

/* What the layer below is to do for @config. */
static struct bts_attr ptrace_bts_attr(struct ptrace_bts *pb,
				       const struct ptrace_bts_config *config)
{
	struct bts_attr attr = {
		.flags	= ptrace_bts_wants(config->flags),
		.nr	= pb->nr,
		.ns	= pb->ns,
		.data	= pb,
	};

	if (config->flags & PTRACE_BTS_F_SIGNAL)
		attr.overflow = ptrace_bts_overflow;

	return attr;
}

/* Nothing has changed if it fails. */
static int ptrace_bts_create(struct ptrace_bts *pb)
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

static struct ptrace_bts *ptrace_bts_new(struct task_struct *child,
					 const struct ptrace_bts_config *config,
					 struct user_struct *user, unsigned long limit,
					 struct pid_namespace *ns)
{
	struct ptrace_bts *pb = kzalloc(sizeof(*pb), GFP_KERNEL_ACCOUNT);

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
	init_task_work(&pb->overflow, ptrace_bts_overflow_work);

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
	    test_bit(PTRACE_BTS_ORPHAN, &from->state))
		return;

	pb = ptrace_bts_new(child, &from->config, from->user, from->limit, from->ns);
	if (!pb) {
		atomic_inc(&from->not_inherited);
		return;
	}

	refcount_inc(&from->ref);
	pb->from = from;
	scoped_guard(rcu)
		pb->tracer = get_task_struct(rcu_dereference(current->parent));
	/* Pairs with ptrace_bts_untrace(): no later tracer gets what is not his. */
	smp_rmb();
	if (test_bit(PTRACE_BTS_ORPHAN, &from->state))
		ptrace_bts_release(child, pb);
	else
		rcu_assign_pointer(child->thread.ptrace_bts, pb);
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

	if (READ_ONCE(sysctl_ptrace_bts) == PTRACE_BTS_OFF || ptrace_bts_create(pb)) {
		atomic_inc(&pb->from->not_inherited);
		ptrace_bts_release(current, pb);
		return;
	}

	put_task_struct(pb->tracer);
	pb->tracer = NULL;
	ptrace_bts_put(pb->from);
	pb->from = NULL;
}

/*
 * The requests; the tracee is frozen, current is its tracer
 */

/* May current see what @child does? As in ptrace_access_vm(). */
static int ptrace_bts_permitted(struct task_struct *child)
{
	struct mm_struct *mm;
	int ret = 0;

	switch (READ_ONCE(sysctl_ptrace_bts)) {
	case PTRACE_BTS_OFF:
		return -EPERM;
	case PTRACE_BTS_PERFMON:
		if (!perfmon_capable())
			return -EPERM;
		break;
	}

	mm = get_task_mm(child);
	if (!mm)
		return -EPERM;
	if (get_dumpable(mm) != SUID_DUMP_USER && !ptracer_capable(child, mm->user_ns))
		ret = -EPERM;
	mmput(mm);

	return ret;
}

/* May current see what the kernel does? Whatever says no, it is one errno. */
static int ptrace_bts_permitted_kernel(void)
{
	return perf_allow_kernel() || security_locked_down(LOCKDOWN_PERF) ? -EACCES : 0;
}

/*
 * To record where user mode is left, hardware has to write down all that the
 * kernel does, into memory that is mapped, though not accessible, while user mode
 * runs; hardware without a filter always has to. Where such memory is no secret it
 * takes the right to see it.
 */
static bool ptrace_bts_exposes_kernel(u32 flags)
{
	return flags & PTRACE_BTS_F_KERNEL ||
	       (boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN) &&
		bts_records_kernel(ptrace_bts_wants(flags)));
}

/* The trace of @child that is current's. What is left of another tracer's goes. */
static struct ptrace_bts *ptrace_bts_find(struct task_struct *child)
{
	struct ptrace_bts *pb = ptrace_bts_of(child);

	if (pb && test_bit(PTRACE_BTS_ORPHAN, &pb->state)) {
		ptrace_bts_release(child, pb);
		pb = NULL;
	}

	return pb && pb->ctx ? pb : ERR_PTR(-ENXIO);
}

static int ptrace_bts_check_alloc(const struct ptrace_bts_config *config)
{
	const u32 any = PTRACE_BTS_F_TRACE | PTRACE_BTS_F_KERNEL | PTRACE_BTS_F_SCHED;
	u32 nr = config->size / sizeof(struct bts_record);

	if (config->flags == PTRACE_BTS_F_ALLOC && !config->size)
		return 0;
	if (!(config->flags & any) || !nr || nr > BTS_MAX_RECORDS)
		return -EINVAL;

	return 0;
}

static int ptrace_bts_check_config(const struct ptrace_bts_config *config)
{
	u32 flags = config->flags;

	if (flags & ~PTRACE_BTS_FLAGS)
		return -EINVAL;
	if (flags & PTRACE_BTS_F_ENTRY && !(flags & PTRACE_BTS_F_TRACE))
		return -EINVAL;
	if (config->bts_size && config->bts_size != sizeof(struct bts_record))
		return -EINVAL;

	if (flags & PTRACE_BTS_F_SIGNAL ? !valid_signal(config->signal) : config->signal)
		return -EINVAL;

	if (flags & PTRACE_BTS_F_ALLOC)
		return ptrace_bts_check_alloc(config);

	return config->size ? -EINVAL : 0;
}

/* Change what is recorded into the trace that is there. */
static int ptrace_bts_change(struct ptrace_bts *pb, const struct ptrace_bts_config *config)
{
	struct bts_attr attr = ptrace_bts_attr(pb, config);
	int err;

	/* The room for what comes after it is full is there from the beginning. */
	if ((pb->config.flags ^ config->flags) & PTRACE_BTS_F_STOP_FULL)
		return -EINVAL;

	err = bts_change_task(pb->ctx, &attr);
	if (err)
		return err;

	pb->config.flags = config->flags;
	pb->config.signal = config->signal;
	pb->kernel |= config->flags & PTRACE_BTS_F_KERNEL;

	return 0;
}

static unsigned long ptrace_bts_limit(void)
{
	return capable(CAP_IPC_LOCK) ? LONG_MAX : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
}

/* Make a new trace; the old one goes when the new one is there. */
static int ptrace_bts_replace(struct task_struct *child,
			      const struct ptrace_bts_config *config)
{
	struct ptrace_bts *pb;
	int err;

	pb = ptrace_bts_new(child, config, current_user(), ptrace_bts_limit(),
			    task_active_pid_ns(current));
	if (!pb)
		return -ENOMEM;

	pb->config.flags &= ~PTRACE_BTS_F_ALLOC;
	err = ptrace_bts_create(pb);
	if (err) {
		ptrace_bts_release(child, pb);
		return err;
	}

	ptrace_bts_release_task(child);
	rcu_assign_pointer(child->thread.ptrace_bts, pb);

	return 0;
}

static int ptrace_bts_do_config(struct task_struct *child,
				const struct ptrace_bts_config *config)
{
	struct ptrace_bts *pb;
	int err;

	err = ptrace_bts_permitted(child);
	if (err)
		return err;

	if (ptrace_bts_exposes_kernel(config->flags)) {
		err = ptrace_bts_permitted_kernel();
		if (err)
			return err;
	}

	pb = ptrace_bts_find(child);
	if (config->flags & PTRACE_BTS_F_ALLOC && config->size)
		return ptrace_bts_replace(child, config);
	if (IS_ERR(pb))
		return PTR_ERR(pb);
	if (!(config->flags & PTRACE_BTS_F_ALLOC))
		return ptrace_bts_change(pb, config);

	ptrace_bts_release(child, pb);

	return 0;
}

static int ptrace_bts_config(struct task_struct *child, void __user *addr,
			     unsigned long size)
{
	struct ptrace_bts_config config;
	int err;

	if (size < sizeof(config.size))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;

	err = copy_struct_from_user(&config, sizeof(config), addr, size);
	if (err)
		return err;

	err = ptrace_bts_check_config(&config);
	if (err)
		return err;

	if (!bts_available())
		return -EOPNOTSUPP;

	return ptrace_bts_do_config(child, &config);
}

static int ptrace_bts_status(const struct ptrace_bts *pb, void __user *addr,
			     unsigned long size)
{
	struct ptrace_bts_status out = {};
	struct bts_status status;
	int err;

	if (!size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;

	err = bts_status(pb->ctx, &status);
	if (err)
		return err;

	out.size = pb->nr * sizeof(struct bts_record);
	out.flags = pb->config.flags;
	out.signal = pb->config.signal;
	out.bts_size = sizeof(struct bts_record);
	out.held = status.held;
	out.lost = status.lost;
	out.overwritten = status.overwritten;
	out.gaps = status.gaps;
	out.source = status.source;
	out.errata = status.errata;
	out.clock = PTRACE_BTS_CLOCK_SCHED;
	out.not_inherited = atomic_read(&pb->not_inherited);

	/* Callers know less or more than this kernel; the rest reads 0. */
	if (size > sizeof(out) && clear_user(addr + sizeof(out), size - sizeof(out)))
		return -EFAULT;

	return copy_to_user(addr, &out, min(size, sizeof(out))) ? -EFAULT : 0;
}

static int ptrace_bts_size(const struct ptrace_bts *pb)
{
	struct bts_status status;
	int err = bts_status(pb->ctx, &status);

	return err ?: status.held;
}

static int ptrace_bts_get(const struct ptrace_bts *pb, void __user *addr,
			  unsigned long index)
{
	struct bts_record rec;
	int err = bts_get(pb->ctx, index, &rec);

	if (err)
		return err;

	return copy_to_user(addr, &rec, sizeof(rec)) ? -EFAULT : 0;
}

static int ptrace_bts_clear(struct ptrace_bts *pb)
{
	int err = bts_clear(pb->ctx);

	if (!err)
		pb->secret = false;

	return err;
}

/* How many records are copied before looking up. */
#define PTRACE_BTS_STEP		4096

/* What was copied is gone, and nothing else, wherever the copying ends. */
static int ptrace_bts_drain(const struct ptrace_bts *pb, void __user *addr,
			    unsigned long size)
{
	int room = min_t(unsigned long, size / sizeof(struct bts_record), INT_MAX);
	const struct bts_record *run;
	int done = 0, n, copied;
	u64 first;

	if (!room)
		return -EINVAL;

	while (done < room) {
		n = bts_peek(pb->ctx, &run, &first);
		if (n <= 0)
			return done ?: n;

		n = min3(n, room - done, PTRACE_BTS_STEP);
		copied = n - DIV_ROUND_UP(copy_to_user(addr, run, n * sizeof(*run)),
					  sizeof(*run));
		bts_consume(pb->ctx, first, copied);
		done += copied;
		if (copied < n)
			return done ?: -EFAULT;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
		addr += n * sizeof(*run);
	}

	return done;
}

/**
 * ptrace_bts_request - one of PTRACE_BTS_*
 * @child: the tracee, frozen
 * @request: which
 * @addr: a pointer of current's
 * @data: a size or an index
 *
 * Return: what ptrace() is to return.
 */
long ptrace_bts_request(struct task_struct *child, long request, unsigned long addr,
			unsigned long data)
{
	void __user *ptr = (void __user *)addr;
	struct ptrace_bts *pb;
	int err;

	if (request == PTRACE_BTS_CONFIG)
		return ptrace_bts_config(child, ptr, data);

	pb = ptrace_bts_find(child);
	if (IS_ERR(pb))
		return PTR_ERR(pb);

	/* It may have executed what its tracer must not read, since. */
	err = ptrace_bts_permitted(child);
	if (!err && pb->kernel)
		err = ptrace_bts_permitted_kernel();
	if (err)
		return err;
	if (pb->secret && request != PTRACE_BTS_CLEAR &&
	    !ptracer_capable(child, &init_user_ns))
		return -EPERM;

	switch (request) {
	case PTRACE_BTS_STATUS:
		return ptrace_bts_status(pb, ptr, data);
	case PTRACE_BTS_SIZE:
		return ptrace_bts_size(pb);
	case PTRACE_BTS_GET:
		return ptrace_bts_get(pb, ptr, data);
	case PTRACE_BTS_CLEAR:
		return ptrace_bts_clear(pb);
	case PTRACE_BTS_DRAIN:
		return ptrace_bts_drain(pb, ptr, data);
	}

	return -EIO;
}

static struct ctl_table ptrace_bts_sysctls[] = {
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
