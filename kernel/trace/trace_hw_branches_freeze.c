// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: freeze and thaw
 *
 * Newer branches overwrite the recorded ones within microseconds. So code that detects a crash
 * first freezes the recorder, on this CPU at once and on the others by NMIs, and prints
 * later. The first crash keeps the recorder frozen until root thaws it or switches it off, or
 * until hw_branches_thaw_late_work() thaws it.
 */

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "trace_hw_branches.h"

/*
 * Serializes switching the recorder on and off, changing the CPUs that record, thaws, and readers
 * that may sleep.
 */
DEFINE_MUTEX(hw_branches_mutex);

/* The recorder is on. Changes under hw_branches_mutex; read in any context. */
bool hw_branches_on __read_mostly;

/* The number of seconds from a crash to hw_branches_thaw_late_work(); 0 for never */
u64 hw_branches_thaw_after __read_mostly;

/* Root, a trigger or a watchpoint has frozen the recorder until the next hw_branches_thaw(). */
static bool hw_branches_kept_frozen;

/* The number of users that have frozen the recorder temporarily, by hw_branches_freeze_to_read() */
static atomic_t hw_branches_readers;

/* The first crash since the last hw_branches_thaw(). If @cpu is -1, there was none. */
static struct hw_branches_crash_info hw_branches_first = { .cpu = -1, };

/* Changes in each hw_branches_thaw(). Starts with 1, as hw_branches_printed starts with 0. */
static atomic_t hw_branches_thaws = ATOMIC_INIT(1);

/* The value of hw_branches_thaws when a crash last printed the branches of this CPU */
static DEFINE_PER_CPU(unsigned int, hw_branches_printed);

/* Inlined, as a call may be recorded, and overwrite an older branch. */
static __always_inline void hw_branches_freeze_all(bool fresh)
{
	/*
	 * The reason for the freeze was stored in hw_branches_first, hw_branches_kept_frozen or
	 * hw_branches_readers before this function was called. arch_hw_branches_freeze() increments
	 * the number of freezes. If hw_branches_thaw_unkept() reads the new number, it must also
	 * read the reason. Pairs with smp_rmb() there.
	 */
	smp_wmb();
	arch_hw_branches_freeze(fresh);
}

static void hw_branches_thaw_late_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(hw_branches_late_work, hw_branches_thaw_late_work);

static void hw_branches_late_irq(struct irq_work *work)
{
	unsigned long at = READ_ONCE(hw_branches_first.thaw_at);
	long left = at - jiffies;

	if (at)
		mod_delayed_work(system_dfl_wq, &hw_branches_late_work, max(left, 0L));
}

/*
 * Queues the work that thaws the recorder hw_branches_thaw_after seconds after the crash. This
 * irq_work is hard: on PREEMPT_RT, a thread runs irq_works that are not hard, and that thread may
 * have crashed.
 */
static DEFINE_PER_CPU(struct irq_work, hw_branches_late) =
	IRQ_WORK_INIT_HARD(hw_branches_late_irq);

/*
 * If this is the first crash since the last thaw, store its data in hw_branches_first and return
 * true. Inlined like hw_branches_freeze_all().
 */
static __always_inline bool hw_branches_claim_first(int cpu, unsigned long ip, bool old)
{
	unsigned long after;

	if (cmpxchg(&hw_branches_first.cpu, -1, cpu) != -1)
		return false;

	WRITE_ONCE(hw_branches_first.old, old);
	WRITE_ONCE(hw_branches_first.started, current->start_boottime);
	WRITE_ONCE(hw_branches_first.task, current);
	WRITE_ONCE(hw_branches_first.ip, ip);
	after = READ_ONCE(hw_branches_thaw_after) * HZ;
	WRITE_ONCE(hw_branches_first.thaw_at, after ? (jiffies + after) ?: 1 : 0);

	return true;
}

/**
 * hw_branches_crash_freeze - hw_branches_crash(), if the recorder is on
 * @ip: the address of the instruction that crashed, 0 if it is not known
 *
 * A later crash calls arch_hw_branches_freeze() only if this CPU was not frozen, for example while
 * the NMI of the first crash has not arrived yet. So if the arch_hw_branches_freeze() of the first
 * crash itself crashes after this CPU was frozen, the second crash does not call it again.
 *
 * Return: true if this is the first crash since the last hw_branches_thaw().
 */
