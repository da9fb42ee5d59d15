// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder
 *
 * On some processors the hardware can record each branch that it takes. To record in a
 * circular buffer takes no instruction. After a crash, the buffer shows how the CPU got
 * there: not only the calls that are still on the stack, but each jump, call and return
 * of the last microseconds.
 *
 * The buffer is overwritten within microseconds. So code that detects a crash first
 * freezes the recorder, on this CPU at once and on the others by NMIs, and prints later.
 * The first crash freezes it until root thaws it, or until hw_branches_thaw_after seconds
 * have passed.
 *
 * The hardware is driven by the architecture: see <linux/hw_branches.h>.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "trace_hw_branches.h"

static DEFINE_MUTEX(hw_branches_mutex);

/* These change under the mutex. */
bool hw_branches_on __read_mostly;
static cpumask_t hw_branches_mask = CPU_MASK_ALL;
static cpumask_t hw_branches_recording;

/* The number of lines that sysrq, a watchpoint or kdb prints, or a trigger traces, of a CPU */
u64 hw_branches_nr __read_mostly = 32;

/* The number of lines that a crash prints of a CPU, and whether it prints all CPUs */
u64 hw_branches_crash_nr __read_mostly = 32;
bool hw_branches_crash_all __read_mostly;

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

/* Print a line for each record, without folding. */
bool hw_branches_plain __read_mostly;

/* The largest indentation of a line */
#define HW_BRANCHES_INDENT	16

/**
 * hw_branches_print - print a line of branches
 * @print: the function that prints
 * @m: the first argument of @print
 * @cpu: the CPU of the branches
 * @depth: the call depth, which is shown up to HW_BRANCHES_INDENT
 * @line: the line
 *
 * Any context: addresses are only looked up as symbols, never dereferenced.
 */
void hw_branches_print(hw_branches_printf print, struct seq_file *m, int cpu, int depth,
		       const struct hw_branches_line *line)
{
	void *from = (void *)(unsigned long)line->branch.from;
	void *to = (void *)(unsigned long)line->branch.to;
	int indent = clamp(depth, 0, HW_BRANCHES_INDENT);
	char inside[24] = "", times[48] = "";

	if (line->inside)
		snprintf(inside, sizeof(inside), ", %u branches", line->inside);
	if (line->times > 1 && line->lines > 1)
		snprintf(times, sizeof(times), ", these %u lines %u times", line->lines,
			 line->times);
	else if (line->times > 1)
		snprintf(times, sizeof(times), ", %u times", line->times);

	if (!from && !to)
		print(m, " %3d -- some are missing here --\n", cpu);
	else if (line->branch.from == HW_BRANCH_USER)
		print(m, " %3d %*s%pS <- user mode%s\n", cpu, indent, "", to, times);
	else
		print(m, " %3d %*s%pS <- %pS%s%s\n", cpu, indent, "", to, from, inside, times);
}

/*
 * Freeze and thaw
 */

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

/*
 * Undo all freezes, and let the next crash be the first one. A concurrent crash stays frozen:
 * either it sees the -1 that is stored here, or it has frozen the CPUs before and tries again,
 * see hw_branches_crash_freeze().
 */
static void hw_branches_thaw(void)
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
 * While this waits for the mutex, hw_branches_keep() may have frozen the recorder, or root may
 * have thawed it and the next crash followed. So test all conditions again.
 */
