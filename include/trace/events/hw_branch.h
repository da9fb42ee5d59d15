/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hw_branch

#if !defined(_TRACE_HW_BRANCH_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_HW_BRANCH_H

#include <linux/hw_branches.h>
#include <linux/tracepoint.h>

/**
 * hw_branch - one of the last branches of a CPU, written by the event trigger 'branches'
 * @cpu: the CPU
 * @age: how many branches of @cpu were newer than @branch when the branches of @cpu were read
 * @branch: the branch
 *
 * Each time the trigger writes branches of a CPU, the newest branch comes first. If the fields from
 * and to are both 0, branches are missing here. If only from is 0, the branch came from user mode,
 * or from address 0 after the kernel had jumped to NULL. In the second case, the next older branch
 * of this CPU usually has 0 only in the field to.
 */
TRACE_EVENT(hw_branch,

	TP_PROTO(int cpu, u32 age, const struct hw_branch *branch),

	TP_ARGS(cpu, age, branch),

	TP_STRUCT__entry(
		__field(u64,	to)
		__field(u64,	from)
		__field(u32,	cpu)
		__field(u32,	age)
	),

	TP_fast_assign(
		__entry->to	= branch->to;
		__entry->from	= branch->from == HW_BRANCH_USER ? 0 : branch->from;
		__entry->cpu	= cpu;
		__entry->age	= age;
	),

	TP_printk("cpu=%u age=%u %pS <- %pS", __entry->cpu, __entry->age,
		  (void *)(unsigned long)__entry->to,
		  (void *)(unsigned long)__entry->from)
);

#endif /* _TRACE_HW_BRANCH_H */

#include <trace/define_trace.h>
