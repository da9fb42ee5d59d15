// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: records of execve() and of signals, which are not branches
 *
 * See bts.c for the locking rules.
 */

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include <asm/processor.h>

#include "bts_internal.h"

static void bts_exec_mark(struct bts_call *call)
{
	struct bts_task *owner = this_cpu_read(bts_cpu.owner);
	struct bts_context *ctx;

	/* If the source is frozen, its older records must not be delivered after X86_BTS_EXEC. */
	if (!call->paused)
		bts_drop_frozen_of_owner();
	list_for_each_entry(ctx, &owner->contexts, node)
		bts_mark(ctx, X86_BTS_EXEC, current);
	list_for_each_entry(ctx, &owner->stepped, node)
		bts_mark(ctx, X86_BTS_EXEC, current);
}

/**
 * bts_exec - record that current runs another program from here on
 */
void bts_exec(void)
{
	struct bts_call call = { .func = bts_exec_mark };

	if (unlikely(READ_ONCE(current->thread.bts)))
		bts_call_here(&call);
}

/* User mode can jump to any address, but its trace must not show an address of the kernel. */
static u64 bts_user_address(unsigned long addr)
{
	return addr < TASK_SIZE_MAX ? addr : 0;
}

static void bts_put_moved(struct list_head *contexts, const struct x86_bts_record *event)
{
	struct bts_context *ctx;

	list_for_each_entry(ctx, contexts, node) {
		if (ctx->attr.flags & BTS_USER && !bts_is_revoked(ctx))
			bts_put_event(ctx, event);
	}
}

static void bts_moved_mark(struct bts_call *call)
{
	struct bts_task *owner = this_cpu_read(bts_cpu.owner);

	/* If the source is frozen, its older records must not be delivered after this record. */
	if (!call->paused)
		bts_drop_frozen_of_owner();
	bts_put_moved(&owner->contexts, call->event);
	bts_put_moved(&owner->stepped, call->event);
}

/**
 * bts_mark_signal - record that current enters a signal handler, or returns from one
 * @type: X86_BTS_SIGNAL or X86_BTS_SIGRETURN
 * @from: the address that current would have executed next
 * @to: the address where it continues
 * @info: the number of the signal; 0 for X86_BTS_SIGRETURN
 */
void bts_mark_signal(u16 type, unsigned long from, unsigned long to, u32 info)
{
	struct x86_bts_record event = {
		.type		= type,
		.info		= info,
		.branch.from	= bts_user_address(from),
		.branch.to	= bts_user_address(to),
	};
	struct bts_call call = { .func = bts_moved_mark, .event = &event };

	if (unlikely(READ_ONCE(current->thread.bts)))
		bts_call_here(&call);
}
