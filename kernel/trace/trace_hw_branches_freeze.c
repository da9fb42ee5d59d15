// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: freeze and thaw
 *
 * The buffer is overwritten within microseconds. So code that detects a crash first
 * freezes the recorder, on this CPU at once and on the others by NMIs, and prints later.
 * The first crash freezes it until root thaws it, or until hw_branches_thaw_after seconds
 * have passed.
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
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "trace_hw_branches.h"

/* Protects what is on, which CPUs record, and thaws. */
DEFINE_MUTEX(hw_branches_mutex);

/* Changes under the mutex. */
bool hw_branches_on __read_mostly;

/* The recorder thaws this many seconds after a crash has frozen it; never if 0. */
u64 hw_branches_thaw_after __read_mostly;

/* Root, a trigger or a watchpoint has frozen the recorder until root thaws it. */
static bool hw_branches_keeping;

/* The number of users that have frozen it temporarily: sysrq, trigger, watchpoint, debugger */
static atomic_t hw_branches_lookers;

/* The first crash since the last thaw, if @cpu is not -1. It keeps the recorder frozen. */
static struct hw_branches_crash hw_branches_first = { .cpu = -1, };

/* The number of crashes that were the first one after a thaw */
static atomic_t hw_branches_crashes;

/* The value of hw_branches_crashes at the last crash that printed the branches of this CPU */
static DEFINE_PER_CPU(unsigned int, hw_branches_printed);

