// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: functions by which a source asks what to record on a CPU, and delivers its records
 *
 * All functions run on the CPU where the records were made. bts_put_event() and bts_mark() append
 * records that no source has made.
 */

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "bts_internal.h"

static void bts_note_full(struct bts_context *ctx)
{
	if (!ctx->attr.overflow || ctx->full)
		return;

	ctx->full = true;
	/*
	 * For the software source, call @overflow now: an irq_work might run only after the next
	 * record, and without an APIC only after many records.
	 */
	if (ctx->source->software)
		ctx->attr.overflow(ctx, ctx->attr.data);
	else
		irq_work_queue(&ctx->work);
}

static void bts_put(struct bts_context *ctx, const struct bts_raw *rec, u32 n)
{
	if (!(ctx->attr.flags & (BTS_USER | BTS_KERNEL)))
		return;

	if (bts_ring_put(&ctx->ring, rec, n))
		bts_note_full(ctx);

	if (unlikely(ctx->ring.skews >= BTS_RING_SKEWS && !READ_ONCE(bts_cpl_skewed)))
		WRITE_ONCE(bts_cpl_skewed, true);
}

/**
 * bts_deliver - take records from the hardware source
 * @rec: the records, oldest first
 * @n: the number of records
 *
 * Called with interrupts off or from an NMI, while the source is not recording.
 */
void bts_deliver(const struct bts_raw *rec, u32 n)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	if (!cpu->stale) {
		list_for_each_entry(ctx, &cpu->owner->contexts, node)
			bts_put(ctx, rec, n);
	}
	list_for_each_entry(ctx, &cpu->contexts, node) {
		if (bts_ctx_records_now(cpu, ctx))
			bts_put(ctx, rec, n);
	}
}

/* Mark a gap in the contexts that have one of @flags. */
static void bts_put_gaps(u32 flags)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	list_for_each_entry(ctx, &cpu->owner->contexts, node) {
		if (ctx->attr.flags & flags)
			bts_put_gap(ctx);
	}
	list_for_each_entry(ctx, &cpu->contexts, node) {
		if (ctx->attr.flags & flags && bts_ctx_records_now(cpu, ctx))
			bts_put_gap(ctx);
	}
}

/**
 * bts_deliver_gap - mark that the source lost records after the last delivered one
 *
 * Called like bts_deliver().
 */
void bts_deliver_gap(void)
{
	bts_put_gaps(BTS_USER | BTS_KERNEL | BTS_ENTRY);
}

/**
 * bts_deliver_kernel_gap - mark that the source lost only records of branches from or to the kernel
 *
 * Contexts of user mode alone want only the returns among them, which bts_ring_put() counts.
 *
 * Called like bts_deliver().
 */
void bts_deliver_kernel_gap(void)
{
	bts_put_gaps(BTS_KERNEL | BTS_ENTRY);
}

/* Expect a return to user mode in the rings that @list has for user mode alone. */
static void bts_expect_return_in(const struct list_head *list)
{
	struct bts_context *ctx;

	list_for_each_entry(ctx, list, node) {
		if (!(ctx->attr.flags & BTS_KERNEL))
			bts_ring_expect_return(&ctx->ring);
	}
}

/**
 * bts_expect_return - note that the source may have missed the entry to the kernel
 *
 * So if the CPL filter drops the return to user mode, bts_ring_put() counts a lost record. If it
 * drops several with no other record in between, bts_ring_put() counts one.
 *
 * Called like bts_deliver().
 */
void bts_expect_return(void)
{
	bts_expect_return_in(&this_cpu_read(bts_cpu.owner)->contexts);
	bts_expect_return_in(this_cpu_ptr(&bts_cpu.contexts));
}

/**
 * bts_deliver_step - take a record from the software source
 * @from: the address of the branch
 * @to: its target
 *
 * Called with interrupts off. bts_cpu.owner belongs to the task that branched. In a task switch,
 * current may already be the next task.
 */
void notrace bts_deliver_step(u64 from, u64 to)
{
	struct bts_task *owner = this_cpu_read(bts_cpu.owner);
	struct bts_context *ctx;

	list_for_each_entry(ctx, &owner->stepped, node) {
		if (ctx->attr.flags & BTS_USER && bts_ring_put_one(&ctx->ring, from, to))
			bts_note_full(ctx);
	}
}

