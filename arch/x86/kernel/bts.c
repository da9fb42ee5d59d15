// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: any number of contexts, one source of records
 *
 * A context is the trace of one task or of one CPU: flags that say which branches are
 * wanted, and a ring for their records. On each CPU, the source records the union of what
 * the contexts of the current task and the contexts of the CPU want. When the source
 * delivers its records, each ring filters them for its own context.
 *
 * Besides the source of hardware there may be one of software, which makes each record
 * in the task that branched. A task has one list of contexts for each of the two.
 *
 * Locking rules:
 *
 *  - bts_mutex is held to create and destroy contexts and to claim the source.
 *    It comes after cpus_read_lock().
 *  - A CPU's list of contexts, its bts_cpu.owner, and the rings of all contexts on the
 *    lists of both are accessed only on that CPU with interrupts off: by the NMI handler
 *    of the source while it records, and by other code while it is paused or frozen. A
 *    source that is paused or frozen delivers nothing from an NMI. While the CPU is
 *    offline, they are accessed under cpus_read_lock() and bts_mutex.
 *  - A CPU accesses the lists of a task from when the task is switched in until it is
 *    switched out. Other tasks therefore access a context of this task either on the CPU
 *    where it runs, or while the locks of the scheduler keep it off all CPUs: see
 *    bts_call_task().
 *
 * So no code has to wait for readers: a context that was taken off its list cannot be
 * reached any more.
 */

#define pr_fmt(fmt) "x86/bts: " fmt

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/percpu.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/syscore_ops.h>

#include <kunit/visibility.h>

#include <asm/debugctl.h>

#include "branch_freeze.h"
#include "bts_internal.h"

struct bts_task bts_nobody = {
	.contexts = LIST_HEAD_INIT(bts_nobody.contexts),
	.stepped = LIST_HEAD_INIT(bts_nobody.stepped),
};

DEFINE_PER_CPU(struct bts_cpu, bts_cpu) = {
	.owner = &bts_nobody,
};

/* The number of contexts that need the source of hardware. Changes under bts_mutex. */
unsigned int bts_users;

/* The source of hardware was taken from all contexts. Changes under bts_mutex. */
bool bts_revoked;

/*
 * A ring has noticed that the CPL filter of the source drops records that are wanted,
 * see bts_ring.c. Until the source is given back, the filter is not used for contexts
 * for which bts_widens() returns true.
 */
bool bts_cpl_skewed;

static struct branch_freezes bts_freezing;

static bool bts_widens(u32 flags)
{
	return flags & (BTS_KERNEL | BTS_WIDE) && READ_ONCE(bts_cpl_skewed);
}

/* Tell whether the hardware has to record the kernel for a context with @flags. */
bool bts_takes_kernel(u32 flags)
{
	if (flags & (BTS_KERNEL | BTS_ENTRY))
		return true;

	return flags & BTS_USER && (!bts_source->filters || bts_widens(flags));
}

/*
 * Delivery: on the CPU where the records were made, while the source does not record
 */

