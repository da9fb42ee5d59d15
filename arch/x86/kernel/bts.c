// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: any number of contexts, one source of records
 *
 * A context is one task's or one cpu's trace, with what it wants of it and a
 * ring of its own. On every CPU the source records the union of what the
 * contexts of its current task and its own contexts want; what comes in is
 * sorted out when it is handed up.
 *
 * Beside the source of hardware there may be one of software, which makes each record
 * in the task that branched. Tasks keep the contexts of the two apart.
 *
 * Who may touch what, and why there are so few locks:
 *
 *  - bts_mutex is held to create and destroy contexts and to claim the source.
 *    It comes after cpus_read_lock().
 *  - A CPU's list of contexts, its owner, and all rings in reach of them are
 *    touched only on that CPU with interrupts off: while the source is paused or
 *    frozen, or, while it records, by its NMI handler. A source that is paused or
 *    frozen hands nothing up from an NMI. While the CPU is offline, they are touched
 *    under cpus_read_lock() and bts_mutex.
 *  - A task's list is reachable for a CPU from when the task is switched in
 *    until it is switched out. Everybody but the task itself therefore touches a
 *    context of it either on that CPU, or while the locks of the scheduler keep the
 *    task off all CPUs: see bts_call_task().
 *
 * So there is never a need to wait for readers: when a context has been taken
 * off its list nobody can see it.
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

/* How many contexts need it. Changes under bts_mutex. */
unsigned int bts_users;

/* The source was taken from all contexts. Changes under bts_mutex. */
bool bts_revoked;

/*
 * A ring has noticed that the CPL filter of the source drops records that are wanted,
 * see bts_ring.c. The filter is not used where bts_widens() says so, until the source
 * is given back.
 */
bool bts_cpl_skewed;

static struct branch_freezes bts_freezing;

static bool bts_widens(u32 flags)
{
	return flags & (BTS_KERNEL | BTS_WIDE) && READ_ONCE(bts_cpl_skewed);
}

/* Is the kernel recorded by the hardware, for the sake of a trace? */
bool bts_takes_kernel(u32 flags)
{
	if (flags & (BTS_KERNEL | BTS_ENTRY))
		return true;

	return flags & BTS_USER && (!bts_source->filters || bts_widens(flags));
}

/*
 * Delivery: on the CPU where the records were made, with the source at rest
 */

static void bts_note_full(struct bts_context *ctx)
{
	if (!ctx->attr.overflow || ctx->full)
		return;

	ctx->full = true;
	/* The next record comes before an interrupt may, without an APIC many of them. */
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
 * Does a CPU's context record now? One that was created while the CPU was frozen
 * does not yet, and without BTS_IDLE none does in the idle task.
 */
static bool bts_awake(const struct bts_cpu *cpu, const struct bts_context *ctx)
{
	return !ctx->late && (!cpu->idle || ctx->attr.flags & BTS_IDLE);
}

/**
 * bts_deliver - take records from the source of hardware
 * @rec: the records, oldest first
 * @n: how many
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
 * bts_deliver_gap - the source has lost records after those it delivered last
 *
 * Called like bts_deliver().
 */
void bts_deliver_gap(void)
{
	bts_put_gaps(true);
}

/**
 * bts_deliver_kernel_gap - the same, but it has recorded all of user mode
 *
 * Called like bts_deliver().
 */
void bts_deliver_kernel_gap(void)
{
	bts_put_gaps(false);
}

/**
 * bts_deliver_step - take a record from the source of software
 * @from: where the branch was
 * @to: where it went
 *
 * Called with interrupts off; current has branched.
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
 * bts_deliver_steps_gap - the source of software may have missed a branch
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
 * The records that @ctx has room for until its task stops. The way back from the stop
 * is a record as well: with room for one only, the task would stop again and again.
 */
static u32 bts_room(const struct bts_context *ctx)
{
	const u32 least = 2;
	u32 held;

	if (!(ctx->attr.flags & BTS_STOP) || !ctx->attr.overflow || ctx->full)
		return U32_MAX;
	/* Branches do not fill it. */
	if (!(ctx->attr.flags & (BTS_USER | BTS_KERNEL)))
		return U32_MAX;

	held = bts_ring_held(&ctx->ring);

	return held + least < ctx->attr.nr ? ctx->attr.nr - held : least;
}

/* Not inlined, as every switch comes by and few need it. */
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
 * The task here goes on unrecorded: wherever it goes, if the hardware was taken away;
 * in the kernel only, on a CPU that goes down, as it leaves that before it returns to
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
 * Return: that.
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

/* The source of software is paused and resumed for the tasks that have its contexts. */
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

/* After a ->pause() that came true. */
static void bts_resume(void)
{
	/* Frozen meanwhile: it is as if recording stopped here. */
	if (!bts_source->resume())
		bts_deliver_gap();
}

/*
 * Frozen: what the source of hardware keeps is evidence, and no longer the trace of the
 * task that runs here.
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
 * bts_follow - see to it that the switch away from a task comes by here
 * @task: who runs on this CPU, or is about to
 *
 * A flight recorder needs no more than its CPU. For any other context of a CPU,
 * TIF_BTS goes from task to task. Called with interrupts off.
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

/* While the source of hardware is frozen, only that of software records. */
static noinline void bts_switch_frozen(struct bts_cpu *cpu, struct task_struct *prev,
				       struct task_struct *next)
{
	bts_disown();
	bts_mark_steps(cpu->owner, X86_BTS_TASK_DEPARTS, prev);
	bts_arrive(cpu, prev, next);
	bts_mark_steps(cpu->owner, X86_BTS_TASK_ARRIVES, next);
}

/**
 * bts_switch_to - one task leaves this CPU and another comes
 * @prev: who leaves
 * @next: who comes
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
	/* Nobody here who wants anything: leave the source at rest. */
	if (cpu->owner == &bts_nobody && list_empty(&cpu->contexts))
		return;

	bts_mark_switch(cpu, X86_BTS_TASK_ARRIVES, next);
	bts_resume();
}

