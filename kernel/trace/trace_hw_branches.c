// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder
 *
 * On some processors the hardware can write down each branch that it takes. A
 * buffer that it fills over and over again costs no instruction, and when
 * something has gone wrong it holds the way that led there: not what is left of
 * it on the stack, but each jump, call and return of the last microseconds.
 *
 * A few thousand branches are made in no time. So whoever has found out that
 * something is wrong first freezes the recorder, on this CPU at once and on the
 * others through NMIs, and only then begins to think. It thaws when nobody needs
 * the evidence any more: when all tasks that crashed are on their way to exit, the
 * kernel has not died of it, and nobody has asked to keep it.
 *
 * The hardware is the architecture's business: see <linux/hw_branches.h>.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "trace_hw_branches.h"

static DEFINE_MUTEX(hw_branches_mutex);

/* Changes under the mutex: */
bool hw_branches_on __read_mostly;
static cpumask_t hw_branches_mask = CPU_MASK_ALL;
static cpumask_t hw_branches_recording;

/* How many branches of a CPU are printed where not all are. */
u64 hw_branches_nr __read_mostly = 32;

/* Somebody looks at what was frozen, and will say when he is done. */
static bool hw_branches_keeping;

/* Who has frozen for a short look, and not had it yet. */
static unsigned long hw_branches_looking;

/* So often has this CPU entered the debugger and not left it yet. */
static DEFINE_PER_CPU(unsigned int, hw_branches_debugged);

/* Counts thaws: what was printed since the last one has not changed. */
static unsigned long hw_branches_thaws;

/* So often has this CPU crashed and not yet printed why. */
static DEFINE_PER_CPU(unsigned int, hw_branches_crashed);

/* Who has found a BUG() on this CPU and is on the way to his oops, if anybody. */
static DEFINE_PER_CPU(struct task_struct *, hw_branches_doomed);

/* Who has printed his crash, which may be the kernel's end yet: in no order. */
static DEFINE_PER_CPU(struct task_struct *, hw_branches_dying);

/**
 * hw_branches_print - print a branch on a line, behind a space
 * @print: how
 * @m: its first argument
 * @branch: the branch
 *
 * Any context: addresses are looked up, never followed.
 */
void hw_branches_print(hw_branches_printf print, struct seq_file *m,
		       const struct hw_branch *branch)
{
	void *from = (void *)(unsigned long)branch->from;
	void *to = (void *)(unsigned long)branch->to;

	if (!from && !to)
		print(m, " -- some are missing here --\n");
	else if (branch->from == HW_BRANCH_USER)
		print(m, " %pS <- user mode\n", to);
	else
		print(m, " %pS <- %pS\n", to, from);
}

/*
 * Freeze and thaw
 */

/* Inlined, so that the call is not recorded. */
static __always_inline void hw_branches_freeze_all(void)
{
	/* Pairs with hw_branches_thaw_work(): why has been said before. */
	smp_wmb();
	arch_hw_branches_freeze();
}

static notrace bool hw_branches_is_dying(const struct task_struct *task)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (READ_ONCE(per_cpu(hw_branches_dying, cpu)) == task)
			return true;
	}

	return false;
}

NOKPROBE_SYMBOL(hw_branches_is_dying);

/**
 * hw_branches_crash_freeze - hw_branches_crash(), when the recorder is on
 */
void notrace hw_branches_crash_freeze(void)
{
	unsigned long flags;
	bool freeze = false;

	raw_local_irq_save(flags);
	/* Has it crashed before, the freeze itself may be to blame. */
	if (!arch_hw_branches_frozen(raw_smp_processor_id()) ||
	    (!this_cpu_read(hw_branches_crashed) && !hw_branches_is_dying(current)))
		freeze = true;
	this_cpu_inc(hw_branches_crashed);
	if (freeze)
		hw_branches_freeze_all();
	raw_local_irq_restore(flags);
}

NOKPROBE_SYMBOL(hw_branches_crash_freeze);

/**
 * hw_branches_crashing - tell how often a CPU has crashed and not printed why
 * @cpu: which
 *
 * Return: the number.
 */
unsigned int hw_branches_crashing(int cpu)
{
	return READ_ONCE(per_cpu(hw_branches_crashed, cpu));
}

/* Is some crash not over yet? */
static bool hw_branches_any_crash(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (READ_ONCE(per_cpu(hw_branches_doomed, cpu)) || hw_branches_crashing(cpu))
			return true;
	}

	/* Pairs with hw_branches_keep_dying(). */
	smp_rmb();
	for_each_possible_cpu(cpu) {
		if (READ_ONCE(per_cpu(hw_branches_dying, cpu)))
			return true;
	}

	return false;
}