static void bts_note_full(struct bts_context *ctx)
{
	if (!ctx->attr.overflow || ctx->full)
		return;

	ctx->full = true;
	/*
	 * The source of software makes its next record before an irq_work can run, and
	 * without an APIC many records: call @overflow now.
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

static void bts_put_gap(struct bts_context *ctx)
{
	if (ctx->attr.flags & (BTS_USER | BTS_KERNEL))
		bts_ring_put_gap(&ctx->ring);
}

/*
 * Tell whether a context of a CPU records now. A context that was created while the CPU
 * was frozen does not record until the thaw, and a context without BTS_IDLE does not
 * record the idle task.
 */
static bool bts_awake(const struct bts_cpu *cpu, const struct bts_context *ctx)
{
	return !ctx->late && (!cpu->idle || ctx->attr.flags & BTS_IDLE);
}

/**
 * bts_deliver - take records from the source of hardware
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
		if (bts_awake(cpu, ctx))
			bts_put(ctx, rec, n);
	}
}

static void bts_put_gaps(bool user)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	list_for_each_entry(ctx, &cpu->owner->contexts, node) {
		if (user || bts_takes_kernel(ctx->attr.flags))
			bts_put_gap(ctx);
	}
	list_for_each_entry(ctx, &cpu->contexts, node) {
		if ((user || bts_takes_kernel(ctx->attr.flags)) && bts_awake(cpu, ctx))
			bts_put_gap(ctx);
	}
}

/**
 * bts_deliver_gap - mark that the source lost records after those it delivered last
 *
 * Called like bts_deliver().
 */
void bts_deliver_gap(void)
{
	bts_put_gaps(true);
}

/**
 * bts_deliver_kernel_gap - mark that the source lost records, but none of user mode
 *
 * Called like bts_deliver().
 */
void bts_deliver_kernel_gap(void)
{
	bts_put_gaps(false);
}

/**
 * bts_deliver_step - take a record from the source of software
 * @from: the address of the branch
 * @to: its target
 *
 * Called with interrupts off, in the task that branched.
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
 * bts_deliver_steps_gap - mark that the source of software may have missed a branch
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
 * Count the records that @ctx has room for until its task has to stop. The return from
 * that stop to user mode is recorded, too. With room for one record only, the task would
 * stop again at once, so the count is 2 at least.
 */
static u32 bts_room(const struct bts_context *ctx)
{
	const u32 least = 2;
	u32 held;

	if (!(ctx->attr.flags & BTS_STOP) || !ctx->attr.overflow || ctx->full)
		return U32_MAX;
	/* The context records no branches: the source cannot fill it. */
	if (!(ctx->attr.flags & (BTS_USER | BTS_KERNEL)))
		return U32_MAX;

	held = bts_ring_held(&ctx->ring);

	return held + least < ctx->attr.nr ? ctx->attr.nr - held : least;
}

/* Out of line: bts_want() is called on each switch of traced tasks, and few need this. */
static noinline u32 bts_least_room(const struct bts_cpu *cpu)
{
	const struct bts_context *ctx;
	u32 room = U32_MAX;

	list_for_each_entry(ctx, &cpu->owner->contexts, node)
		room = min(room, bts_room(ctx));
	list_for_each_entry(ctx, &cpu->contexts, node) {
		if (bts_awake(cpu, ctx))
			room = min(room, bts_room(ctx));
	}

	return room;
}

/*
 * Mark a gap in the contexts of the current task, which runs without being recorded. If
 * the hardware was taken away, all branches are missing. On a CPU that goes offline, only
 * branches of the kernel are missing, as the task leaves that CPU before it returns to
 * user mode.
 */
static noinline void bts_miss(const struct bts_cpu *cpu)
{
	u32 missed = READ_ONCE(bts_revoked) ? BTS_USER | BTS_KERNEL : BTS_KERNEL;
	struct bts_context *ctx;

	list_for_each_entry(ctx, &cpu->owner->contexts, node) {
		if (ctx->attr.flags & missed)
			bts_put_gap(ctx);
	}
}

/**
 * bts_want - tell the source what to record on this CPU
 *
 * Called like bts_deliver().
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
		bts_miss(cpu);
		return want;
	}

	if (cpu->owner->flags & modes) {
		flags |= cpu->owner->flags;
		flags &= ~BTS_FLIGHT;
	}
	if (flags & BTS_STOP)
		want.room = bts_least_room(cpu);
	if (flags & modes && (flags & BTS_ENTRY || bts_widens(flags)))
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

/* The source of software is paused and resumed only for tasks that have contexts of it. */
static void bts_pause_steps(const struct bts_task *owner)
{
	if (owner->flags & BTS_STEPS)
		bts_software->pause();
}

static void bts_resume_steps(const struct bts_task *owner)
{
	if (owner->flags & BTS_STEPS)
		bts_software->resume();
}

static void bts_mark_list(struct list_head *contexts, u16 type, struct task_struct *task)
{
	struct bts_context *ctx;

	list_for_each_entry(ctx, contexts, node) {
		if (ctx->attr.flags & BTS_SCHED && !bts_is_revoked(ctx))
			bts_mark(ctx, type, task);
	}
}

static void bts_mark_steps(struct bts_task *owner, u16 type, struct task_struct *task)
{
	if (type == X86_BTS_TASK_DEPARTS)
		bts_pause_steps(owner);
	bts_mark_list(&owner->stepped, type, task);
	if (type == X86_BTS_TASK_ARRIVES)
		bts_resume_steps(owner);
}

static void bts_mark_all(struct bts_cpu *cpu, u16 type, struct task_struct *task)
{
	struct bts_context *ctx;

	bts_mark_steps(cpu->owner, type, task);
	bts_mark_list(&cpu->owner->contexts, type, task);
	list_for_each_entry(ctx, &cpu->contexts, node) {
		if (ctx->attr.flags & BTS_SCHED && bts_awake(cpu, ctx))
			bts_mark(ctx, type, task);
	}
}

static __always_inline void bts_mark_switch(struct bts_cpu *cpu, u16 type,
					    struct task_struct *task)
{
	if (unlikely((cpu->owner->flags | cpu->flags) & (BTS_SCHED | BTS_STEPS)))
		bts_mark_all(cpu, type, task);
}

/* Called after ->pause() has returned true. */
static void bts_resume(void)
{
	/* An NMI has frozen the source since ->pause(): the traces have a gap from here on. */
	if (!bts_source->resume())
		bts_deliver_gap();
}

/*
 * Called while the source of hardware is frozen. The records that it keeps are not
 * delivered to the contexts of the current task any more: mark a gap there.
 */
void bts_disown(void)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	list_for_each_entry(ctx, &cpu->owner->contexts, node)
		bts_put_gap(ctx);
	cpu->stale = true;
}

