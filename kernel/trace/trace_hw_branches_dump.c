// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder, printed: when the kernel dies, or when somebody
 * at the keyboard asks
 *
 * In a crash nothing can be relied upon. So these functions take no lock and allocate no
 * memory, and wait for the other CPUs no longer than HW_BRANCHES_PATIENCE, all together.
 * For a CPU that has not stopped by then, one line says so.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <linux/bug.h>
#include <linux/context_tracking.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/nmi.h>
#include <linux/notifier.h>
#include <linux/panic.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/sprintf.h>
#include <linux/sysrq.h>

#include <trace/events/error_report.h>

#include "trace_hw_branches.h"

/* No instruction is longer. */
#define HW_BRANCHES_INSTRUCTION	16

/* A call may arrive in what stands before a function, to count its depth. */
#define HW_BRANCHES_PADDING	(IS_ENABLED(CONFIG_CALL_PADDING) ? 64 : 0)

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

/*
 * The head of what is printed of @cpu. The time is relative to the CPU that crashed first,
 * which freezes before it sends the NMIs.
 */
static void hw_branches_print_head(hw_branches_printf print, int cpu, u32 newer, u32 records)
{
	int first = READ_ONCE(hw_branches_first_crash()->cpu);
	u64 at = arch_hw_branches_frozen_at(cpu);
	char when[48] = "";
	u64 first_at;

	if (first >= 0 && first != cpu && at) {
		first_at = arch_hw_branches_frozen_at(first);
		if (first_at)
			snprintf(when, sizeof(when), ", frozen %lld us after CPU %d",
				 div_s64(at - first_at, NSEC_PER_USEC), first);
	}
	print(NULL,
	      "Last branches of CPU %d, newest first, %u more since then, %u follow, source %s%s:\n",
	      cpu, newer, records, arch_hw_branches_source(), when);
}

/**
 * struct hw_branches_look - where a CPU's branches are read
 * @cpu:	which
 * @place:	where, for the lines, and to find calls farther back
 */
struct hw_branches_look {
	int				cpu;
	struct hw_branches_place	place[2];
};

static bool hw_branches_get(void *data, u32 nr, struct hw_branch *branch)
{
	struct hw_branches_look *look = data;
	u32 ahead = nr - look->place[0].newer;

	/* The one that has not far to go. */
	return nr < arch_hw_branches_depth() &&
	       arch_hw_branches_last(look->cpu, &look->place[ahead > 2], nr, branch, 1);
}

/* To find the depth of 10000 lines takes long, and interrupts may be off. */
static void hw_branches_still_here(void *unused)
{
	touch_nmi_watchdog();
}

static const struct hw_branches_reader hw_branches_reader = {
	.get		= hw_branches_get,
	.kind		= hw_branches_kind_of_branch,
	.is_thunk	= hw_branches_thunk,
	.is_return	= hw_branches_return,
	.progress	= hw_branches_still_here,
};

/**
 * struct hw_branches_folds - the walks of a CPU that prints
 * @task:	the task that prints, or that is interrupted by what prints
 * @start:	when it was started: another task may have been allocated in its place
 * @used:	how many of @fold are in use
 * @fold:	one to print, and one for a crash or an interrupt meanwhile
 */
struct hw_branches_folds {
	struct task_struct	*task;
	u64			start;
	unsigned int		used;
	struct hw_branches_fold	fold[2];
};

static DEFINE_PER_CPU(struct hw_branches_folds, hw_branches_folds);

/* Called with preemption off, which stays off until hw_branches_put_fold(). */
static struct hw_branches_fold *hw_branches_get_fold(void)
{
	struct hw_branches_folds *folds = this_cpu_ptr(&hw_branches_folds);
	unsigned int used;

	/* A task that was killed while it printed did not call hw_branches_put_fold(). */
	if (folds->task != current || folds->start != current->start_boottime) {
		folds->task = current;
		folds->start = current->start_boottime;
		folds->used = 0;
	}
	used = folds->used++;

	return used < ARRAY_SIZE(folds->fold) ? &folds->fold[used] : NULL;
}

static void hw_branches_put_fold(void)
{
	this_cpu_ptr(&hw_branches_folds)->used--;
}

/**
 * hw_branches_dump_cpu - print the last branches of a CPU
 * @print: how
 * @cpu: which, frozen
 * @since: but not its newest, so many
 * @nr: so many lines
 */