static bool hw_branches_any_debugged(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (READ_ONCE(per_cpu(hw_branches_debugged, cpu)))
			return true;
	}

	return false;
}

/**
 * hw_branches_thawed - tell how often recording went on after a freeze
 *
 * Return: the number.
 */
unsigned long hw_branches_thawed(void)
{
	return READ_ONCE(hw_branches_thaws);
}

static void hw_branches_do_thaw(u32 freezes)
{
	lockdep_assert_held(&hw_branches_mutex);

	WRITE_ONCE(hw_branches_thaws, hw_branches_thaws + 1);
	arch_hw_branches_thaw(freezes);
}

static void hw_branches_thaw_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(hw_branches_work, hw_branches_thaw_work);

/* Not by the workers of a CPU: who crashed may be one, and counts as at work. */
static void hw_branches_queue_thaw(unsigned long delay)
{
	queue_delayed_work(system_dfl_wq, &hw_branches_work, delay);
}

/* Also when the recorder is off: a freeze may come too late to see it go off. */
static void hw_branches_thaw_work(struct work_struct *work)
{
	u32 freezes = arch_hw_branches_freezes();

	guard(mutex)(&hw_branches_mutex);

	/* Pairs with hw_branches_freeze_all(): what is counted has said why. */
	smp_rmb();
	/* A CPU in hw_branches_debug_over() queues this before it counts down. */
	if (hw_branches_any_debugged())
		hw_branches_queue_thaw(1);
	else if (!hw_branches_kept() && !hw_branches_any_crash() &&
		 !READ_ONCE(hw_branches_looking) && !panic_in_progress())
		hw_branches_do_thaw(freezes);
}

static void hw_branches_thaw_irq(struct irq_work *work)
{
	hw_branches_queue_thaw(0);
}

/* Hard: on PREEMPT_RT it may be the thread of the others that crashed. */
static struct irq_work hw_branches_irq_work = IRQ_WORK_INIT_HARD(hw_branches_thaw_irq);

/*
 * What was frozen has been looked at. Any context. Recording goes on unless
 * somebody else is not done yet.
 */
static void hw_branches_thaw_soon(void)
{
	irq_work_queue(&hw_branches_irq_work);
}

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
 * @who: looks, and will call hw_branches_show() or hw_branches_looked()
 *
 * Any context.
 */
void hw_branches_look(enum hw_branches_looker who)
{
	set_bit(who, &hw_branches_looking);
	hw_branches_freeze_all();
}

/**
 * hw_branches_looked - go on recording after a look
 * @who: looked
 *
 * Any context.
 */
void hw_branches_looked(enum hw_branches_looker who)
{
	clear_bit(who, &hw_branches_looking);
	hw_branches_thaw_soon();
}

/**
 * hw_branches_debug - freeze until this CPU has left the debugger
 *
 * Called with interrupts off. A breakpoint in what is called here enters it again.
 */
void notrace hw_branches_debug(void)
{
	if (this_cpu_inc_return(hw_branches_debugged) == 1 && READ_ONCE(hw_branches_on))
		hw_branches_freeze_all();
}

NOKPROBE_SYMBOL(hw_branches_debug);

/**
 * hw_branches_debug_over - this CPU has left the debugger
 *
 * Called as hw_branches_debug(), as often.
 */
void notrace hw_branches_debug_over(void)
{
	/* The irq_work of this runs when interrupts are on, after the count. */
	if (this_cpu_read(hw_branches_debugged) == 1 && READ_ONCE(hw_branches_on))
		hw_branches_thaw_soon();
	this_cpu_dec(hw_branches_debugged);
}

NOKPROBE_SYMBOL(hw_branches_debug_over);

/**
 * hw_branches_show - show all CPUs after hw_branches_look()
 * @who: looked
 * @show: is called when they have stopped, unless the recorder is off now
 *
 * May sleep. Gives up on CPUs that have not stopped within 100 ms.
 */
void hw_branches_show(enum hw_branches_looker who, void (*show)(void))
{
	int tries = 100;

	while (!hw_branches_all_frozen() && tries--)
		usleep_range(1000, 2000);

	/* Nobody is to switch it off meanwhile. */
	scoped_guard(mutex, &hw_branches_mutex) {
		if (hw_branches_on)
			show();
	}
	hw_branches_looked(who);
}

/**
 * hw_branches_bug - this CPU has come to a BUG(), which will be its oops
 *
 * Called with interrupts off, or in an NMI.
 */