/**
 * bts_follow - have the switch away from a task call bts_switch_to(), if a context needs it
 * @task: the task that runs on this CPU, or is about to run
 *
 * A CPU with flight recorders only does not need to see switches. For other contexts of a
 * CPU, each switch hands TIF_BTS on to the next task. Called with interrupts off.
 */
void bts_follow(struct task_struct *task)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);

	if (list_empty(&cpu->contexts) || cpu->flags & BTS_FLIGHT)
		return;

	cpu->followed = true;
	set_tsk_thread_flag(task, TIF_BTS);
}

static noinline void bts_follow_switch(struct task_struct *prev, struct task_struct *next)
{
	if (!prev->thread.bts)
		clear_tsk_thread_flag(prev, TIF_BTS);
	this_cpu_write(bts_cpu.followed, false);
	bts_follow(next);
}

static __always_inline void bts_arrive(struct bts_cpu *cpu, struct task_struct *prev,
				       struct task_struct *next)
{
	if (unlikely(cpu->followed))
		bts_follow_switch(prev, next);
	cpu->owner = next->thread.bts ?: &bts_nobody;
	cpu->idle = is_idle_task(next);
}

/* While the source of hardware is frozen, only the source of software records. */
static noinline void bts_switch_frozen(struct bts_cpu *cpu, struct task_struct *prev,
				       struct task_struct *next)
{
	bts_disown();
	bts_mark_steps(cpu->owner, X86_BTS_TASK_DEPARTS, prev);
	bts_arrive(cpu, prev, next);
	bts_mark_steps(cpu->owner, X86_BTS_TASK_ARRIVES, next);
}

/**
 * bts_switch_to - stop recording one task and start recording another
 * @prev: the task that is switched out
 * @next: the task that is switched in
 *
 * Called with interrupts off, if @prev or @next has TIF_BTS.
 */
void bts_switch_to(struct task_struct *prev, struct task_struct *next)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);

	if (unlikely(!bts_source->pause())) {
		bts_switch_frozen(cpu, prev, next);
		return;
	}

	bts_mark_switch(cpu, X86_BTS_TASK_DEPARTS, prev);
	bts_arrive(cpu, prev, next);
	/* No context is live on this CPU now: leave the source paused. */
	if (cpu->owner == &bts_nobody && list_empty(&cpu->contexts))
		return;

	bts_mark_switch(cpu, X86_BTS_TASK_ARRIVES, next);
	bts_resume();
}

/**
 * bts_debug_exception - resume recording if a #DB has stopped it
 *
 * Called on return from #DB, with interrupts off, before other code writes DEBUGCTL.
 */
