// SPDX-License-Identifier: GPL-2.0
/*
 * The requests PTRACE_BTS_*: the tracee is frozen, current is its tracer
 */

#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/uaccess.h>

#include "ptrace_bts_internal.h"

#define PTRACE_BTS_FLAGS	(PTRACE_BTS_F_TRACE | PTRACE_BTS_F_SCHED |	\
				 PTRACE_BTS_F_SIGNAL | PTRACE_BTS_F_ALLOC |	\
				 PTRACE_BTS_F_KERNEL | PTRACE_BTS_F_STOP_FULL |	\
				 PTRACE_BTS_F_INHERIT | PTRACE_BTS_F_ENTRY)

static_assert(BTS_SOURCE_DS == PTRACE_BTS_SOURCE_DS);
static_assert(BTS_ERRATUM_FROM_EVENT == PTRACE_BTS_ERRATUM_FROM_EVENT);
static_assert(BTS_ERRATUM_FROM_CPL == PTRACE_BTS_ERRATUM_FROM_CPL);

/* May current see what @child does? As in ptrace_access_vm(). */
static int ptrace_bts_permitted(struct task_struct *child)
{
	if (!ptrace_bts_allowed(ptrace_bts_perfmon()) || !ptracer_access_allowed(child))
		return -EPERM;

	return 0;
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
 * takes the right to see it; and where the filter is found to lose the ways back
 * to user mode, they stay lost for those without, see BTS_WIDE.
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

/* With room for the mark of its arrival only, a task would stop before it goes on. */
static bool ptrace_bts_has_room(u32 flags, u32 nr)
{
	const u32 both = PTRACE_BTS_F_SCHED | PTRACE_BTS_F_SIGNAL;

	return (flags & both) != both || nr > 1;
}

static int ptrace_bts_check_alloc(const struct ptrace_bts_config *config)
{
	u32 nr = config->size / sizeof(struct bts_record);

	if (config->flags == PTRACE_BTS_F_ALLOC && !config->size)
		return 0;
	if (!(config->flags & PTRACE_BTS_ANY) || !nr || nr > BTS_MAX_RECORDS)
		return -EINVAL;

	return ptrace_bts_has_room(config->flags, nr) ? 0 : -EINVAL;
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
	if ((pb->config.flags ^ config->flags) & PTRACE_BTS_F_STOP_FULL ||
	    !ptrace_bts_has_room(config->flags, pb->nr))
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
	/* Without an audit: whoever has it not may well have room. */
	if (ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK))
		return LONG_MAX;

	return rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
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
	pb->perfmon = ptrace_bts_perfmon();
	pb->wide = !boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN) ||
		   (pb->perfmon && !ptrace_bts_permitted_kernel());
	err = ptrace_bts_create(pb);
	if (err) {
		ptrace_bts_release(child, pb);
		return err;
	}

	ptrace_bts_release_task(child);
	rcu_assign_pointer(child->thread.ptrace_bts, pb);

	return 0;
}

static int ptrace_bts_end(struct task_struct *child)
{
	struct ptrace_bts *pb = ptrace_bts_find(child);

	if (IS_ERR(pb))
		return PTR_ERR(pb);
	ptrace_bts_release(child, pb);

	return 0;
}

static int ptrace_bts_do_config(struct task_struct *child,
				const struct ptrace_bts_config *config)
{
	struct ptrace_bts *pb;
	int err;

	/* To end a trace takes no right: what it holds goes unseen. */
	if (config->flags & PTRACE_BTS_F_ALLOC && !config->size)
		return ptrace_bts_end(child);

	err = ptrace_bts_permitted(child);
	if (err)
		return err;

	if (ptrace_bts_exposes_kernel(config->flags)) {
		err = ptrace_bts_permitted_kernel();
		if (err)
			return err;
	}

	pb = ptrace_bts_find(child);
	if (config->flags & PTRACE_BTS_F_ALLOC)
		return ptrace_bts_replace(child, config);

	return IS_ERR(pb) ? PTR_ERR(pb) : ptrace_bts_change(pb, config);
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
