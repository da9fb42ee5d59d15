// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder, printed: when the kernel dies, or when somebody
 * at the keyboard asks
 *
 * In a crash nothing can be relied upon. So there is no lock here, no memory is
 * allocated, and the other CPUs are waited for no longer than HW_BRANCHES_PATIENCE,
 * all together. Of a CPU that has not stopped by then only that is printed.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/nmi.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/sysrq.h>

#include "trace_hw_branches.h"

/* No instruction is longer. */
#define HW_BRANCHES_INSTRUCTION	16

/* A call may arrive in what stands before a function, to count its depth. */
#define HW_BRANCHES_PADDING	(IS_ENABLED(CONFIG_CALL_PADDING) ? 64 : 0)

/* The thaw count when the last crash was printed. */
static unsigned long hw_branches_printed = -1UL;

static DEFINE_RATELIMIT_STATE(hw_branches_ratelimit, DEFAULT_RATELIMIT_INTERVAL,
			      DEFAULT_RATELIMIT_BURST);

static bool hw_branches_is_top(const struct hw_branch *branch, struct hw_branches_top top)
{
	if (top.to)
		return top.to - branch->to <= HW_BRANCHES_PADDING;

	if (!arch_hw_branches_is_entry(branch->to))
		return false;

	if (top.any)
		return !arch_hw_branches_is_entry(branch->from);

	/* A trap reports the next instruction, the branch may be from its own. */
	return branch->from != HW_BRANCH_USER &&
	       top.from - branch->from <= HW_BRANCHES_INSTRUCTION;
}

/**
 * hw_branches_since - find the newest branch that is worth printing
 * @cpu: of which CPU, frozen or held
 * @top: what that looks like
 *
 * From a fault to the freeze some branches are made, and some on the way to it
 * in the NMI handlers of the other CPUs.
 *
 * Return: how many are newer; -1 if it is not there.
 */
int hw_branches_since(int cpu, struct hw_branches_top top)
{
	struct hw_branch branch[HW_BRANCHES_CHUNK];
	struct hw_branches_place place = { };
	u32 at = 0, i, n;

	do {
		n = arch_hw_branches_last(cpu, &place, at, branch, ARRAY_SIZE(branch));
		for (i = 0; i < n; i++) {
			if (hw_branches_is_top(&branch[i], top))
				return at + i;
		}
		at += n;
	} while (n == ARRAY_SIZE(branch));

	return -1;
}

/* Print what @cpu did until @since branches before it stopped. */
static void hw_branches_print_cpu(hw_branches_printf print, int cpu, int since)
{
	u32 newer = max(since, 0), todo = READ_ONCE(hw_branches_nr), i, n;
	struct hw_branch branch[HW_BRANCHES_CHUNK];
	struct hw_branches_place place = { };
	bool first = true;

	do {
		n = arch_hw_branches_last(cpu, &place, newer, branch,
					  min(todo, ARRAY_SIZE(branch)));
		if (n && first)
			print(NULL, "Last branches of CPU %d, newest first, %u more since then:\n",
			      cpu, newer);
		first = false;
		for (i = 0; i < n; i++)
			hw_branches_print(print, NULL, &branch[i]);
		newer += n;
		todo -= n;
	} while (n && todo);
}

/* Find the call of panic(), or of one of the two that do without it. */
static int hw_branches_since_panic(int cpu)
{
	const unsigned long calls[] = {
		(unsigned long)panic,
		(unsigned long)nmi_panic,
		(unsigned long)vpanic,
	};
	int i, since = -1;

	for (i = 0; since < 0 && i < ARRAY_SIZE(calls); i++)
		since = hw_branches_since(cpu, (struct hw_branches_top){ .to = calls[i] });

	return since;
}

/**
 * hw_branches_since_stop - find what a CPU did when it was stopped
 * @cpu: which, frozen
 *
 * Return: as hw_branches_since().
 */
int hw_branches_since_stop(int cpu)
{
	const struct hw_branches_top any = { .any = true };
	int since = -1;

	/* No NMI did it, then. */
	if (hw_branches_crashing(cpu))
		since = hw_branches_since_panic(cpu);

	return since < 0 ? hw_branches_since(cpu, any) : since;
}

/*
 * An NMI takes its time to a CPU that sleeps deeply, or to a virtual one that has no
 * turn; and what has been printed meanwhile may have gone no further than memory.
 */
#define HW_BRANCHES_PATIENCE	1000	/* us, for all CPUs */

static void hw_branches_print_others(hw_branches_printf print, int self)
{
	int cpu, left = HW_BRANCHES_PATIENCE;
	bool records;

	for_each_possible_cpu(cpu) {
		if (cpu == self)
			continue;
		records = cpu_online(cpu) && cpumask_test_cpu(cpu, hw_branches_cpus());
		while (records && !arch_hw_branches_frozen(cpu) && left-- > 0)
			udelay(1);
		if (arch_hw_branches_frozen(cpu))
			hw_branches_print_cpu(print, cpu, hw_branches_since_stop(cpu));
		else if (records)
			print(NULL, "CPU %d did not stop recording branches\n", cpu);
		touch_nmi_watchdog();
	}
}

static __printf(2, 3)
void hw_branches_log(struct seq_file *unused, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintk(fmt, args);
	va_end(args);
}

/* Is what the other CPUs have done known from the last crash? */
static bool hw_branches_print_again(void)
{
	unsigned long thawed = hw_branches_thawed();

	return xchg(&hw_branches_printed, thawed) != thawed;
}

/**
 * hw_branches_dump - print the last branches of all CPUs that stopped
 * @cpu: this one's first
 * @since: but not its newest, so many
 */
