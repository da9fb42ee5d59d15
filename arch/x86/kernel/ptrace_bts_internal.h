/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_PTRACE_BTS_INTERNAL_H
#define _ARCH_X86_KERNEL_PTRACE_BTS_INTERNAL_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/workqueue_types.h>

#include <asm/bts.h>
#include <asm/ptrace_bts.h>

/* A trace with none of these flags records only X86_BTS_EXEC and X86_BTS_LOST. */
#define PTRACE_BTS_ANY		(PTRACE_BTS_F_TRACE | PTRACE_BTS_F_KERNEL |	\
				 PTRACE_BTS_F_SCHED)

/**
 * struct ptrace_bts - the trace of one tracee
 * @ctx:	its context; NULL before ptrace_bts_create()
 * @config:	the requested configuration, without PTRACE_BTS_F_ALLOC
 * @kernel:	@config has, or once had, PTRACE_BTS_F_KERNEL
 * @secret:	the trace may contain branches of a program that its tracer must not read, such as
 *		a set-user-ID program, see ptrace_bts_leave_mm()
 * @nr:		the number of records with which the trace is full
 * @user:	the user whose locked_vm is charged
 * @limit:	the total number of pages that @user may be charged, also for traces of children
 * @perfmon:	the tracer had CAP_PERFMON, or CAP_SYS_ADMIN, when it requested the trace
 * @ns:		the pid namespace of the tracer
 * @not_inherited: the number of children that could not be given a trace
 * @task:	the task that is traced; with a reference while @untrace is queued
 * @tracer:	for a child that has not run yet: the tracer of its parent. The trace starts only
 *		if the same task traces the child when it first runs
 * @from:	for a child that has not run yet: the trace of its parent
 * @state:	PTRACE_BTS_ORPHAN, PTRACE_BTS_FULL
 * @users:	the reference of thread.ptrace_bts, and temporary ones of the tracee
 * @count:	one reference for all @users, one for @untrace while it is queued, and one for
 *		each @from that points here
 * @untrace:	ends the trace of @task after its tracer has detached
 * @rcu:	delays freeing until readers of thread.ptrace_bts under RCU are done
 */
struct ptrace_bts {
	struct bts_context	*ctx;
	struct ptrace_bts_config config;
	bool			kernel;
	bool			secret;
	u32			nr;
	struct user_struct	*user;
	unsigned long		limit;
	bool			perfmon;
	struct pid_namespace	*ns;
	atomic_t		not_inherited;
	struct task_struct	*task;
	struct task_struct	*tracer;
	struct ptrace_bts	*from;
	unsigned long		state;
	refcount_t		users;
	refcount_t		count;
	struct work_struct	untrace;
	struct rcu_head		rcu;
};

#define PTRACE_BTS_ORPHAN	0	/* the tracer has detached */
#define PTRACE_BTS_FULL		1	/* stop or signal @task, see TIF_BTS_FULL */

struct ptrace_bts *ptrace_bts_new(struct task_struct *child,
				  const struct ptrace_bts_config *config,
				  struct user_struct *user, unsigned long limit,
				  struct pid_namespace *ns);
int ptrace_bts_create(struct ptrace_bts *pb);
void ptrace_bts_set(struct task_struct *child, struct ptrace_bts *pb);
struct ptrace_bts *ptrace_bts_get(struct task_struct *task);
void ptrace_bts_put(struct ptrace_bts *pb);
void ptrace_bts_drop_parent(struct ptrace_bts *pb);

u32 ptrace_bts_to_bts_flags(u32 flags);
struct bts_attr ptrace_bts_attr(struct ptrace_bts *pb,
				const struct ptrace_bts_config *config);

bool ptrace_bts_perfmon(void);
bool ptrace_bts_allowed(bool perfmon);

#endif /* _ARCH_X86_KERNEL_PTRACE_BTS_INTERNAL_H */