void hw_branches_dump_cpu(hw_branches_printf print, int cpu, int since, u32 nr)
{
	struct hw_branches_look look = { .cpu = cpu, };
	u32 newer = max(since, 0), lines = nr, records;
	struct hw_branches_fold *fold;
	struct hw_branches_line line;
	struct hw_branch branch;
	int base;

	guard(preempt)();
	fold = hw_branches_get_fold();
	if (fold && hw_branches_get(&look, newer, &branch)) {
		hw_branches_fold_begin(fold, newer, READ_ONCE(hw_branches_plain),
				       &hw_branches_reader, &look);
		base = hw_branches_fold_base(fold, nr, &records);
		hw_branches_print_head(print, cpu, newer, records);
		while (lines-- && hw_branches_fold_next(fold, &line)) {
			hw_branches_print(print, NULL, cpu, line.depth - base, &line);
			touch_nmi_watchdog();
		}
	}
	hw_branches_put_fold();
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
 * A CPU that called panic() itself was not stopped by an NMI.
 *
 * Return: as hw_branches_since().
 */
int hw_branches_since_stop(int cpu)
{
	const struct hw_branches_top any = { .any = true };
	int since = hw_branches_since_panic(cpu);

	return since < 0 ? hw_branches_since(cpu, any) : since;
}

/*
 * An NMI takes its time to a CPU that sleeps deeply, or to a virtual one that has no
 * turn; and what has been printed meanwhile may have gone no further than memory.
 */
#define HW_BRANCHES_PATIENCE	1000	/* us, for all CPUs */

/* May the branches of this CPU be printed? If not, say why. */
static bool hw_branches_await(hw_branches_printf print, int cpu, int *left)
{
	bool records = cpu_online(cpu) && cpumask_test_cpu(cpu, hw_branches_cpus());

	while (records && !arch_hw_branches_frozen(cpu) && (*left)-- > 0)
		udelay(1);
	if (arch_hw_branches_frozen(cpu))
		return true;
	if (records)
		print(NULL, "CPU %d did not stop recording branches\n", cpu);

	return false;
}

/*
 * A crash prints each CPU once. The caller may be preemptible, as sys_info() is in the
 * thread that looks for hung tasks: with preemption off, arch_hw_branches_stop() waits.
 */
static void hw_branches_print_others(hw_branches_printf print, int self, bool crash, u32 nr)
{
	int cpu, left = HW_BRANCHES_PATIENCE;

	for_each_possible_cpu(cpu) {
		guard(preempt)();
		if (cpu != self && hw_branches_await(print, cpu, &left) &&
		    (!crash || hw_branches_claim_print(cpu)))
			hw_branches_dump_cpu(print, cpu, hw_branches_since_stop(cpu), nr);
	}
}

/**
 * hw_branches_log - print to the log
 * @unused: for functions that print elsewhere
 * @fmt: as for printk()
 */
void hw_branches_log(struct seq_file *unused, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintk(fmt, args);
	va_end(args);
}

/**
 * hw_branches_dump - print the last branches of all CPUs that stopped
 * @print: how
 * @cpu: this one's first
 * @since: but not its newest, so many
 */
void hw_branches_dump(hw_branches_printf print, int cpu, int since)
{
	u32 nr = READ_ONCE(hw_branches_nr);

	hw_branches_dump_cpu(print, cpu, since, nr);
	hw_branches_print_others(print, cpu, false, nr);
}

/*
 * The last words
 */

/* @cpu has been claimed by hw_branches_claim_print(). */
static void hw_branches_print_crash(int cpu, int since)
{
	u32 nr = READ_ONCE(hw_branches_crash_nr);

	hw_branches_dump_cpu(hw_branches_log, cpu, since, nr);
	if (READ_ONCE(hw_branches_crash_all))
		hw_branches_print_others(hw_branches_log, cpu, true, nr);
}

/* On which CPU did current crash? Since the freeze it may have moved. */
static int hw_branches_crashed_on(void)
{
	const struct hw_branches_crash *crash = hw_branches_first_crash();
	int cpu = READ_ONCE(crash->cpu);

	return cpu >= 0 && crash->task == current ? cpu : smp_processor_id();
}

static void hw_branches_print_oops(struct pt_regs *regs)
{
	struct hw_branches_top fault = { .from = instruction_pointer(regs) };
	int cpu = hw_branches_crashed_on(), since;

	if (!hw_branches_claim_print(cpu)) {
		pr_info("frozen since an earlier crash: no branches of this one\n");
		return;
	}

	since = hw_branches_since(cpu, fault);
	if (since < 0 && (oops_in_progress > 1 || user_mode(regs))) {
		/* The first crash of two is the one recorded; or user mode crashed. */
		fault.any = true;
		since = hw_branches_since(cpu, fault);
	} else if (since < 0) {
		hw_branches_log(NULL, "CPU %d has not recorded its crash, or lost it since\n",
				cpu);
	}
	hw_branches_print_crash(cpu, since);
}

#ifdef CONFIG_GENERIC_BUG
/* Will this be a crash? A trap without an entry belongs to a checker. */
static bool hw_branches_bug_crashes(unsigned long ip, const struct bug_entry *bug)
{
	if (!bug)
		bug = find_bug(ip);
	if (!bug || !(bug->flags & BUGFLAG_WARNING))
		return true;

	return panic_on_warn && (bug->flags & (BUGFLAG_ONCE | BUGFLAG_DONE)) !=
				(BUGFLAG_ONCE | BUGFLAG_DONE);
}

/**
 * hw_branches_bug_freeze - hw_branches_bug(), when the recorder is on
 * @ip: the trap
 * @bug: its entry, or NULL
 *
 * The search alone may make more branches than there is room for, and the trap is
 * printed before oops_enter(). So this holds the recording during the search, and
 * freezes here if it is a crash. Lockdep is off meanwhile: a warning of its own
 * would come here again.
 */
void hw_branches_bug_freeze(unsigned long ip, const struct bug_entry *bug)
{
	bool held = arch_hw_branches_hold(), rcu;

	lockdep_off();
	rcu = warn_rcu_enter();
	if (hw_branches_bug_crashes(ip, bug))
		hw_branches_crash_freeze(ip);
	warn_rcu_exit(rcu);
	lockdep_on();
	arch_hw_branches_release(held);
}
#else
void hw_branches_bug_freeze(unsigned long ip, const struct bug_entry *bug)
{
}
#endif

static int hw_branches_die(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event == DIE_OOPS && READ_ONCE(hw_branches_on))
		hw_branches_print_oops(args->regs);

	return NOTIFY_DONE;
}

