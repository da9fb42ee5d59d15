// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: freezing all CPUs, CPU hotplug, and suspend
 */
#define pr_fmt(fmt) "x86/bts: " fmt

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpuhotplug.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/syscore_ops.h>

#include <kunit/visibility.h>

#include "branch_freeze.h"
#include "bts_internal.h"

static struct branch_freezes bts_freezing;
static DEFINE_PER_CPU(struct branch_frozen_by, bts_frozen_by);

/**
 * bts_freeze_all - stop recording on all CPUs and keep the records in their buffers
 * @fresh: this CPU was not frozen when the caller decided to freeze, but an NMI may have frozen it
 *	   since
 *
 * Any context, at any time. Each other CPU stops when an NMI reaches it. The software source does
 * not stop. If no context needs the hardware source, this does nothing.
 */
void notrace bts_freeze_all(bool fresh)
{
	guard(irqsave)();

	if (!READ_ONCE(bts_users))
		return;

	atomic_inc(&bts_freezing.last);
	/*
	 * Increment before any CPU is frozen: pairs with the barriers in bts_unfreeze_here() and
	 * branch_freeze_take_request().
	 */
	smp_mb__after_atomic();
	bts_source->freeze();
	if (fresh)
		branch_renew_freeze(&bts_frozen_by, &bts_freezing);
	bts_source->freeze_others();
}
EXPORT_SYMBOL_IF_KUNIT(bts_freeze_all);

/**
 * bts_freezes - get the number of the last freeze by bts_freeze_all()
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

/* Called by ->freeze() after this CPU has stopped recording */
void notrace bts_note_freeze(void)
{
	branch_note_freeze(&bts_frozen_by, &bts_freezing);
}

/**
 * bts_frozen - tell whether a CPU keeps the records of a freeze
 * @cpu: the CPU
 *
 * Any context. If true, the CPU does not record, or is about to write the register that stops it.
 * While a CPU thaws, this is true until the records were delivered.
 *
 * Return: true if so.
 */
bool notrace bts_frozen(int cpu)
{
	return READ_ONCE(per_cpu(bts_frozen_by.nr, cpu));
}

/* Tell whether a thaw has undone the freeze whose records a CPU keeps. */
bool bts_outdated(int cpu)
{
	return branch_is_outdated(per_cpu_ptr(&bts_frozen_by, cpu), &bts_freezing);
}

/**
 * bts_frozen_at - tell when a CPU was frozen
 * @cpu: the CPU
 *
 * Return: the time, by ktime_get_mono_fast_ns(); 0 if the CPU is not frozen, or has not stored the
 * time yet.
 */
u64 bts_frozen_at(int cpu)
{
	return READ_ONCE(per_cpu(bts_frozen_by.when, cpu));
}

bool notrace bts_freeze_in_force(void)
{
	return branch_freeze_in_force(&bts_freezing);
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
		branch_forget_freeze(per_cpu_ptr(&bts_frozen_by, cpu));
	}
}

/*
 * Called after ->unfreeze(), when the records that were frozen have been delivered: mark a gap in
 * the contexts of the current task and of this CPU. Contexts without BTS_IDLE get the gap even if
 * the idle task runs now, as other tasks may have run during the freeze.
 */
static void bts_unfrozen(void)
{
	struct bts_cpu *cpu = this_cpu_ptr(&bts_cpu);
	struct bts_context *ctx;

	cpu->stale = false;
	list_for_each_entry(ctx, &cpu->owner->contexts, node)
		bts_put_gap(ctx);
	list_for_each_entry(ctx, &cpu->contexts, node) {
		/* Contexts that were created while this CPU was frozen begin here. */
		if (!ctx->late)
			bts_put_gap(ctx);
		ctx->late = false;
	}
}

