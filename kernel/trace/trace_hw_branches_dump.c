// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: printing the branches of CPUs that are frozen
 *
 * After a crash, locks may be held and memory may be corrupt. So these functions take no lock and
 * allocate no memory. Before hw_branches_print_cpus() prints a CPU, it waits until this CPU is
 * frozen, HW_BRANCHES_MAX_WAIT_US at most for all CPUs together. If a CPU still records then, a
 * line says so instead.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/nmi.h>
#include <linux/panic.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/sprintf.h>
#include <linux/time64.h>

#include "trace_hw_branches.h"

/*
 * With the mitigation 'call depth tracking', a call goes to the padding before the function: at
 * most this number of bytes before the address of the function. An indirect call with FineIBT does
 * so, too.
 */
#define HW_BRANCHES_PADDING	(IS_ENABLED(CONFIG_CALL_PADDING) ? CONFIG_FUNCTION_ALIGNMENT : 0)

/* Tell whether @branch is the one that @top describes. */
static bool hw_branches_is_top(const struct hw_branch *branch, struct hw_branches_match top)
{
	u64 back;

	if (top.to)
		return top.to - branch->to <= HW_BRANCHES_PADDING;

	if (!arch_hw_branches_is_entry(branch->to))
		return false;

	/* Functions and thunks return to entry code, too. */
	if (top.any)
		return branch->from == HW_BRANCH_USER ||
		       (!arch_hw_branches_is_entry(branch->from) &&
			arch_hw_branches_kind(branch, &back) == HW_BRANCH_ENTRY);

	/*
	 * After a trap, the instruction pointer in @top is that of the next instruction. The
	 * recorded source may be the instruction that trapped.
	 */
	return branch->from != HW_BRANCH_USER && top.from - branch->from <= HW_BRANCHES_INSN;
}

/**
 * hw_branches_count_newer - find the branch that is to be printed first
 * @cpu: the CPU, which is frozen or held
 * @top: describes the branch
 *
 * The newest branches are not of interest. For example, the code from the fault to the freeze has
 * made them on the CPU that crashed, or the handler of the NMI on the other CPUs. Branches before a
 * mark for missing branches are not searched: they may be much older.
 *
 * Return: the number of branches that are newer than this branch; -1 if it was not found.
 */
int hw_branches_count_newer(int cpu, struct hw_branches_match top)
{
	struct hw_branch branch[HW_BRANCHES_CHUNK];
	struct hw_branches_cursor cursor = { };
	u32 at = 0, i, n;

	do {
		n = arch_hw_branches_last(cpu, &cursor, at, branch, ARRAY_SIZE(branch));
		for (i = 0; i < n; i++) {
			if (!branch[i].from && !branch[i].to)
				return -1;
			if (hw_branches_is_top(&branch[i], top))
				return at + i;
		}
		at += n;
	} while (n == ARRAY_SIZE(branch));

	return -1;
}

/*
 * Print the headline for @cpu. If another CPU was the first one to crash, and both times are known,
 * the headline also tells how long after that CPU @cpu was frozen.
 */
static void hw_branches_print_head(hw_branches_printf print, int cpu, u32 newer, u32 records)
{
	int first = READ_ONCE(hw_branches_first_crash()->cpu);
	const char *source = arch_hw_branches_source();
	u64 at = arch_hw_branches_frozen_at(cpu);
	char when[64] = "";
	u64 first_at;

	if (first >= 0 && first != cpu && at && !arch_hw_branches_outdated(first)) {
		first_at = arch_hw_branches_frozen_at(first);
		if (first_at)
			snprintf(when, sizeof(when), ", frozen %lld us after CPU %d",
				 div_s64(at - first_at, NSEC_PER_USEC), first);
	}
	print(NULL,
	      "Last branches of CPU %d, newest first, %u more since then, %u follow, source %s%s%s:\n",
	      cpu, newer, records, source, hw_branches_source_mark(source), when);
}

