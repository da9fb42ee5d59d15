// SPDX-License-Identifier: GPL-2.0
/*
 * PTRACE_BTS_*: traces that children inherit
 *
 * A child starts its trace itself, before it first enters user mode. Its parent cannot start the
 * trace in ptrace_bts_fork(): copy_process() determines the tracer of the child later, under
 * tasklist_lock, where no mutex can be taken.
 */

#include <linux/cleanup.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched/task.h>

#include "ptrace_bts_internal.h"

/**
 * ptrace_bts_fork - prepare a trace for a child, if current's trace has PTRACE_BTS_F_INHERIT
 * @child: the new task, which has not run yet
 *
 * A failure does not make the fork fail, but is counted in @not_inherited of current's trace.
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
	/*
	 * If the tracer has detached, pb->tracer may be another task. Then from->state has
	 * PTRACE_BTS_ORPHAN: drop pb. Pairs with test_and_set_bit() in ptrace_bts_untrace().
	 */
	smp_rmb();
	if (test_bit(PTRACE_BTS_ORPHAN, &from->state))
		ptrace_bts_put(pb);
	else
		rcu_assign_pointer(child->thread.ptrace_bts, pb);
	ptrace_bts_put(from);
}

/*
 * Tell whether pb->tracer, the tracer of the parent at the time of the fork, traces current now,
 * and no tracer has detached from current since the fork.
 */
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
 * ptrace_bts_start_child - start the trace that ptrace_bts_fork() has prepared for current, if any
 *
 * Called before current enters user mode for the first time. If the trace cannot start, end it.
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
		/*
		 * ptrace_bts_untrace_work() detaches nothing if it ran before pb->ctx was set.
		 * Pairs with test_and_set_bit() in ptrace_bts_untrace().
		 */
		smp_mb();
		if (test_bit(PTRACE_BTS_ORPHAN, &pb->state))
			bts_detach(pb->ctx);
	}
	ptrace_bts_put(pb);
}
