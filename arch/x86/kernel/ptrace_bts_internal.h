/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_PTRACE_BTS_INTERNAL_H
#define _ARCH_X86_KERNEL_PTRACE_BTS_INTERNAL_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/workqueue_types.h>

#include <asm/bts.h>
#include <asm/ptrace_bts.h>

/* What fills it; without any of these it is at rest. */
#define PTRACE_BTS_ANY		(PTRACE_BTS_F_TRACE | PTRACE_BTS_F_KERNEL |	\
				 PTRACE_BTS_F_SCHED)

/**
 * struct ptrace_bts - the trace of one tracee
 * @ctx:	the trace itself; NULL before a child that inherits has run
 * @config:	as it was asked for, without ALLOC
 * @kernel:	there are, or were, addresses of the kernel in it
 * @secret:	there may be branches in it of a program that cannot be dumped
 * @nr:		for how many records
 * @user:	who pays
 * @limit:	how many pages this user may be charged altogether, for children
 * @perfmon:	who asked for it has CAP_PERFMON
 * @ns:		where the tracer understands pids
 * @not_inherited: how many children could not be given the like
 * @task:	whose it is; held while @untrace is queued
 * @tracer:	before a child has run: who must trace it then
 * @from:	before a child has run: its parent's
 * @state:	PTRACE_BTS_ORPHAN, PTRACE_BTS_FULL
 * @users:	thread.ptrace_bts, and the tracee while it looks
 * @count:	all @users together, @untrace when it is queued, and @from of others
 * @untrace:	takes it from @task, whose tracer is gone
 * @rcu:	of those who look
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

#define PTRACE_BTS_ORPHAN	0	/* its tracer is gone, @untrace is or was queued */
#define PTRACE_BTS_FULL		1	/* @task is to stop, see TIF_BTS_FULL */

struct ptrace_bts *ptrace_bts_new(struct task_struct *child,
				  const struct ptrace_bts_config *config,
				  struct user_struct *user, unsigned long limit,
				  struct pid_namespace *ns);
int ptrace_bts_create(struct ptrace_bts *pb);
void ptrace_bts_set(struct task_struct *child, struct ptrace_bts *pb);
void ptrace_bts_put(struct ptrace_bts *pb);

u32 ptrace_bts_wants(u32 flags);
struct bts_attr ptrace_bts_attr(struct ptrace_bts *pb,
				const struct ptrace_bts_config *config);

bool ptrace_bts_perfmon(void);
bool ptrace_bts_allowed(bool perfmon);

#endif /* _ARCH_X86_KERNEL_PTRACE_BTS_INTERNAL_H */