/**
 * bts_debug_exception - go on recording where a #DB has stopped it
 *
 * Called on the way out of it, with interrupts off, before anybody else writes DEBUGCTL.
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

/* Run @info, a bts_call, on this CPU, with its source at rest. */
void bts_call_here(void *info)
{
	struct bts_call *call = info;

	guard(irqsave)();
	call->paused = bts_source->pause();
	bts_pause_steps(this_cpu_read(bts_cpu.owner));
	call->func(call);
	/* Of another owner, perhaps */
	bts_resume_steps(this_cpu_read(bts_cpu.owner));
	if (call->paused)
		bts_resume();
}

static void bts_nothing(struct bts_call *call)
{
}

/* Frozen, nothing is lost, and the mark would stand before what is kept. */
static void bts_lose(struct bts_call *call)
{
	if (call->paused)
		bts_deliver_gap();
}

/**
 * bts_flush_cpu - make the contexts that are live on a CPU up to date
 * @cpu: the CPU
 *
 * May sleep.
 *
 * Return: 0; -ENXIO if it is not online; -EOPNOTSUPP if this machine has no source
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
 * bts_freeze_all - stop recording on all CPUs and keep all there is
 *
 * Any context, at any time. The other CPUs follow when an NMI gets through.
 */
void notrace bts_freeze_all(void)
{
	guard(irqsave)();

	if (!READ_ONCE(bts_users))
		return;

	atomic_inc(&bts_freezing.last);
	/* Before any CPU stops: pairs with bts_unfreeze_here(). */
	smp_mb__after_atomic();
	bts_source->freeze();
	bts_source->freeze_others();
}
EXPORT_SYMBOL_IF_KUNIT(bts_freeze_all);

/**
 * bts_freezes - tell how often somebody froze
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
 * bts_forget_freezes - the source has forgotten what was frozen
 *
 * Called under bts_mutex, when nothing is recorded.
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

/* After ->unfreeze(), when what was kept has been handed up. */
static void bts_unfrozen(void)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	cpu->stale = false;
	bts_deliver_gap();
	/* Theirs begins here. */
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

/* CPUs that are offline keep records from before the thaw. */
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
 * bts_unfreeze_all - go on recording on all CPUs
 * @freezes: what bts_freezes() told when it was decided
 *
 * Called with interrupts on, by one at a time. A freeze since then stays in force.
 * What was kept goes to the contexts, but not to those of a task that has been
 * switched out since, nor to those of the CPU that were created since. A CPU that
 * is offline does it when it comes up.
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
 * CPUs come and go
 */

/* Freeze or thaw this CPU as the others were while it was offline. */
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
	/* Its contexts may have been created while it was offline. */
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
	/* Nobody comes by again to wipe it. */
	bts_source->scrub(smp_processor_id());
}

/* Only what cannot leave the CPU yet still runs there, and is not recorded. */
static int bts_cpu_down(unsigned int cpu)
{
	struct bts_call call = { .func = bts_park };

	this_cpu_write(bts_cpu.parked, true);
	bts_call_here(&call);

	return 0;
}

/*
 * The last CPU sleeps, too. Not ds_stop.c's hold alone: once that ends, there are
 * new records behind the old ones, and no place between them for the mark.
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

/* After the source is known, and before anybody wants a trace. */
arch_initcall_sync(bts_init);