/**
 * struct hw_branches_frozen_reader - the state of a reader of a frozen CPU's branches
 * @cpu:	the CPU
 * @cursor:	the position after the last read
 */
struct hw_branches_frozen_reader {
	int				cpu;
	struct hw_branches_cursor	cursor;
};

static bool hw_branches_get(void *data, u32 nr, struct hw_branch *branch)
{
	struct hw_branches_frozen_reader *reader = data;

	/* The CPU may have been thawed meanwhile. Then @branch may be a newer one: end here. */
	return nr < arch_hw_branches_depth() &&
	       arch_hw_branches_last(reader->cpu, &reader->cursor, nr, branch, 1) &&
	       arch_hw_branches_frozen(reader->cpu);
}

/* Called for each line, as folding all lines may take long while interrupts are off. */
static void hw_branches_touch_watchdog(void *unused)
{
	touch_nmi_watchdog();
}

static const struct hw_branches_reader hw_branches_reader = {
	.get		= hw_branches_get,
	.kind		= hw_branches_kind_of_branch,
	.is_thunk	= hw_branches_thunk,
	.is_return	= hw_branches_return,
	.progress	= hw_branches_touch_watchdog,
};

/**
 * struct hw_branches_folds - memory of a CPU for folding, which is too large for the stack
 * @task:	the task that prints, or that the printing code has interrupted
 * @start:	when @task was started: the memory of @task may be that of another task now
 * @used:	the number of callers between hw_branches_get_fold() and hw_branches_put_fold()
 * @fold:	one for printing, and one for a crash or an interrupt during the printing
 */
struct hw_branches_folds {
	struct task_struct	*task;
	u64			start;
	unsigned int		used;
	struct hw_branches_fold	fold[2];
};

static DEFINE_PER_CPU(struct hw_branches_folds, hw_branches_folds);

/*
 * Return memory for folding, or NULL if all is in use. In both cases, the caller has to call
 * hw_branches_put_fold(). The caller keeps preemption off until then.
 */
static struct hw_branches_fold *hw_branches_get_fold(void)
{
	struct hw_branches_folds *folds = this_cpu_ptr(&hw_branches_folds);
	unsigned int used;