/**
 * bts_deliver_steps_gap - mark that the software source may have missed a branch
 *
 * Called like bts_deliver_step().
 */
void bts_deliver_steps_gap(void)
{
	struct bts_context *ctx;

	list_for_each_entry(ctx, &this_cpu_read(bts_cpu.owner)->stepped, node)
		bts_put_gap(ctx);
}

/*
 * Return how many more records the source may make for @ctx before it has to deliver them; U32_MAX
 * for no limit. If @overflow makes a task stop, the return to user mode after the stop may be
 * recorded, too. If the source delivered after this record alone, the task might stop again at
 * once. So return at least 2.
 */
static u32 bts_room(const struct bts_context *ctx)
{
	const u32 least = 2;
	u32 held;

	if (!(ctx->attr.flags & BTS_STOP_FULL) || !ctx->attr.overflow || ctx->full)
		return U32_MAX;
	/* If the context records no branches, the source cannot fill it. */
	if (!(ctx->attr.flags & (BTS_USER | BTS_KERNEL)))
		return U32_MAX;

	held = bts_ring_held(&ctx->ring);

	return held + least < ctx->attr.nr ? ctx->attr.nr - held : least;
}

/* Out of line: bts_want() is called often, but rarely needs this. */
static noinline u32 bts_least_room(const struct bts_cpu *cpu)
{
	const struct bts_context *ctx;
	u32 room = U32_MAX;

	list_for_each_entry(ctx, &cpu->owner->contexts, node)
		room = min(room, bts_room(ctx));
	list_for_each_entry(ctx, &cpu->contexts, node) {
		if (bts_ctx_records_now(cpu, ctx))
			room = min(room, bts_room(ctx));
	}

	return room;
}

/*
 * The current task is not recorded now: mark a gap in its contexts. If perf or KVM has taken the
 * hardware, all branches are missing. If the CPU goes offline or is suspended, only branches of the
 * kernel are missing: before the task returns to user mode, it leaves the CPU, or the CPU resumes.
 */
static noinline void bts_mark_missed(const struct bts_cpu *cpu)
{
	u32 missed = READ_ONCE(bts_revoked) ? BTS_USER | BTS_KERNEL : BTS_KERNEL;
	struct bts_context *ctx;

	list_for_each_entry(ctx, &cpu->owner->contexts, node) {
		if (ctx->attr.flags & missed)
			bts_put_gap(ctx);
	}
}

/**
 * bts_want - tell the hardware source what to record on this CPU
 *
 * If the current task must not be recorded now, this function marks a gap in its contexts: see
 * bts_mark_missed(). Call this like bts_deliver(). A unit test may also call it while the source
 * is recording.
 *
 * Return: what to record.
 */
struct bts_want bts_want(void)
{
	struct bts_want want = { .room = U32_MAX };
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	u32 flags = cpu->idle ? cpu->idle_flags : cpu->flags;
	const u32 modes = BTS_USER | BTS_KERNEL;

	if (unlikely(cpu->parked || READ_ONCE(bts_revoked))) {
		bts_mark_missed(cpu);
		return want;
	}

	if (cpu->owner->flags & modes) {
		flags |= cpu->owner->flags;
		flags &= ~BTS_FLIGHT;
	}
	if (flags & BTS_STOP_FULL)
		want.room = bts_least_room(cpu);
	if (flags & modes && (flags & BTS_ENTRY || bts_avoids_cpl_filter(flags)))
		flags |= modes;
	want.flags = flags & (modes | BTS_FLIGHT);

	return want;
}

void bts_put_event(struct bts_context *ctx, const struct x86_bts_record *event)
{
	bts_ring_put_event(&ctx->ring, event);
	if (bts_ring_held(&ctx->ring) >= ctx->attr.nr)
		bts_note_full(ctx);
}

void bts_mark(struct bts_context *ctx, u16 type, struct task_struct *task)
{
	struct x86_bts_record rec = {
		.type	= type,
		.event.clock	= bts_ring_clock(&ctx->ring),
		.event.pid	= task_pid_nr_ns(task, ctx->ns),
		.event.cpu	= smp_processor_id(),
	};

	bts_put_event(ctx, &rec);
}