bool notrace hw_branches_crash_freeze(unsigned long ip)
{
	bool claimed, old, stopped, first = false;
	unsigned long flags;
	int cpu, thaws, tries = 2;

	raw_local_irq_save(flags);
	stopped = arch_hw_branches_hold_early();
	cpu = raw_smp_processor_id();
	/* Read this first: an NMI of another crash may freeze this CPU at any time. */
	old = arch_hw_branches_frozen(cpu);
	/* As interrupts are off, synchronize_rcu() in hw_branches_enable() waits for this loop. */
	while (tries-- && READ_ONCE(hw_branches_on)) {
		thaws = atomic_read(&hw_branches_thaws);
		claimed = hw_branches_claim_first(cpu, ip, old);
		first |= claimed;
		if (claimed || !old)
			hw_branches_freeze_all(!old);
		/*
		 * A concurrent hw_branches_thaw() stores -1 in hw_branches_first.cpu and then
		 * reads the number of freezes. If the test below reads this -1, or the value of
		 * a crash since, the thaw may undo the freeze above, so this crash tries again.
		 * If the test reads an older value, the thaw reads a number that includes the
		 * freeze above. Then the thaw takes effect as if it had begun after this
		 * crash. Pairs with smp_store_mb() there.
		 */
		smp_mb();
		if (READ_ONCE(hw_branches_first.cpu) >= 0 &&
		    atomic_read(&hw_branches_thaws) == thaws)
			break;
	}
	arch_hw_branches_release(stopped);
	if (first)
		irq_work_queue(this_cpu_ptr(&hw_branches_late));
	raw_local_irq_restore(flags);

	return first;
}

NOKPROBE_SYMBOL(hw_branches_crash_freeze);

/**
 * hw_branches_first_crash - get the first recorded crash since the last hw_branches_thaw()
 *
 * Return: the crash; its @cpu is -1 if there was none.
 */
const struct hw_branches_crash_info *hw_branches_first_crash(void)
{
	return &hw_branches_first;
}

/* Tell whether the first crash was a crash of current. This task may have migrated since. */
bool hw_branches_crash_is_mine(void)
{
	return READ_ONCE(hw_branches_first.cpu) >= 0 &&
	       READ_ONCE(hw_branches_first.task) == current &&
	       READ_ONCE(hw_branches_first.started) == current->start_boottime;
}

/* The first crash was that of another CPU: a later crash of current must not be taken for it. */
void hw_branches_disown_crash(void)
{
	WRITE_ONCE(hw_branches_first.task, NULL);
}

/**
 * hw_branches_claim_dump - decide whether to print the branches of a CPU in a crash
 * @cpu: the CPU
 *
 * Any context. From one hw_branches_thaw() to the next one, this returns true only once for each
 * CPU. So if the printing crashes, that crash does not print the CPU again. Exception: if
 * hw_branches_thaw() runs during a call, this may return true again for that CPU. This also returns
 * false if there was no crash since the recorder was last thawed or switched on.
 *
 * Return: true if the caller has to print the branches.
 */
bool hw_branches_claim_dump(int cpu)
{
	unsigned int thaws = atomic_read(&hw_branches_thaws);

	return READ_ONCE(hw_branches_first.cpu) >= 0 &&
	       xchg(per_cpu_ptr(&hw_branches_printed, cpu), thaws) != thaws;
}

static void hw_branches_thaw_work(struct work_struct *work);
static DECLARE_WORK(hw_branches_work, hw_branches_thaw_work);

/*
 * Thaw the recorder, unless a crash, root, a trigger, a watchpoint or a reader keeps it frozen.
 * The caller holds hw_branches_mutex.
 */
static void hw_branches_thaw_unkept(void)
{
	u32 freezes = arch_hw_branches_freezes();

	lockdep_assert_held(&hw_branches_mutex);

	/* Pairs with smp_wmb() in hw_branches_freeze_all(), see there. */
	smp_rmb();
	if (!hw_branches_is_kept_frozen() && !atomic_read(&hw_branches_readers))
		arch_hw_branches_thaw(freezes);
}

/*
 * Thaw the recorder after hw_branches_thaw_after_read(), even if the recorder is off: when it was
 * switched off, a reader may have kept the CPUs frozen, or may have frozen them since.
 */
static void hw_branches_thaw_work(struct work_struct *work)
{
	guard(mutex)(&hw_branches_mutex);
	hw_branches_thaw_unkept();
}

/*
 * Use an unbound workqueue. If a worker of a bound workqueue has crashed, it counts as running, and
 * the other works of its CPU wait for it.
 */
static void hw_branches_thaw_irq(struct irq_work *work)
{
	queue_work(system_dfl_wq, &hw_branches_work);
}

static DEFINE_PER_CPU(struct irq_work, hw_branches_irq_work) =
	IRQ_WORK_INIT_HARD(hw_branches_thaw_irq);

/* Wait until the CPUs are frozen, at most about 100 to 200 ms for all. */
static void hw_branches_await_frozen(void)
{
	int cpu, tries = 100;

	for_each_online_cpu(cpu) {
		while (!arch_hw_branches_frozen(cpu) && tries-- > 0)
			usleep_range(1000, 2000);
	}
}

/**
 * hw_branches_freeze_to_read - freeze the recorder temporarily, to read the branches
 *
 * Any context. The caller has to undo the freeze by hw_branches_show() or
 * hw_branches_thaw_after_read().
 */
void notrace hw_branches_freeze_to_read(void)
{
	atomic_inc(&hw_branches_readers);
	hw_branches_freeze_all(false);
}

NOKPROBE_SYMBOL(hw_branches_freeze_to_read);

/**
 * hw_branches_thaw_after_read - undo hw_branches_freeze_to_read()
 *
 * Any context.
 */