void hw_branches_bug(void)
{
	/* A task that has met a BUG() on this CPU before stays there: its end thaws. */
	this_cpu_cmpxchg(hw_branches_doomed, NULL, current);
	hw_branches_freeze_all();
}

/**
 * hw_branches_keep_dying - this CPU, which crashed, has printed why
 *
 * Called with interrupts off. It may be the kernel's end yet: until current says
 * that it is not, by hw_branches_crash_over(), the evidence is kept. If more crash
 * at once than there are CPUs, it is kept as long as the first of them need it.
 */
void hw_branches_keep_dying(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (!cmpxchg(per_cpu_ptr(&hw_branches_dying, cpu), NULL, current))
			break;
	}
	/* Pairs with hw_branches_any_crash(). */
	smp_wmb();
	this_cpu_write(hw_branches_crashed, 0);
}

/**
 * hw_branches_doomed_cpu - tell on which CPU current came to a BUG()
 *
 * Since then it may have moved.
 *
 * Return: the CPU, or -1.
 */
int hw_branches_doomed_cpu(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (READ_ONCE(per_cpu(hw_branches_doomed, cpu)) == current)
			return cpu;
	}

	return -1;
}

/**
 * hw_branches_crash_over - the crash of current has not been the end
 *
 * What others have to print stays.
 */
void hw_branches_crash_over(void)
{
	int cpu;

	/* Not what somebody else has come to there meanwhile. */
	for_each_possible_cpu(cpu) {
		cmpxchg(per_cpu_ptr(&hw_branches_doomed, cpu), current, NULL);
		cmpxchg(per_cpu_ptr(&hw_branches_dying, cpu), current, NULL);
	}
	hw_branches_thaw_soon();
}

/**
 * hw_branches_keep - freeze until root says otherwise
 *
 * Any context.
 */
void hw_branches_keep(void)
{
	WRITE_ONCE(hw_branches_keeping, true);
	hw_branches_freeze_all();
}

/**
 * hw_branches_kept - tell whether hw_branches_keep() is in force
 *
 * Return: true if so.
 */
bool hw_branches_kept(void)
{
	return READ_ONCE(hw_branches_keeping);
}

/* Root says: whoever else might have wanted to print has had his time. */
static void hw_branches_let_go(void)
{
	int cpu;

	lockdep_assert_held(&hw_branches_mutex);

	WRITE_ONCE(hw_branches_keeping, false);
	for_each_possible_cpu(cpu) {
		WRITE_ONCE(per_cpu(hw_branches_crashed, cpu), 0);
		WRITE_ONCE(per_cpu(hw_branches_doomed, cpu), NULL);
		WRITE_ONCE(per_cpu(hw_branches_dying, cpu), NULL);
	}
	hw_branches_do_thaw(arch_hw_branches_freezes());
}

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
 * hw_branches_enable - switch the recorder on or off
 * @on: which
 *
 * Off, nothing is left of what was recorded.
 *
 * Return: 0; the architecture's error: -EOPNOTSUPP without the hardware, -EBUSY
 * where somebody else has it; -ENOMEM.
 */
int hw_branches_enable(bool on)
{
	int err = 0;

	guard(mutex)(&hw_branches_mutex);

	if (on == hw_branches_on)
		return 0;

	if (on) {
		err = hw_branches_record(&hw_branches_mask);
		if (!err)
			WRITE_ONCE(hw_branches_on, true);
	} else {
		WRITE_ONCE(hw_branches_on, false);
		/* Who still saw it on may be about to keep. */
		synchronize_rcu();
		/* What is frozen could not be wiped. */
		hw_branches_let_go();
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

	if (freeze)
		hw_branches_keep();
	else
		hw_branches_let_go();

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

static bool hw_branches_early __initdata;

static int __init hw_branches_setup(char *str)
{
	cpumask_var_t cpus;

	if (*str && *str++ != '=')
		return 0;

	hw_branches_early = true;
	if (!*str)
		return 1;

	alloc_bootmem_cpumask_var(&cpus);
	if (cpulist_parse(str, cpus) || cpumask_empty(cpus)) {
		pr_warn("%s is no list of CPUs, recording is off\n", str);
		hw_branches_early = false;
	} else {
		cpumask_copy(&hw_branches_mask, cpus);
	}
	free_bootmem_cpumask_var(cpus);

	return 1;
}
__setup("hw_branches", hw_branches_setup);

/* As soon as the architecture's hardware is found. */
static int __init hw_branches_boot(void)
{
	int err;

	if (!hw_branches_early)
		return 0;

	err = hw_branches_enable(true);
	if (err)
		pr_warn("cannot record: error %d\n", err);

	return 0;
}
subsys_initcall(hw_branches_boot);
