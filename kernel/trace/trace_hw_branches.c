// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder
 *
 * On some processors the hardware can write down each branch that it takes. A
 * buffer that it fills over and over again costs no instruction, and when
 * something has gone wrong it holds the way that led there: not what is left of
 * it on the stack, but each jump, call and return of the last microseconds.
 *
 * A few thousand branches are made in no time. So whatever finds that something is
 * wrong first freezes the recorder, on this CPU at once and on the others through
 * NMIs, and prints later. The first crash freezes it until somebody thaws it by
 * hand, or until hw_branches_thaw_after seconds have passed.
 *
 * The hardware is the architecture's business: see <linux/hw_branches.h>.
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

/* Changes under the mutex: */
bool hw_branches_on __read_mostly;
static cpumask_t hw_branches_mask = CPU_MASK_ALL;
static cpumask_t hw_branches_recording;

/* How many branches of a CPU are printed where not all are. */
u64 hw_branches_nr __read_mostly = 32;

/* How many lines a crash prints of a CPU, and whether it prints all CPUs. */
u64 hw_branches_crash_nr __read_mostly = 32;
bool hw_branches_crash_all __read_mostly;

/* After so many seconds the recorder thaws what a crash has frozen; never if 0. */
u64 hw_branches_thaw_after __read_mostly;

/* Root or a trigger wants what is frozen kept. */
static bool hw_branches_keeping;

/* So many want it for the moment: sysrq, a trigger, a watchpoint, the debugger. */
static atomic_t hw_branches_lookers;

/* The first crash since the last thaw, if @cpu is not -1: it is kept, too. */
static struct hw_branches_crash hw_branches_first = { .cpu = -1, };

/* How many crashes were the first after a thaw */
static atomic_t hw_branches_crashes;

/* The last of these, by number, for which the branches of this CPU were printed */
static DEFINE_PER_CPU(unsigned int, hw_branches_printed);

/* Print a line for each record. */
bool hw_branches_plain __read_mostly;

/* Deeper ones are printed as deep as this. */
#define HW_BRANCHES_INDENT	16

/**
 * hw_branches_print - print a line of branches
 * @print: how
 * @m: its first argument
 * @cpu: whose they are
 * @depth: how deep the code was called, at most HW_BRANCHES_INDENT is shown
 * @line: the line
 *
 * Any context: addresses are looked up, never followed.
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

/* Inlined, so that the call is not recorded. */
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

/* Hard: on PREEMPT_RT the thread of the others may be what crashed. */
static struct irq_work hw_branches_late = IRQ_WORK_INIT_HARD(hw_branches_late_irq);

/* Is this crash the first since the last thaw? Inlined, as hw_branches_freeze_all(). */
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
 * hw_branches_crash_freeze - hw_branches_crash(), when the recorder is on
 * @ip: the instruction that crashed, 0 if nobody knows
 *
 * A later crash finds this CPU frozen, unless the NMI has not got through; if the
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
	/* With interrupts off, hw_branches_enable() waits for this. */
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
 * hw_branches_first_crash - tell what froze the recorder
 *
 * Return: the first crash since the last thaw.
 */
const struct hw_branches_crash *hw_branches_first_crash(void)
{
	return &hw_branches_first;
}

/**
 * hw_branches_claim_print - decide whether to print the branches of a CPU in a crash
 * @cpu: which
 *
 * Any context. Each CPU is printed once. If the printing crashes, that crash does
 * not print it again. A thaw resets nothing here: a crash that races with the thaw marks
 * the CPU for the crash before, and the next first crash has another number.
 *
 * Return: true if the caller is to print them.
 */
bool hw_branches_claim_print(int cpu)
{
	unsigned int crash = atomic_read(&hw_branches_crashes);

	return xchg(per_cpu_ptr(&hw_branches_printed, cpu), crash) != crash;
}

static void hw_branches_thaw_work(struct work_struct *work);
static DECLARE_WORK(hw_branches_work, hw_branches_thaw_work);

/* Thaw all freezes until now, unless somebody keeps what is frozen. */
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
 * The work is not bound to a CPU: a worker that has crashed counts as running, and the
 * others of its CPU would wait for it.
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
 * hw_branches_look - freeze for a look
 *
 * Any context. The caller calls hw_branches_show() or hw_branches_looked() later.
 */
void notrace hw_branches_look(void)
{
	atomic_inc(&hw_branches_lookers);
	hw_branches_freeze_all();
}

NOKPROBE_SYMBOL(hw_branches_look);

/**
 * hw_branches_looked - go on recording after a look, unless somebody else looks
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
 * hw_branches_show - show all CPUs after hw_branches_look()
 * @show: is called when they have stopped, unless the recorder is off now
 *
 * May sleep. Gives up on CPUs that have not stopped within 100 ms.
 */