void notrace hw_branches_thaw_after_read(void)
{
	atomic_dec(&hw_branches_readers);
	irq_work_queue(raw_cpu_ptr(&hw_branches_irq_work));
}

NOKPROBE_SYMBOL(hw_branches_thaw_after_read);

/**
 * hw_branches_show - wait until the CPUs are frozen, call @show, and undo the freeze
 * @show: a function that shows the branches; not called if the recorder is off
 *
 * Called after hw_branches_freeze_to_read(). May sleep. If not all CPUs are frozen after about
 * 100 to 200 ms, @show is called nevertheless.
 */
void hw_branches_show(void (*show)(void))
{
	hw_branches_await_frozen();
	/* The mutex keeps the recorder on while @show runs. */
	scoped_guard(mutex, &hw_branches_mutex) {
		if (hw_branches_on)
			show();
	}
	hw_branches_thaw_after_read();
}

/**
 * hw_branches_keep_frozen - freeze the recorder until root thaws it or switches it off
 * @fresh: this CPU was not frozen when the caller decided to freeze
 *
 * Called with interrupts off.
 */
void hw_branches_keep_frozen(bool fresh)
{
	int tries = 2;

	do {
		WRITE_ONCE(hw_branches_kept_frozen, true);
		hw_branches_freeze_all(fresh);
		/* Retry after a concurrent hw_branches_thaw(). Pairs with smp_store_mb() there. */
		smp_mb();
	} while (!READ_ONCE(hw_branches_kept_frozen) && --tries);
}

/**
 * hw_branches_is_kept_frozen - tell whether the recorder is frozen, and not only to read it
 *
 * Return: true if a crash, root, a trigger or a watchpoint has frozen it; false if it is not
 * frozen, or only by hw_branches_freeze_to_read().
 */
bool hw_branches_is_kept_frozen(void)
{
	return READ_ONCE(hw_branches_kept_frozen) || READ_ONCE(hw_branches_first.cpu) >= 0;
}

/**
 * hw_branches_thaw - thaw the recorder, and let the next crash be the first one
 *
 * The caller holds hw_branches_mutex. The recorder stays frozen if hw_branches_readers is not 0. It
 * may stay frozen if there is a concurrent freeze.
 */
void hw_branches_thaw(void)
{
	lockdep_assert_held(&hw_branches_mutex);

	WRITE_ONCE(hw_branches_kept_frozen, false);
	/*
	 * From the next crash on, each CPU may be printed again. The next crash may come as soon as
	 * hw_branches_first.cpu is -1, so increment before that store. Between this increment and
	 * that store, a crash may print a CPU. So increment after that store, too: the next crash
	 * may print that CPU again.
	 */
	atomic_inc(&hw_branches_thaws);
	WRITE_ONCE(hw_branches_first.task, NULL);
	WRITE_ONCE(hw_branches_first.thaw_at, 0);
	/* Pairs with smp_mb() in hw_branches_crash_freeze() and in hw_branches_keep_frozen(). */
	smp_store_mb(hw_branches_first.cpu, -1);
	atomic_inc(&hw_branches_thaws);
	hw_branches_thaw_unkept();
}

/*
 * Tell whether @late jiffies have passed since hw_branches_first.thaw_at; false if that is 0, or if
 * there was no crash.
 */
static bool hw_branches_is_due(unsigned long late)
{
	unsigned long at = READ_ONCE(hw_branches_first.thaw_at);

	return READ_ONCE(hw_branches_first.cpu) >= 0 && at &&
	       time_after_eq(jiffies, at + late);
}

/*
 * If an oops is still being printed, wait for its end: branches that it has not printed yet would
 * be overwritten after the thaw. Wait one minute at most: if the printing of an oops crashes,
 * oops_in_progress may stay set.
 *
 * Since this work was queued, hw_branches_keep_frozen() may have frozen the recorder, root may have
 * switched the recorder off, root may have thawed it and another crash followed, or a panic() may
 * have begun. So test these conditions.
 */
static void hw_branches_thaw_late_work(struct work_struct *work)
{
	guard(mutex)(&hw_branches_mutex);

	if (!hw_branches_on || READ_ONCE(hw_branches_kept_frozen) || !hw_branches_is_due(0) ||
	    panic_in_progress())
		return;

	if (READ_ONCE(oops_in_progress) && !hw_branches_is_due(60 * HZ))
		mod_delayed_work(system_dfl_wq, &hw_branches_late_work, HZ);
	else
		hw_branches_thaw();
}

/**
 * hw_branches_freeze - freeze or thaw the recorder for root
 * @freeze: true to freeze, and wait like hw_branches_show(); false to thaw
 *
 * Return: 0, or -ENXIO if the recorder is off.
 */
int hw_branches_freeze(bool freeze)
{
	guard(mutex)(&hw_branches_mutex);

	if (!hw_branches_on)
		return -ENXIO;

	if (freeze) {
		scoped_guard(irqsave)
			hw_branches_keep_frozen(!arch_hw_branches_frozen(smp_processor_id()));
		hw_branches_await_frozen();
	} else {
		hw_branches_thaw();
	}

	return 0;
}