void bts_debug_exception(void)
{
	u64 msr;

	if (likely(!(debugctl_get() & debugctl_bts_bits(DEBUGCTL_BTS))))
		return;
	rdmsrq(MSR_IA32_DEBUGCTLMSR, msr);
	if (unlikely(debugctl_get() & debugctl_bts_bits(DEBUGCTL_BTS) & ~msr))
		bts_source->restart();
}

/* Call the function of @info, a struct bts_call, on this CPU while its source is paused. */
void bts_call_here(void *info)
{
	struct bts_call *call = info;

	guard(irqsave)();
	call->paused = bts_source->pause();
	bts_pause_steps(this_cpu_read(bts_cpu.owner));
	call->func(call);
	/* call->func() may have changed the owner. */
	bts_resume_steps(this_cpu_read(bts_cpu.owner));
	if (call->paused)
		bts_resume();
}

static void bts_nothing(struct bts_call *call)
{
}

/*
 * If the source is frozen, it loses nothing, and the mark of a gap would precede the
 * records that the source keeps.
 */
static void bts_lose(struct bts_call *call)
{
	if (call->paused)
		bts_deliver_gap();
}

/**
 * bts_flush_cpu - bring the contexts that are live on a CPU up to date
 * @cpu: the CPU
 *
 * May sleep.
 *
 * Return: 0; -ENXIO if @cpu is not online; -EOPNOTSUPP if this machine has no source
 * of records that can trace CPUs.
 */
int bts_flush_cpu(int cpu)
{
	struct bts_call call = { .func = bts_nothing };

	if (!bts_source->id)
		return -EOPNOTSUPP;

	return smp_call_function_single(cpu, bts_call_here, &call, 1);
}
EXPORT_SYMBOL_IF_KUNIT(bts_flush_cpu);

/**
 * bts_freeze_all - stop recording on all CPUs and keep the records in their buffers
 *
 * Any context, at any time. Each other CPU stops when an NMI reaches it.
 */
void notrace bts_freeze_all(void)
{
	guard(irqsave)();

	if (!READ_ONCE(bts_users))
		return;

	atomic_inc(&bts_freezing.last);
	/* Increment before any CPU is frozen: pairs with bts_unfreeze_here(). */
	smp_mb__after_atomic();
	bts_source->freeze();
	bts_source->freeze_others();
}
EXPORT_SYMBOL_IF_KUNIT(bts_freeze_all);

/**
 * bts_freezes - tell how often bts_freeze_all() has frozen the CPUs
 *
 * Any context.
 *
 * Return: the number, for bts_unfreeze_all().
 */
u32 bts_freezes(void)
{
	return atomic_read(&bts_freezing.last);
}
EXPORT_SYMBOL_IF_KUNIT(bts_freezes);

bool bts_refrozen(void)
{
	return branch_refrozen(&bts_freezing);
}

/**
 * bts_forget_freezes - reset the state of freezes after the source has dropped its records
 *
 * Called under bts_mutex, while no CPU records.
 */
void bts_forget_freezes(void)
{
	int cpu;

	branch_count_thaw(&bts_freezing, bts_freezes());
	for_each_possible_cpu(cpu) {
		per_cpu(bts_cpu.stale, cpu) = false;
		WRITE_ONCE(per_cpu(bts_cpu.outdated, cpu), false);
	}
}

/* Called after ->unfreeze(), when the records that were frozen have been delivered. */
static void bts_unfrozen(void)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	cpu->stale = false;
	bts_deliver_gap();
	/* Contexts that were created while this CPU was frozen begin here. */
	list_for_each_entry(ctx, &cpu->contexts, node)
		ctx->late = false;
}

/*
 * bts_freeze_all() increments bts_freezing.last before it sends the NMIs. An NMI that
 * arrives before the second bts_refrozen() is undone by ->unfreeze(), and this function
 * freezes the CPU again. A later NMI freezes the source, and ->pause() fails.
 */
