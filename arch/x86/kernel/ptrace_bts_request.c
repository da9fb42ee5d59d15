// SPDX-License-Identifier: GPL-2.0
/*
 * The requests PTRACE_BTS_*, and ARCH_GET_PTRACE_BTS of arch_prctl(). In a request PTRACE_BTS_*,
 * the tracee is stopped (see ptrace_freeze_traced()), and current is its tracer.
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
				 PTRACE_BTS_F_INHERIT | PTRACE_BTS_F_ENTRY |	\
				 PTRACE_BTS_F_END)

static_assert(BTS_SOURCE_DS == PTRACE_BTS_SOURCE_DS);
static_assert(BTS_SOURCE_STEP == PTRACE_BTS_SOURCE_STEP);

/* Check whether current may see what @child does, like ptrace_access_vm(). */
static int ptrace_bts_permitted(struct task_struct *child)
{
	if (!ptrace_bts_allowed(ptrace_bts_perfmon()) || !ptracer_access_allowed(child))
		return -EPERM;
	if (security_perf_event_open(PERF_SECURITY_OPEN) || security_locked_down(LOCKDOWN_PERF))
		return -EACCES;

	return 0;
}

/* Check whether current may see what the kernel does. */
static int ptrace_bts_permitted_kernel(void)
{
	return perf_allow_kernel() ? -EACCES : 0;
}

/*
 * Tell whether a trace needs ptrace_bts_permitted_kernel().
 *
 * PTRACE_BTS_F_KERNEL needs this permission. PTRACE_BTS_F_ENTRY needs it, too: hardware has to
 * record all branches of the kernel while the tracee is current, which slows down interrupts.
 *
 * Hardware without a CPL filter always records the kernel, in memory that is mapped while user
 * mode runs, though not accessible. If the CPU also has the Meltdown bug, user mode can read this
 * memory, so each trace of branches needs the permission on such a machine.
 *
 * If the CPL filter is found to drop branches back to user mode, hardware has to record the
 * kernel to get these branches. Without the two flags above, only tracers with CAP_PERFMON or
 * CAP_SYS_ADMIN get such traces, by BTS_SOFT_FILTER, and need no other permission.
 *
 * A software source never records the kernel, so it never needs the permission.
 */
static bool ptrace_bts_needs_kernel_perm(u32 source, u32 flags)
{
	return bts_records_kernel(source, ptrace_bts_to_bts_flags(flags)) &&
	       (flags & (PTRACE_BTS_F_KERNEL | PTRACE_BTS_F_ENTRY) ||
		boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN));
}

/*
 * Find the trace of @child that belongs to current; -ENXIO if there is none. The caller needs no
 * reference, as only current can end this trace while @child is stopped. If an earlier tracer has
 * left a trace, end this old trace now, so that its memory is not charged any more.
 */
static struct ptrace_bts *ptrace_bts_find(struct task_struct *child)
{
	struct ptrace_bts *pb;
	bool orphan;

	scoped_guard(rcu) {
		pb = rcu_dereference(child->thread.ptrace_bts);
		orphan = pb && test_bit(PTRACE_BTS_ORPHAN, &pb->state);
	}
	if (orphan)
		ptrace_bts_set(child, NULL);

	return pb && !orphan && pb->ctx ? pb : ERR_PTR(-ENXIO);
}

/*
 * With room for one record only, the record of being scheduled in would fill the trace, and the
 * task would stop again before it returns to user mode.
 */
static bool ptrace_bts_has_room(u32 flags, u32 nr)
{
	const u32 both = PTRACE_BTS_F_SCHED | PTRACE_BTS_F_SIGNAL;

	return (flags & both) != both || nr > 1;
}

static int ptrace_bts_check_alloc(const struct ptrace_bts_config *config)
{
	u32 nr = config->size / sizeof(struct x86_bts_record);

	if (!(config->flags & PTRACE_BTS_ANY) || !nr || nr > BTS_MAX_RECORDS)
		return -EINVAL;
	if (config->clock > PTRACE_BTS_CLOCK_MONOTONIC)
		return -EINVAL;

	return ptrace_bts_has_room(config->flags, nr) ? 0 : -EINVAL;
}

static int ptrace_bts_check_config(const struct ptrace_bts_config *config)
{
	u32 flags = config->flags;

	if (flags & ~PTRACE_BTS_FLAGS)
		return -EINVAL;
	if (flags & PTRACE_BTS_F_END && flags != PTRACE_BTS_F_END)
		return -EINVAL;
	if (flags & PTRACE_BTS_F_ENTRY && !(flags & PTRACE_BTS_F_TRACE))
		return -EINVAL;
	if (config->bts_size && config->bts_size != sizeof(struct x86_bts_record))
		return -EINVAL;

	if (flags & PTRACE_BTS_F_SIGNAL ? !valid_signal(config->signal) : config->signal)
		return -EINVAL;

	if (flags & PTRACE_BTS_F_ALLOC)
		return ptrace_bts_check_alloc(config);

	return config->size || config->source || config->clock ? -EINVAL : 0;
}