void hw_branches_show(void (*show)(void))
{
	int tries = 100;

	while (!hw_branches_all_frozen() && tries--)
		usleep_range(1000, 2000);

	/* The recorder stays on meanwhile. */
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
 * The next crash is the first, and stays frozen: either it finds -1 below, or it has frozen
 * the CPUs before and looks again, see hw_branches_crash_freeze().
 */
static void hw_branches_thaw(void)
{
	lockdep_assert_held(&hw_branches_mutex);

	WRITE_ONCE(hw_branches_keeping, false);
	/* Before the number of freezes is read: pairs with hw_branches_crash_freeze(). */
	smp_store_mb(hw_branches_first.cpu, -1);
	hw_branches_thaw_unkept();
}

/* Has the time passed after which the first crash is thawed? */
static bool hw_branches_is_due(void)
{
	unsigned long at = READ_ONCE(hw_branches_first.thaw_at);

	return READ_ONCE(hw_branches_first.cpu) >= 0 && at && time_after_eq(jiffies, at);
}

/*
 * This may wait for the mutex while root or a trigger keeps the recorder frozen, or while
 * root thaws it and the next crash follows.
 */
static void hw_branches_thaw_late_work(struct work_struct *work)
{
	guard(mutex)(&hw_branches_mutex);

	if (hw_branches_on && !READ_ONCE(hw_branches_keeping) && hw_branches_is_due() &&
	    !panic_in_progress())
		hw_branches_thaw();
}

#ifdef CONFIG_KGDB
/* So often has this CPU entered the debugger and not left it yet. */
static DEFINE_PER_CPU(unsigned int, hw_branches_debugged);

/**
 * hw_branches_debugger_enter - freeze while the kernel is looked at
 *
 * Called with interrupts off, on the CPU that stops the others. A breakpoint in what
 * this function calls enters the debugger again.
 */
void notrace hw_branches_debugger_enter(void)
{
	if (this_cpu_inc_return(hw_branches_debugged) == 1)
		hw_branches_look();
}

NOKPROBE_SYMBOL(hw_branches_debugger_enter);

/**
 * hw_branches_debugger_leave - go on recording, unless somebody keeps what is frozen
 *
 * Called as hw_branches_debugger_enter(), as often.
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

/* Have the CPUs in @want, and no others, record. */
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
	/* All or nothing. */
	if (!err)
		cpumask_andnot(cpus, &hw_branches_recording, want);
	hw_branches_stop(cpus);
	free_cpumask_var(cpus);

	return err;
}

/**
 * hw_branches_parse_source - understand what is to record
 * @word: 0, 1, auto, or the name of a source
 * @source: what it means, for hw_branches_enable()
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

/* Have a source record. For HW_BRANCHES_AUTO, the first one that can. */
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

/* Is this what is on? */
static bool hw_branches_is_source(int source)
{
	if (!hw_branches_on || source < 0)
		return hw_branches_on == (source != HW_BRANCHES_OFF);

	return !strcmp(arch_hw_branches_name(source), arch_hw_branches_source());
}

/**
 * hw_branches_enable - switch the recorder on or off
 * @source: what is to record: as hw_branches_parse_source() tells
 *
 * Off, nothing is left of what was recorded.
 *
 * Return: 0; the architecture's error: -EOPNOTSUPP without the hardware, -EBUSY
 * where somebody else has it, or if another source is on; -ENOMEM.
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
 * @cpus: these; at least one must be possible
 *
 * Return: 0, -EINVAL, or as hw_branches_enable().
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
 * hw_branches_cpus - tell which CPUs were chosen
 *
 * Return: the mask, which may change at any time.
 */
const struct cpumask *hw_branches_cpus(void)
{
	return &hw_branches_mask;
}

/**
 * hw_branches_freeze - freeze until further notice, or go on
 * @freeze: which
 *
 * Return: 0, or -ENXIO if the recorder is off.
 */
int hw_branches_freeze(bool freeze)
{
	guard(mutex)(&hw_branches_mutex);

	if (!hw_branches_on)
		return -ENXIO;

	/* A freeze or a thaw by root cancels the thaw after a time. */
	cancel_delayed_work(&hw_branches_late_work);
	if (freeze)
		hw_branches_keep();
	else
		hw_branches_thaw();

	return 0;
}

/**
 * hw_branches_copy - copy the last branches of a CPU, the newest first
 * @cpu: which
 * @out: where to
 * @n: how many at most
 *
 * May sleep. The recorder goes on if it is not frozen.
 *
 * Return: how many there were.
 */
int hw_branches_copy(int cpu, struct hw_branch *out, u32 n)
{
	guard(mutex)(&hw_branches_mutex);

	return hw_branches_on ? arch_hw_branches_copy(cpu, out, n) : 0;
}

/*
 * From early on
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

/* hw_branches[=[SOURCE][,][CPUS]]: no list of CPUs begins like the name of a source. */
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

/* As soon as the architecture's hardware is found. */
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