/*
 * Thaw this CPU, unless a freeze is in force. A bts_freeze_all() may run at the same time. It
 * increments bts_freezing.last before it sends the NMIs. If its NMI arrives while this function
 * thaws the CPU, there are three cases:
 *
 *  - The NMI arrives between the two calls of bts_freeze_in_force(). ->unfreeze() may have undone
 *    the freeze. If the second call returns true, this function freezes the CPU again. If it
 *    returns false, another thaw has undone the new freeze. Then this function thaws the CPU if it
 *    was frozen before ->unfreeze(). Otherwise the CPU stays frozen, and the other thaw thaws it.
 *  - The NMI arrives between the second call and ->pause(): ->pause() returns false.
 *  - The NMI arrives between ->pause() and ->resume(): ->resume() returns false, and bts_resume()
 *    marks a gap. The buffer is empty, and bts_frozen_by becomes that of the new freeze.
 *
 * In the first two cases, if the CPU was frozen before and the new freeze is in force, the CPU
 * keeps the old records, and bts_frozen_by stays as it is.
 */
static void bts_unfreeze_here(struct irq_work *unused)
{
	bool thawed;

	lockdep_assert_irqs_disabled();

	if (bts_freeze_in_force())
		return;

	thawed = bts_source->unfreeze();
	/*
	 * ->unfreeze() may overwrite the request of a concurrent bts_freeze_all(). This barrier
	 * pairs with the one there: in that case, bts_freeze_in_force() returns true now.
	 */
	smp_mb();
	if (bts_freeze_in_force()) {
		bts_source->freeze();
		return;
	}
	if (!thawed || !bts_source->pause())
		return;

	bts_unfrozen();
	branch_forget_freeze(this_cpu_ptr(&bts_frozen_by));
	if (bts_source->frozen(smp_processor_id()))
		bts_note_freeze();
	/* If a context of this CPU ended during the freeze, the buffer was not scrubbed. */
	bts_source->scrub(smp_processor_id());
	bts_resume();
}

static DEFINE_PER_CPU(struct irq_work, bts_thaw) = IRQ_WORK_INIT_HARD(bts_unfreeze_here);

/**
 * bts_unfreeze_all - resume recording on all CPUs
 * @freezes: what bts_freezes() returned when the caller decided to thaw
 *
 * May sleep; calls are serialized by the caller. Freezes after @freezes stay in force. Each CPU
 * delivers the records that it has kept, but not to all contexts: see @late of struct bts_context
 * and @stale of struct bts_cpu. A CPU that is offline thaws when it comes online. A CPU that is
 * locked up with interrupts off thaws later, see branch_thaw_cpus().
 */
void bts_unfreeze_all(u32 freezes)
{
	if (!bts_source->id)
		return;

	branch_count_thaw(&bts_freezing, freezes);
	branch_thaw_cpus(&bts_thaw);
}
EXPORT_SYMBOL_IF_KUNIT(bts_unfreeze_all);

/* Freeze or thaw this CPU, if the other CPUs were frozen or thawed while it was offline. */
static void bts_catch_up(void)
{
	guard(irqsave)();

	if (bts_freeze_in_force())
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

/*
 * If the source is frozen, do not mark a gap: the X86_BTS_LOST record would precede the frozen
 * records. bts_unfrozen() marks the gap after them.
 */
static void bts_mark_offline_gap(struct bts_call *call)
{
	if (call->paused)
		bts_deliver_gap();
}

static void bts_park(struct bts_call *call)
{
	bts_mark_offline_gap(call);
	/* Otherwise the delivered records would stay in the buffer. */
	bts_source->scrub(smp_processor_id());
}

/* Stop recording on this CPU, which goes offline or is suspended. */
static int bts_cpu_down(unsigned int cpu)
{
	struct bts_call call = { .func = bts_park };

	this_cpu_write(bts_cpu.parked, true);
	bts_call_here(&call);

	return 0;
}

/*
 * Empty the buffer of the last online CPU, too, although ds_stop.c keeps BTS off during a suspend.
 * Otherwise, new records would directly follow the old ones after the resume, and the gap between
 * them could not be marked.
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