static void bts_unfreeze_here(void *unused)
{
	bool thawed;

	guard(irqsave)();
	if (bts_refrozen())
		return;

	thawed = bts_source->unfreeze();
	/*
	 * The stores of ->unfreeze() must not overwrite the request of a concurrent
	 * bts_freeze_all(), with which this barrier pairs.
	 */
	smp_mb();
	if (bts_refrozen()) {
		bts_source->freeze();
		return;
	}
	/* A CPU that was frozen again keeps the same records, and stays outdated. */
	if (thawed && !bts_source->pause())
		return;

	this_cpu_write(bts_cpu.outdated, false);
	if (thawed) {
		bts_unfrozen();
		/* A context that was destroyed while this CPU was frozen did not scrub. */
		bts_source->scrub(smp_processor_id());
		bts_resume();
	}
}

/* Note that the frozen records of offline CPUs are from before this thaw. */
static void bts_outdate(void)
{
	int cpu;

	guard(cpus_read_lock)();
	for_each_possible_cpu(cpu) {
		if (!cpu_online(cpu))
			WRITE_ONCE(per_cpu(bts_cpu.outdated, cpu), true);
	}
}

/**
 * bts_unfreeze_all - resume recording on all CPUs
 * @freezes: what bts_freezes() returned when the caller decided to thaw
 *
 * Called with interrupts on; calls are serialized by the caller. Freezes after @freezes
 * stay in force. The records that were kept are delivered to the contexts, but not to
 * those of a task that has been switched out since the freeze, nor to those of the CPU
 * that were created since. A CPU that is offline thaws when it comes online.
 */
void bts_unfreeze_all(u32 freezes)
{
	if (!bts_source->id)
		return;

	branch_count_thaw(&bts_freezing, freezes);
	/* Pairs with a CPU that sets itself online before bts_cpu_up(). */
	smp_mb();
	on_each_cpu(bts_unfreeze_here, NULL, 1);
	bts_outdate();
}
EXPORT_SYMBOL_IF_KUNIT(bts_unfreeze_all);

/*
 * CPU hotplug and suspend
 */

/* Freeze or thaw this CPU, as the others were frozen or thawed while it was offline. */
static void bts_catch_up(void)
{
	guard(irqsave)();

	if (bts_refrozen())
		bts_source->freeze();
	else
		bts_unfreeze_here(NULL);
}

static void bts_come_up(struct bts_call *call)
{
	/* The CPU's contexts may have been created while it was offline. */
	bts_follow(current);
}

static int bts_cpu_up(unsigned int cpu)
{
	struct bts_call call = { .func = bts_come_up };

	this_cpu_write(bts_cpu.parked, false);
	bts_catch_up();
	bts_call_here(&call);

	return 0;
}

static void bts_park(struct bts_call *call)
{
	bts_lose(call);
	/* Overwrite the buffer now: while the CPU is offline, nothing else does. */
	bts_source->scrub(smp_processor_id());
}

/* From here on only code that cannot leave this CPU yet runs on it, and is not recorded. */
static int bts_cpu_down(unsigned int cpu)
{
	struct bts_call call = { .func = bts_park };

	this_cpu_write(bts_cpu.parked, true);
	bts_call_here(&call);

	return 0;
}

/*
 * The last CPU is parked, too. That ds_stop.c holds BTS off is not enough: after the
 * release, new records would directly follow the old ones, and the gap between them could
 * not be marked.
 */
static int bts_syscore_suspend(void *unused)
{
	return bts_cpu_down(smp_processor_id());
}

static void bts_syscore_resume(void *unused)
{
	bts_cpu_up(smp_processor_id());
}

static const struct syscore_ops bts_syscore_ops = {
	.suspend	= bts_syscore_suspend,
	.resume		= bts_syscore_resume,
};

static struct syscore bts_syscore = {
	.ops = &bts_syscore_ops,
};

static int __init bts_init(void)
{
	int ret;

	if (!bts_source->id)
		return 0;

	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "x86/bts:online", bts_cpu_up,
				bts_cpu_down);
	if (ret < 0) {
		pr_err("no CPU hotplug state left, branch tracing is off\n");
		bts_source = &bts_no_source;
		return ret;
	}
	register_syscore(&bts_syscore);

	return 0;
}

/* Called after bts_register_source(), and before the first trace is created. */
arch_initcall_sync(bts_init);