static void hw_branches_thaw_late_work(struct work_struct *work)
{
	guard(mutex)(&hw_branches_mutex);

	if (hw_branches_on && !READ_ONCE(hw_branches_keeping) && hw_branches_is_due() &&
	    !panic_in_progress())
		hw_branches_thaw();
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

/*
 * On and off
 */

static void hw_branches_stop(const struct cpumask *cpus)
{
	arch_hw_branches_stop(cpus);
	cpumask_andnot(&hw_branches_recording, &hw_branches_recording, cpus);
}

/* Record on the CPUs in @want, and on no others. */
static int hw_branches_record(const struct cpumask *want)
{
	cpumask_var_t cpus;
	int cpu, err = 0;

	lockdep_assert_held(&hw_branches_mutex);

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;

	for_each_cpu_andnot(cpu, want, &hw_branches_recording) {
		if (!cpu_possible(cpu))
			continue;
		err = arch_hw_branches_start(cpu);
		if (err)
			break;
		cpumask_set_cpu(cpu, cpus);
	}
	cpumask_or(&hw_branches_recording, &hw_branches_recording, cpus);
	/* After an error, stop the CPUs that were started above; otherwise those not in @want. */
	if (!err)
		cpumask_andnot(cpus, &hw_branches_recording, want);
	hw_branches_stop(cpus);
	free_cpumask_var(cpus);

	return err;
}

/**
 * hw_branches_parse_source - parse the name of a source
 * @word: 0, 1, auto, or the name of a source
 * @source: where to store the argument for hw_branches_enable()
 *
 * Return: 0, or -EINVAL.
 */
int hw_branches_parse_source(const char *word, int *source)
{
	const char *name;
	int i;

	if (!strcmp(word, "0")) {
		*source = HW_BRANCHES_OFF;
		return 0;
	}
	if (!strcmp(word, "1") || !strcmp(word, "auto")) {
		*source = HW_BRANCHES_AUTO;
		return 0;
	}
	for (i = 0; (name = arch_hw_branches_name(i)); i++) {
		if (!strcmp(word, name)) {
			*source = i;
			return 0;
		}
	}

	return -EINVAL;
}

/* Start recording with a source; for HW_BRANCHES_AUTO, with the first one that can. */
static int hw_branches_start(int source)
{
	int err, first, i;

	if (source >= 0) {
		arch_hw_branches_choose(source);
		return hw_branches_record(&hw_branches_mask);
	}

	first = hw_branches_start(0);
	err = first;
	for (i = 1; err && arch_hw_branches_name(i); i++)
		err = hw_branches_start(i);
	if (!err)
		return 0;
	arch_hw_branches_choose(0);

	return first;
}

/* Tell whether hw_branches_enable() has nothing to do for @source. */
static bool hw_branches_is_source(int source)
{
	if (!hw_branches_on || source < 0)
		return hw_branches_on == (source != HW_BRANCHES_OFF);

	return !strcmp(arch_hw_branches_name(source), arch_hw_branches_source());
}

/**
 * hw_branches_enable - switch the recorder on or off
 * @source: the source, from hw_branches_parse_source()
 *
 * If it is switched off, the recorded branches are erased.
 *
 * Return: 0; -EBUSY if another source is on; -ENOMEM; or an error of the architecture:
 * -EOPNOTSUPP without the hardware, -EBUSY if it is in use otherwise.
 */
int hw_branches_enable(int source)
{
	int err = 0;

	guard(mutex)(&hw_branches_mutex);

	if (hw_branches_is_source(source))
		return 0;

	if (source != HW_BRANCHES_OFF) {
		err = hw_branches_on ? -EBUSY : hw_branches_start(source);
		if (!err)
			WRITE_ONCE(hw_branches_on, true);
	} else {
		WRITE_ONCE(hw_branches_on, false);
		/* hw_branches_crash_freeze() may have read hw_branches_on as true. */
		synchronize_rcu();
		/* hw_branches_stop() cannot erase a buffer that is frozen. */
		cancel_delayed_work(&hw_branches_late_work);
		hw_branches_thaw();
		hw_branches_stop(&hw_branches_recording);
	}

	return err;
}

/**
 * hw_branches_set_cpus - choose the CPUs whose branches are recorded
 * @cpus: the CPUs; at least one must be possible
 *
 * Return: 0, -EINVAL, or an error like hw_branches_enable().
 */
int hw_branches_set_cpus(const struct cpumask *cpus)
{
	int err = 0;

	if (!cpumask_intersects(cpus, cpu_possible_mask))
		return -EINVAL;

	guard(mutex)(&hw_branches_mutex);

	if (hw_branches_on)
		err = hw_branches_record(cpus);
	if (!err)
		cpumask_copy(&hw_branches_mask, cpus);

	return err;
}

/**
 * hw_branches_cpus - return the mask that hw_branches_set_cpus() has set
 *
 * Return: the mask, which may change at any time.
 */
const struct cpumask *hw_branches_cpus(void)
{
	return &hw_branches_mask;
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

	/* A freeze or a thaw by root cancels the thaw after hw_branches_thaw_after. */
	cancel_delayed_work(&hw_branches_late_work);
	if (freeze)
		hw_branches_keep();
	else
		hw_branches_thaw();

	return 0;
}

/**
 * hw_branches_copy - copy the last branches of a CPU, the newest first
 * @cpu: the CPU
 * @out: where to store the branches
 * @n: the largest number of branches to copy
 *
 * May sleep. If the CPU is not frozen, it continues to record.
 *
 * Return: the number of branches that were copied.
 */
int hw_branches_copy(int cpu, struct hw_branch *out, u32 n)
{
	guard(mutex)(&hw_branches_mutex);

	return hw_branches_on ? arch_hw_branches_copy(cpu, out, n) : 0;
}

/*
 * Boot parameter
 */

static int hw_branches_early __initdata = HW_BRANCHES_OFF;

static bool __init hw_branches_setup_cpus(const char *list)
{
	cpumask_var_t cpus;
	bool good;

	alloc_bootmem_cpumask_var(&cpus);
	good = !cpulist_parse(list, cpus) && !cpumask_empty(cpus);
	if (good)
		cpumask_copy(&hw_branches_mask, cpus);
	free_bootmem_cpumask_var(cpus);

	return good;
}

/* hw_branches[=[SOURCE][,][CPUS]]: a list of CPUs never begins like the name of a source. */
static int __init hw_branches_setup(char *str)
{
	int source = HW_BRANCHES_AUTO;
	char word[8];
	size_t len;

	if (*str && *str++ != '=')
		return 0;

	len = strcspn(str, ",");
	if (*str >= 'a' && len < sizeof(word)) {
		memcpy(word, str, len);
		word[len] = '\0';
		if (!hw_branches_parse_source(word, &source))
			str += len + (str[len] == ',');
	}
	if (*str && !hw_branches_setup_cpus(str))
		pr_warn("%s is no source and no list of CPUs, recording is off\n", str);
	else
		hw_branches_early = source;

	return 1;
}
__setup("hw_branches", hw_branches_setup);

/* Start recording as soon as the architecture has found its hardware. */
static int __init hw_branches_boot(void)
{
	int err;

	if (hw_branches_early == HW_BRANCHES_OFF)
		return 0;

	err = hw_branches_enable(hw_branches_early);
	if (err)
		pr_warn("cannot record: error %d\n", err);

	return 0;
}
subsys_initcall(hw_branches_boot);