void hw_branches_dump(int cpu, int since)
{
	hw_branches_print_cpu(hw_branches_log, cpu, since);
	hw_branches_print_others(hw_branches_log, cpu);
}

/*
 * The last words
 */

static void hw_branches_print_oops(struct pt_regs *regs)
{
	struct hw_branches_top fault = { .from = instruction_pointer(regs) };
	int self = smp_processor_id(), cpu = hw_branches_doomed_cpu(), since;

	if (!__ratelimit(&hw_branches_ratelimit))
		return;

	if (cpu < 0)
		cpu = self;
	since = hw_branches_since(cpu, fault);
	if (since < 0 && (hw_branches_crashing(self) > 1 || user_mode(regs))) {
		/* It crashed again, and the first time was recorded; or in user mode. */
		fault.any = true;
		since = hw_branches_since(cpu, fault);
	} else if (since < 0) {
		hw_branches_log(NULL, "CPU %d has not recorded its crash, or lost it since\n",
				cpu);
	}
	hw_branches_print_cpu(hw_branches_log, cpu, since);
	if (hw_branches_print_again())
		hw_branches_print_others(hw_branches_log, cpu);
}

#ifdef CONFIG_GENERIC_BUG
/**
 * hw_branches_find_bug - find out what a trap is about, and leave no trace of that
 * @bugaddr: where it happened
 *
 * The search alone may make more branches than there is room for, and where the
 * BUG() is gets printed before oops_begin(). So this holds the recording during the
 * search, and freezes here if it is a BUG(). Any context. Lockdep is off meanwhile:
 * a warning of its own would come here again.
 *
 * Return: as find_bug().
 */
struct bug_entry *hw_branches_find_bug(unsigned long bugaddr)
{
	struct bug_entry *bug;
	unsigned long flags;
	bool held;

	if (!READ_ONCE(hw_branches_on))
		return find_bug(bugaddr);

	raw_local_irq_save(flags);
	lockdep_off();
	held = arch_hw_branches_hold();
	bug = find_bug(bugaddr);
	/* Still: whoever switches it off waits for those with interrupts off. */
	if (bug && !(bug->flags & BUGFLAG_WARNING) && READ_ONCE(hw_branches_on))
		hw_branches_bug();
	arch_hw_branches_release(held);
	lockdep_on();
	raw_local_irq_restore(flags);

	return bug;
}
#endif

/**
 * hw_branches_crash_survived - hw_branches_survived(), when the recorder is on
 */
void hw_branches_crash_survived(void)
{
	/* With init's last thread the kernel dies, too, unless it was about to exit. */
	if (is_global_init(current) && !(current->flags & PF_EXITING) &&
	    atomic_read(&current->signal->live) == 1)
		return;

	hw_branches_crash_over();
}

static int hw_branches_die(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_OOPS || !hw_branches_crashing(smp_processor_id()))
		return NOTIFY_DONE;

	hw_branches_print_oops(args->regs);
	hw_branches_keep_dying();

	return NOTIFY_DONE;
}

/* The CPU that called panic(): with panic_force_cpu= another one carries it out. */
static int hw_branches_panic_cpu(void)
{
	int cpu = atomic_read(&panic_redirect_cpu);

	return cpu == PANIC_CPU_INVALID ? smp_processor_id() : cpu;
}

static int hw_branches_panic(struct notifier_block *self, unsigned long event, void *data)
{
	int cpu = hw_branches_panic_cpu();

	if (hw_branches_crashing(cpu) && hw_branches_print_again())
		hw_branches_dump(cpu, hw_branches_since_panic(cpu));

	return NOTIFY_DONE;
}

/* Before anybody who stops the others from being told. */
static struct notifier_block hw_branches_die_notifier = {
	.notifier_call	= hw_branches_die,
	.priority	= INT_MAX,
};

static struct notifier_block hw_branches_panic_notifier = {
	.notifier_call	= hw_branches_panic,
	.priority	= INT_MAX,
};

/*
 * On demand
 */

static void hw_branches_sysrq(u8 key)
{
	static unsigned long busy;
	int cpu;

	if (!READ_ONCE(hw_branches_on)) {
		pr_info("off: write 1 to hw_branches/enable in tracefs first\n");
		return;
	}

	/* The first to be done would have the other's go on recording. */
	if (test_and_set_bit_lock(0, &busy)) {
		pr_info("somebody else has them shown just now\n");
		return;
	}

	cpu = get_cpu();
	hw_branches_look(HW_BRANCHES_SYSRQ);
	put_cpu();
	hw_branches_dump(cpu, 0);
	hw_branches_looked(HW_BRANCHES_SYSRQ);
	clear_bit_unlock(0, &busy);
}

static const struct sysrq_key_op hw_branches_sysrq_op = {
	.handler	= hw_branches_sysrq,
	.help_msg	= "last-Branches(B)",
	.action_msg	= "Show the last branches of all CPUs",
	.enable_mask	= SYSRQ_ENABLE_DUMP,
};

static int __init hw_branches_dump_init(void)
{
	int err;

	err = register_die_notifier(&hw_branches_die_notifier);
	if (!err)
		err = atomic_notifier_chain_register(&panic_notifier_list,
						     &hw_branches_panic_notifier);
	if (!err && IS_ENABLED(CONFIG_MAGIC_SYSRQ))
		err = register_sysrq_key('B', &hw_branches_sysrq_op);
	if (err)
		pr_warn("cannot print in a crash: error %d\n", err);

	return err;
}

/* Before the boot parameter can switch it on. */
postcore_initcall(hw_branches_dump_init);