/* Give the existing trace @pb another configuration. */
static int ptrace_bts_change(struct ptrace_bts *pb, const struct ptrace_bts_config *config)
{
	struct bts_attr attr = ptrace_bts_attr(pb, config);
	int err;

	/* STOP_FULL cannot change: room for BTS_RING_SKID more records is allocated with it. */
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
	/* Do not audit this test: without CAP_IPC_LOCK, the rlimit may still suffice. */
	if (ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK))
		return LONG_MAX;

	return rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
}

/* Create a new trace. Only if this succeeds, end the old trace. */
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
	err = ptrace_bts_create(pb);
	if (err) {
		ptrace_bts_put(pb);
		return err;
	}

	ptrace_bts_set(child, pb);

	return 0;
}

static int ptrace_bts_do_end(struct task_struct *child)
{
	struct ptrace_bts *pb = ptrace_bts_find(child);

	if (IS_ERR(pb))
		return PTR_ERR(pb);
	ptrace_bts_set(child, NULL);

	return 0;
}

/* Check whether @source can record what is wanted, and whether current may see that. */
static int ptrace_bts_check_source(u32 source, u32 flags)
{
	struct bts_source_info info;
	int err = bts_source_info(source, &info);

	if (err)
		return err;
	if (ptrace_bts_to_bts_flags(flags) & ~info.flags)
		return -EOPNOTSUPP;

	return ptrace_bts_needs_kernel_perm(source, flags) ? ptrace_bts_permitted_kernel() : 0;
}

static int ptrace_bts_do_config(struct task_struct *child,
				const struct ptrace_bts_config *config)
{
	bool alloc = config->flags & PTRACE_BTS_F_ALLOC;
	struct ptrace_bts *pb;
	u32 source;
	int err;

	/* Ending a trace needs no permission, as its records are not shown. */
	if (config->flags & PTRACE_BTS_F_END)
		return ptrace_bts_do_end(child);

	err = ptrace_bts_permitted(child);
	if (err)
		return err;

	pb = ptrace_bts_find(child);
	source = alloc || IS_ERR(pb) ? config->source : pb->config.source;
	err = ptrace_bts_check_source(source, config->flags);
	if (err)
		return err;
	if (alloc)
		return ptrace_bts_replace(child, config);

	return IS_ERR(pb) ? PTR_ERR(pb) : ptrace_bts_change(pb, config);
}

static int ptrace_bts_config(struct task_struct *child, void __user *addr,
			     unsigned long size)
{
	struct ptrace_bts_config config;
	struct bts_source_info info;
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

	/* A missing source is reported before a missing permission or a missing trace. */
	err = bts_source_info(config.source, &info);
	if (err)
		return err;

	return ptrace_bts_do_config(child, &config);
}

/* Like PTRACE_GET_SYSCALL_INFO, copy as much as there is room for, and return the full size. */
static int ptrace_bts_status(const struct ptrace_bts *pb, void __user *addr,
			     unsigned long size)
{
	struct ptrace_bts_status out = {};
	struct bts_status status;

	bts_status(pb->ctx, &status);
	out.size = pb->nr * sizeof(struct x86_bts_record);
	out.flags = pb->config.flags;
	out.signal = pb->config.signal;
	out.bts_size = sizeof(struct x86_bts_record);
	out.held = status.held;
	out.lost = status.lost;
	out.overwritten = status.overwritten;
	out.gaps = status.gaps;
	out.source = status.source;
	out.clock = pb->config.clock;
	out.not_inherited = atomic_read(&pb->not_inherited);
	out.next = status.next;
	out.record_flags = status.record_flags;
	out.state = status.revoked ? PTRACE_BTS_S_REVOKED : 0;

	if (copy_to_user(addr, &out, min(size, sizeof(out))))
		return -EFAULT;

	return sizeof(out);
}

static int ptrace_bts_size(const struct ptrace_bts *pb)
{
	struct bts_status status;

	bts_status(pb->ctx, &status);

	return status.held;
}

/* The largest number of records that are copied between two checks for fatal signals */
#define PTRACE_BTS_COPY_MOST	16384

/*
 * Copy up to @room records, beginning with the sequence number @seq, or with the oldest record if
 * @seq is gone. If @consume is set, remove the records that were copied and all older records,
 * even if a fault ends the copying. Return the number of copied records, or -EFAULT if a fault
 * occurs before any record was copied.
 */