/* The CPU that called panic(): with panic_force_cpu= another one carries it out. */
static int hw_branches_panic_cpu(void)
{
	int cpu = atomic_read(&panic_redirect_cpu);

	return cpu == PANIC_CPU_INVALID ? smp_processor_id() : cpu;
}

/**
 * hw_branches_report_print - hw_branches_report(), when the recorder is on
 *
 * Before a crash kernel is started and before the other CPUs are shut down. An oops
 * that leads to panic() has printed the branches.
 */
void hw_branches_report_print(void)
{
	const struct hw_branches_crash *crash = hw_branches_first_crash();
	int cpu = hw_branches_panic_cpu(), since = -1;

	/* A task that calls panic() may have migrated since it froze the recorder. */
	if (READ_ONCE(crash->cpu) >= 0 && crash->task == current)
		cpu = crash->cpu;

	if (!hw_branches_claim_print(cpu))
		return;

	if (READ_ONCE(crash->cpu) == cpu && crash->ip)
		since = hw_branches_since(cpu, (struct hw_branches_top){ .from = crash->ip });
	hw_branches_print_crash(cpu, since < 0 ? hw_branches_since_stop(cpu) : since);
}

/**
 * hw_branches_sys_info - print the last branches of all CPUs that a crash has frozen
 *
 * For sys_info(): those that have not been printed.
 */
void hw_branches_sys_info(void)
{
	if (READ_ONCE(hw_branches_on) && hw_branches_first_crash()->cpu >= 0)
		hw_branches_print_others(hw_branches_log, -1, true,
					 READ_ONCE(hw_branches_crash_nr));
}

/*
 * KASAN or KFENCE has printed a report. If that froze the recorder, current is the task of
 * the first crash; the task may have migrated since.
 */
static void hw_branches_reported(void *unused, enum error_detector detector, unsigned long id)
{
	const struct hw_branches_crash *crash = hw_branches_first_crash();
	int cpu = READ_ONCE(crash->cpu);

	if (detector == ERROR_DETECTOR_WARN || !READ_ONCE(hw_branches_on))
		return;

	guard(preempt)();
	if (cpu >= 0 && crash->task == current && hw_branches_claim_print(cpu))
		hw_branches_print_crash(cpu, -1);
}

/* This notifier runs before any that returns NOTIFY_STOP. */
static struct notifier_block hw_branches_die_notifier = {
	.notifier_call	= hw_branches_die,
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

	/* Two at once would print their lines in between. */
	if (test_and_set_bit_lock(0, &busy)) {
		pr_info("somebody else has them shown just now\n");
		return;
	}

	cpu = get_cpu();
	hw_branches_look();
	put_cpu();
	hw_branches_dump(hw_branches_log, cpu, 0);
	hw_branches_looked();
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

	err = register_die_notifier(&hw_branches_die_notifier) ?:
	      register_trace_error_report_end(hw_branches_reported, NULL);
	if (!err && IS_ENABLED(CONFIG_MAGIC_SYSRQ))
		err = register_sysrq_key('B', &hw_branches_sysrq_op);
	if (err)
		pr_warn("cannot print in a crash: error %d\n", err);

	return err;
}

/* Before the boot parameter can switch it on. */
postcore_initcall(hw_branches_dump_init);