/* Inlined, as a call would be recorded. */
static __always_inline void hw_branches_freeze_all(void)
{
	/*
	 * The caller has stored the reason: hw_branches_first, hw_branches_keeping or
	 * hw_branches_lookers. hw_branches_thaw_unkept() must see the reason if it sees the
	 * number of this freeze. Pairs with the barrier there.
	 */
	smp_wmb();
	arch_hw_branches_freeze();
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

/* A hard irq_work: on PREEMPT_RT, the thread of the others may be the task that crashed. */
static struct irq_work hw_branches_late = IRQ_WORK_INIT_HARD(hw_branches_late_irq);

/*
 * Note a crash, if it is the first since the last thaw. Return true if it is. Inlined like
 * hw_branches_freeze_all().
 */
static __always_inline bool hw_branches_claim_first(int cpu, unsigned long ip)
{
	unsigned long after;

	if (cmpxchg(&hw_branches_first.cpu, -1, cpu) != -1)
		return false;

	hw_branches_first.task = current;
	hw_branches_first.ip = ip;
	after = READ_ONCE(hw_branches_thaw_after) * HZ;
	WRITE_ONCE(hw_branches_first.thaw_at, after ? (jiffies + after) ?: 1 : 0);
	atomic_inc(&hw_branches_crashes);

	return true;
}

/**
 * hw_branches_crash_freeze - hw_branches_crash(), if the recorder is on
 * @ip: the address of the instruction that crashed, 0 if it is not known
 *
 * At a later crash, this CPU is frozen already, unless the NMI has not arrived yet. If the
 * freeze itself has crashed, it is not tried again.
 */
void notrace hw_branches_crash_freeze(unsigned long ip)
{
	bool claimed, held, first = false;
	unsigned long flags;
	int cpu, tries = 2;

	raw_local_irq_save(flags);
	held = arch_hw_branches_hold_early();
	cpu = raw_smp_processor_id();
	/* As interrupts are off, synchronize_rcu() in hw_branches_enable() waits for this. */
	while (tries-- && READ_ONCE(hw_branches_on)) {
		claimed = hw_branches_claim_first(cpu, ip);
		first |= claimed;
		if (claimed || !arch_hw_branches_frozen(cpu))
			hw_branches_freeze_all();
		/*
		 * A concurrent hw_branches_thaw() either sees the number of this freeze
		 * and undoes it, or has stored -1, so that this crash is the first. Pairs
		 * with smp_store_mb() there.
		 */
		smp_mb();
		if (READ_ONCE(hw_branches_first.cpu) >= 0)
			break;
	}
	arch_hw_branches_release(held);
	if (first)
		irq_work_queue(&hw_branches_late);
	raw_local_irq_restore(flags);
}

NOKPROBE_SYMBOL(hw_branches_crash_freeze);

/**
 * hw_branches_first_crash - tell which crash froze the recorder
 *
 * Return: the first crash since the last thaw.
 */
const struct hw_branches_crash *hw_branches_first_crash(void)
{
	return &hw_branches_first;
}

/**
 * hw_branches_claim_print - decide whether to print the branches of a CPU in a crash
 * @cpu: the CPU
 *
 * Any context. Each CPU is printed once for each first crash. If the printing crashes, that
 * crash does not print the CPU again. A thaw does not reset hw_branches_printed: a crash that
 * races with the thaw stores the number of the crash before, and the next first crash has
 * another number.
 *
 * Return: true if the caller has to print them.
 */
bool hw_branches_claim_print(int cpu)
{
	unsigned int crash = atomic_read(&hw_branches_crashes);

	return xchg(per_cpu_ptr(&hw_branches_printed, cpu), crash) != crash;
}

static void hw_branches_thaw_work(struct work_struct *work);
static DECLARE_WORK(hw_branches_work, hw_branches_thaw_work);

/* Undo all freezes until now, unless there is a reason to keep the recorder frozen. */
static void hw_branches_thaw_unkept(void)
{
	u32 freezes = arch_hw_branches_freezes();

	lockdep_assert_held(&hw_branches_mutex);

	/* Pairs with the barrier in hw_branches_freeze_all(), which explains it. */
	smp_rmb();
	if (!hw_branches_kept() && !atomic_read(&hw_branches_lookers))
		arch_hw_branches_thaw(freezes);
}

/*
 * This work thaws even if the recorder is off: hw_branches_look() may have frozen the CPUs
 * after hw_branches_enable() thawed them.
 */
static void hw_branches_thaw_work(struct work_struct *work)
{
	guard(mutex)(&hw_branches_mutex);
	hw_branches_thaw_unkept();
}

/*
 * The work is not bound to a CPU: a worker that has crashed counts as running, and other
 * works of its CPU would wait for it.
 */
static void hw_branches_thaw_irq(struct irq_work *work)
{
	queue_work(system_dfl_wq, &hw_branches_work);
}

static struct irq_work hw_branches_irq_work = IRQ_WORK_INIT_HARD(hw_branches_thaw_irq);

static bool hw_branches_all_frozen(void)
{
	int cpu;

	for_each_online_cpu(cpu) {
		if (!arch_hw_branches_frozen(cpu))
			return false;
	}

	return true;
}

/**
 * hw_branches_look - freeze temporarily, to read the branches
 *
 * Any context. The caller has to call hw_branches_show() or hw_branches_looked() later.
 */
void notrace hw_branches_look(void)
{
	atomic_inc(&hw_branches_lookers);
	hw_branches_freeze_all();
}

NOKPROBE_SYMBOL(hw_branches_look);

/**
 * hw_branches_looked - undo hw_branches_look()
 *
 * Any context.
 */
void notrace hw_branches_looked(void)
{
	atomic_dec(&hw_branches_lookers);
	irq_work_queue(&hw_branches_irq_work);
}

NOKPROBE_SYMBOL(hw_branches_looked);

/**
 * hw_branches_show - show all CPUs after hw_branches_look(), and undo it
 * @show: called when all CPUs are frozen, unless the recorder is off now
 *
 * May sleep. Does not wait longer than about 100 ms for CPUs to freeze.
 */
void hw_branches_show(void (*show)(void))
{
	int tries = 100;

	while (!hw_branches_all_frozen() && tries--)
		usleep_range(1000, 2000);

	/* The mutex keeps the recorder on while @show runs. */
	scoped_guard(mutex, &hw_branches_mutex) {
		if (hw_branches_on)
			show();
	}
	hw_branches_looked();
}

/**
 * hw_branches_keep - freeze until root thaws it
 *
 * Any context.
 */
void hw_branches_keep(void)
{
	WRITE_ONCE(hw_branches_keeping, true);
	hw_branches_freeze_all();
}

/**
 * hw_branches_kept - tell whether the recorder stays frozen until it is thawed
 *
 * Return: true if so.
 */
bool hw_branches_kept(void)
{
	return READ_ONCE(hw_branches_keeping) || READ_ONCE(hw_branches_first.cpu) >= 0;
}

/**
 * hw_branches_thaw - undo all freezes, and let the next crash be the first one
 *
 * Called with hw_branches_mutex held. A concurrent crash stays frozen: either it sees the -1
 * that is stored here, or it has frozen the CPUs before and tries again, see
 * hw_branches_crash_freeze().
 */
void hw_branches_thaw(void)
{
	lockdep_assert_held(&hw_branches_mutex);

	WRITE_ONCE(hw_branches_keeping, false);
	/* Store -1 before the number of freezes is read: see hw_branches_crash_freeze(). */
	smp_store_mb(hw_branches_first.cpu, -1);
	hw_branches_thaw_unkept();
}

/* Tell whether the time has come to thaw the recorder after the first crash. */
static bool hw_branches_is_due(void)
{
	unsigned long at = READ_ONCE(hw_branches_first.thaw_at);

	return READ_ONCE(hw_branches_first.cpu) >= 0 && at && time_after_eq(jiffies, at);
}

/*
 * Since this was queued, hw_branches_keep() may have frozen the recorder, root may have switched
 * it off, or root may have thawed it and the next crash followed. So test all conditions again.
 */
static void hw_branches_thaw_late_work(struct work_struct *work)
{
	guard(mutex)(&hw_branches_mutex);

	if (hw_branches_on && !READ_ONCE(hw_branches_keeping) && hw_branches_is_due() &&
	    !panic_in_progress())
		hw_branches_thaw();
}

/**
 * hw_branches_freeze - freeze the recorder until it is thawed, or thaw it
 * @freeze: whether to freeze it
 *
 * Return: 0, or -ENXIO if the recorder is off.
 */
int hw_branches_freeze(bool freeze)
{
	guard(mutex)(&hw_branches_mutex);

	if (!hw_branches_on)
		return -ENXIO;

	if (freeze)
		hw_branches_keep();
	else
		hw_branches_thaw();

	return 0;
}

#ifdef CONFIG_KGDB
/* The nesting level of the debugger on this CPU */
static DEFINE_PER_CPU(unsigned int, hw_branches_debugged);

/**
 * hw_branches_debugger_enter - freeze while the kernel is in its debugger
 *
 * Called with interrupts off, on the CPU that stops the others. A breakpoint in a function
 * that this calls enters the debugger again.
 */
void notrace hw_branches_debugger_enter(void)
{
	if (this_cpu_inc_return(hw_branches_debugged) == 1)
		hw_branches_look();
}

NOKPROBE_SYMBOL(hw_branches_debugger_enter);

/**
 * hw_branches_debugger_leave - undo hw_branches_debugger_enter()
 *
 * Called like hw_branches_debugger_enter(), once for each call of it.
 */
void notrace hw_branches_debugger_leave(void)
{
	if (this_cpu_read(hw_branches_debugged) == 1)
		hw_branches_looked();
	this_cpu_dec(hw_branches_debugged);
}

NOKPROBE_SYMBOL(hw_branches_debugger_leave);
#endif