static int ptrace_bts_copy(const struct ptrace_bts *pb, u64 seq, void __user *addr,
			   unsigned long room, bool consume)
{
	const struct x86_bts_record *run;
	int done = 0, n, copied;

	room = min_t(unsigned long, room, INT_MAX);
	while (done < room) {
		n = bts_peek(pb->ctx, &seq, &run);
		if (!n)
			break;

		n = min3(n, (int)room - done, PTRACE_BTS_COPY_MOST);
		copied = n - DIV_ROUND_UP(copy_to_user(addr, run, n * sizeof(*run)),
					  sizeof(*run));
		/* If nothing was copied, bts_consume() would still remove the older records. */
		if (consume && copied)
			bts_consume(pb->ctx, seq, copied);
		done += copied;
		if (copied < n)
			return done ?: -EFAULT;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
		addr += n * sizeof(*run);
		seq += n;
	}

	return done;
}

static int ptrace_bts_get_one(const struct ptrace_bts *pb, void __user *addr,
			      unsigned long index)
{
	struct bts_status status;
	int ret;

	bts_status(pb->ctx, &status);
	if (index >= status.held)
		return -EINVAL;

	ret = ptrace_bts_copy(pb, status.next - 1 - index, addr, 1, false);

	return min(ret, 0);
}

static int ptrace_bts_drain(const struct ptrace_bts *pb, void __user *addr,
			    unsigned long size)
{
	unsigned long room = size / sizeof(struct x86_bts_record);

	return room ? ptrace_bts_copy(pb, 0, addr, room, true) : -EINVAL;
}

static int ptrace_bts_read(const struct ptrace_bts *pb, void __user *addr,
			   unsigned long size)
{
	struct ptrace_bts_read __user *uread = addr;
	const struct x86_bts_record *run;
	struct ptrace_bts_read read;
	struct bts_status status;
	int err;

	if (size < offsetofend(struct ptrace_bts_read, flags))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&read, sizeof(read), addr, size);
	if (err)
		return err;
	if (read.flags & ~PTRACE_BTS_READ_CONSUME)
		return -EINVAL;

	bts_status(pb->ctx, &status);
	if (read.first > status.next)
		return -EINVAL;
	if (read.records != (unsigned long)read.records)
		return -EFAULT;

	/* Store the first sequence number before any record is removed: this may fault. */
	bts_peek(pb->ctx, &read.first, &run);
	if (put_user(read.first, &uread->first))
		return -EFAULT;

	return ptrace_bts_copy(pb, read.first, u64_to_user_ptr(read.records), read.count,
			       read.flags & PTRACE_BTS_READ_CONSUME);
}

static int ptrace_bts_clear(struct ptrace_bts *pb)
{
	bts_clear(pb->ctx);
	pb->secret = false;

	return 0;
}

/**
 * ptrace_bts_info - tell what this machine can do
 * @addr: the struct ptrace_bts_info of current
 *
 * Return: 0; -EFAULT; -EINVAL or -E2BIG for its size; or an error of bts_source_info().
 */
long ptrace_bts_info(struct ptrace_bts_info __user *addr)
{
	struct ptrace_bts_info info = {};
	struct bts_source_info source;
	u32 size;
	int err;

	if (get_user(size, &addr->size))
		return -EFAULT;
	if (size < offsetofend(struct ptrace_bts_info, source))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (get_user(info.source, &addr->source))
		return -EFAULT;

	err = bts_source_info(info.source, &source);
	if (err)
		return err;

	info.size = sizeof(info);
	info.source = source.id;
	info.sources = source.sources;
	info.flags = PTRACE_BTS_FLAGS;
	if (!(source.flags & BTS_KERNEL))
		info.flags &= ~PTRACE_BTS_F_KERNEL;
	info.record_flags = source.record_flags;
	info.bts_size = sizeof(struct x86_bts_record);
	info.max_records = BTS_MAX_RECORDS;
	info.clocks = BIT(PTRACE_BTS_CLOCK_SCHED) | BIT(PTRACE_BTS_CLOCK_MONOTONIC);

	return copy_to_user(addr, &info, min_t(size_t, size, sizeof(info))) ? -EFAULT : 0;
}

/**
 * ptrace_bts_request - handle a request PTRACE_BTS_*
 * @child: the tracee, which is stopped
 * @request: PTRACE_BTS_*
 * @addr: a user pointer of current
 * @data: a size or an index
 *
 * Return: the return value of ptrace().
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

	/* The tracee may have executed another program, which current must not read. */
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
		return ptrace_bts_get_one(pb, ptr, data);
	case PTRACE_BTS_CLEAR:
		return ptrace_bts_clear(pb);
	case PTRACE_BTS_DRAIN:
		return ptrace_bts_drain(pb, ptr, data);
	case PTRACE_BTS_READ:
		return ptrace_bts_read(pb, ptr, data);
	}

	return -EIO;
}