	/*
	 * If the last task that printed on this CPU was killed while it printed, it did not call
	 * hw_branches_put_fold(). So reset @used for each other task.
	 */
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
 * @print: the function that prints
 * @cpu: the CPU, which is frozen
 * @since: the number of newest branches to skip; none if negative
 * @nr: the largest number of lines to print
 */
void hw_branches_dump_cpu(hw_branches_printf print, int cpu, int since, u32 nr)
{
	struct hw_branches_frozen_reader reader = { .cpu = cpu, };
	u32 newer = max(since, 0), lines = nr, records;
	struct hw_branches_fold *fold;
	struct hw_branches_line line;
	struct hw_branch branch;
	int base;

	guard(preempt)();
	fold = hw_branches_get_fold();
	if (fold && hw_branches_get(&reader, newer, &branch)) {
		hw_branches_fold_begin(fold, newer, READ_ONCE(hw_branches_plain),
				       &hw_branches_reader, &reader);
		base = hw_branches_fold_base(fold, nr, &records);
		hw_branches_print_head(print, cpu, newer, records);
		while (lines-- && hw_branches_fold_next(fold, &line)) {
			hw_branches_print(print, NULL, cpu, line.depth - base, &line);
			touch_nmi_watchdog();
		}
	} else if (fold && arch_hw_branches_outdated(cpu) &&
		   cpumask_test_cpu(cpu, hw_branches_cpus())) {
		print(NULL, "CPU %d has missed a thaw: no newer branches of it\n", cpu);
	}
	hw_branches_put_fold();
	/* On a slow console, printing all CPUs may take so long that RCU would report a stall. */
	rcu_cpu_stall_reset();
}

/*
 * Find the newest call of panic(). If there is none, find a call of another function of @calls,
 * which some code calls instead of panic().
 */
static int hw_branches_newer_than_panic(int cpu)
{
	const unsigned long calls[] = {
		(unsigned long)panic,
		(unsigned long)nmi_panic,
		(unsigned long)vpanic,
	};
	int i, since = -1;

	for (i = 0; since < 0 && i < ARRAY_SIZE(calls); i++)
		since = hw_branches_count_newer(cpu, (struct hw_branches_match){ .to = calls[i] });

	return since;
}

/**
 * hw_branches_newer_than_stop - find the branch at which a CPU was interrupted to freeze it
 * @cpu: the CPU, which is frozen
 *
 * This is the newest exception, interrupt or system call: usually the NMI that has frozen the CPU.
 * If the CPU has called panic(), find the call of panic() instead.
 *
 * Return: like hw_branches_count_newer().
 */
int hw_branches_newer_than_stop(int cpu)
{
	const struct hw_branches_match any = { .any = true };
	int since = hw_branches_newer_than_panic(cpu);

	return since < 0 ? hw_branches_count_newer(cpu, any) : since;
}

/*
 * The longest time that a call of hw_branches_print_cpus() waits for all CPUs together. A CPU in a
 * deep idle state, or a virtual CPU that is not running, needs some time to handle the NMI. The
 * wait is short, as earlier messages of the crash may not have been written to a console yet.
 */
#define HW_BRANCHES_MAX_WAIT_US	1000

/*
 * Wait until a CPU is frozen, @left microseconds at most, and subtract the time from @left. Return
 * true if the CPU is frozen. If the CPU still records, print a line that says so.
 */
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

/**
 * hw_branches_print_cpus - print the last branches of the frozen CPUs in a mask
 * @print: the function that prints
 * @cpus: the CPUs
 * @self: a CPU to leave out, or -1
 * @crash: true to leave out the CPUs that the crash has printed already, and to print no further
 *	   CPU after a thaw
 * @nr: the largest number of lines to print of each CPU
 *
 * The caller may be preemptible, such as sys_info() in khungtaskd. Disable preemption, so that
 * arch_hw_branches_stop() waits for this reader.
 */
void hw_branches_print_cpus(hw_branches_printf print, const struct cpumask *cpus, int self,
			    bool crash, u32 nr)
{
	int cpu, left = HW_BRANCHES_MAX_WAIT_US;

	for_each_cpu(cpu, cpus) {
		guard(preempt)();
		if (crash && READ_ONCE(hw_branches_first_crash()->cpu) < 0)
			return;
		if (cpu != self && hw_branches_await(print, cpu, &left) &&
		    (!crash || hw_branches_claim_dump(cpu)))
			hw_branches_dump_cpu(print, cpu, hw_branches_newer_than_stop(cpu), nr);
	}
}

/**
 * hw_branches_log - print to the log
 * @unused: the argument of a hw_branches_printf that is not used here
 * @fmt: the format, like that of printk()
 */
void hw_branches_log(struct seq_file *unused, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintk(fmt, args);
	va_end(args);
}

/**
 * hw_branches_print_given_up - print a line if no branches are recorded because of perf
 * @print: the function that prints
 */
void hw_branches_print_given_up(hw_branches_printf print)
{
	if (arch_hw_branches_given_up())
		print(NULL, "perf has the hardware: no branches are recorded now\n");
}

/**
 * hw_branches_dump - print the last branches of all CPUs that are frozen
 * @print: the function that prints
 * @cpu: the CPU to print first
 * @since: the number of newest branches of @cpu to skip; none if negative
 */
void hw_branches_dump(hw_branches_printf print, int cpu, int since)
{
	u32 nr = READ_ONCE(hw_branches_nr);

	hw_branches_print_given_up(print);
	hw_branches_dump_cpu(print, cpu, since, nr);
	hw_branches_print_cpus(print, cpu_possible_mask, cpu, false, nr);
}
