// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: what a crash prints, and what sysrq prints
 *
 * The functions that print after a crash are called after hw_branches_crash_freeze(). Except for
 * hw_branches_crash_init(), the functions here take no lock and allocate no memory, like those of
 * trace_hw_branches_dump.c.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <kunit/test-bug.h>
#include <linux/bug.h>
#include <linux/cfi.h>
#include <linux/context_tracking.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/lockdep.h>
#include <linux/notifier.h>
#include <linux/panic.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/sysrq.h>

#include <trace/events/error_report.h>

#include "trace_hw_branches.h"

/* Print that the first crash froze the recorder. It may not be the crash that is being printed. */
static void hw_branches_print_frozen(void)
{
	hw_branches_log(NULL, "frozen by a crash that CPU %d reported: the branches may be older\n",
			READ_ONCE(hw_branches_first_crash()->cpu));
}

/*
 * Print a line if the branches may be older than the crash that is being printed: it may not be the
 * first crash, or its CPU was frozen before it.
 */
static void hw_branches_print_old(void)
{
	if (!hw_branches_crash_is_mine())
		hw_branches_print_frozen();
	else if (READ_ONCE(hw_branches_first_crash()->old))
		hw_branches_log(NULL, "frozen before this crash: the branches are older\n");
}

/*
 * Print the branches of @cpu after a crash, and if hw_branches_crash_all is true, those of the
 * other CPUs. Called after hw_branches_claim_dump() has returned true for @cpu. @since is that of
 * hw_branches_dump_cpu(). If @recorded is false, say so if the branches may be older, or if perf
 * has the hardware.
 */
static void hw_branches_print_crash(int cpu, int since, bool recorded)
{
	u32 nr = READ_ONCE(hw_branches_crash_nr);

	if (!recorded) {
		hw_branches_print_old();
		hw_branches_print_given_up(hw_branches_log);
	}
	hw_branches_dump_cpu(hw_branches_log, cpu, since, nr);
	if (READ_ONCE(hw_branches_crash_all))
		hw_branches_print_cpus(hw_branches_log, cpu_possible_mask, cpu, true, nr);
}

/*
 * Return the CPU on which current has crashed. If this was the first crash, its freeze has stored
 * the CPU, and current may have migrated since. Otherwise, return this CPU.
 */
static int hw_branches_crashed_on(void)
{
	return hw_branches_crash_is_mine() ? READ_ONCE(hw_branches_first_crash()->cpu) :
	       smp_processor_id();
}

/* Print why the branches of this crash are not printed. */
static void hw_branches_print_none(void)
{
	pr_info("%s: no branches of this one\n",
		READ_ONCE(hw_branches_first_crash()->cpu) < 0 ? "thawed since this crash" :
		"frozen since an earlier crash");
}

static void hw_branches_print_oops(struct pt_regs *regs)
{
	struct hw_branches_match fault = { .from = instruction_pointer(regs) };
	bool old = READ_ONCE(hw_branches_first_crash()->old), recorded;
	int cpu = hw_branches_crashed_on(), since;

	if (!hw_branches_claim_dump(cpu)) {
		hw_branches_print_none();
		return;
	}

	since = hw_branches_count_newer(cpu, fault);
	recorded = since >= 0;
	if (!recorded && (oops_in_progress > 1 || user_mode(regs))) {
		/*
		 * If another crash is still being printed, the records end at the freeze of that
		 * crash. If this crash occurred in user mode, its address is not recorded. So
		 * begin with the newest exception, interrupt or system call.
		 */
		fault.any = true;
		since = hw_branches_count_newer(cpu, fault);
	} else if (!recorded && !old && !arch_hw_branches_given_up()) {
		hw_branches_log(NULL, "CPU %d has not recorded its crash, or lost it since\n",
				cpu);
	}
	hw_branches_print_crash(cpu, since, recorded);
}

#ifdef CONFIG_GENERIC_BUG
static bool hw_branches_cfi_warns(void)
{
#ifdef CONFIG_CFI
	return cfi_warn;
#else
	return false;
#endif
}

/*
 * Tell whether the trap at @ip is a crash. A WARN() is a crash only if panic_on_warn is set; one
 * that reaches warn_limit freezes the recorder in panic(). A trap without a struct bug_entry, for
 * example from a sanitizer or from kCFI, is a crash. But if kCFI only warns and panic_on_warn is
 * not set, the trap may be a warning: then return false. If the trap is a crash nevertheless,
 * oops_enter() freezes the recorder.
 */
static bool hw_branches_bug_crashes(unsigned long ip, const struct bug_entry *bug)
{
	if (!bug)
		bug = find_bug(ip);
	if (!bug)
		return panic_on_warn || !hw_branches_cfi_warns();
	if (!(bug->flags & BUGFLAG_WARNING))
		return true;
	/* The kernel does not print a warning that a KUnit test suppresses. */
	if (kunit_is_suppressed_warning(false))
		return false;

	return panic_on_warn && (bug->flags & (BUGFLAG_ONCE | BUGFLAG_DONE)) !=
				(BUGFLAG_ONCE | BUGFLAG_DONE);
}

/**
 * hw_branches_bug_freeze - hw_branches_bug_trap(), if the recorder is on
 * @ip: the address of the trap
 * @bug: the struct bug_entry of the trap, or NULL if it has to be looked up
 *
 * The code that prints the trap runs before oops_enter() or panic() freezes the recorder, so this
 * function freezes it if the trap is a crash. The search for @bug may make more branches than the
 * hardware keeps, so hold recording meanwhile. Switch lockdep off meanwhile, as a warning of
 * lockdep would call this function again.
 */
void hw_branches_bug_freeze(unsigned long ip, const struct bug_entry *bug)
{
	bool stopped = arch_hw_branches_hold(), rcu;

	lockdep_off();
	rcu = warn_rcu_enter();
	if (hw_branches_bug_crashes(ip, bug))
		hw_branches_crash_freeze(ip);
	warn_rcu_exit(rcu);
	lockdep_on();
	arch_hw_branches_release(stopped);
}
#else
void hw_branches_bug_freeze(unsigned long ip, const struct bug_entry *bug)
{
}
#endif

/*
 * The value of current in hw_branches_sysrq(); NULL before and after the call, and after a crash in
 * the call
 */
static struct task_struct *hw_branches_sysrq_task;

static int hw_branches_die(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_OOPS)
		return NOTIFY_DONE;
	if (READ_ONCE(hw_branches_on))
		hw_branches_print_oops(args->regs);
	/*
	 * If this task has crashed in hw_branches_sysrq(), it usually does not return there, so
	 * undo hw_branches_freeze_to_read() here.
	 */
	if (cmpxchg(&hw_branches_sysrq_task, current, NULL) == current)
		hw_branches_thaw_after_read();

	return NOTIFY_DONE;
}

/**
 * hw_branches_report_print - hw_branches_report(), if the recorder is on
 *
 * Called after a lockup was reported, and by panic() before it starts a crash kernel, stops the
 * other CPUs or moves to another CPU. If an oops has led to panic(), the oops has usually printed
 * the branches already. Then no branches are printed here.
 */
void hw_branches_report_print(void)
{
	const struct hw_branches_crash_info *crash = hw_branches_first_crash();
	bool mine = hw_branches_crash_is_mine();
	struct hw_branches_match call = { };
	int cpu, since = -1;

	/* A task that calls panic() may have migrated since it froze the recorder. */
	cpu = hw_branches_crashed_on();
	if (!hw_branches_claim_dump(cpu)) {
		if (!mine)
			hw_branches_print_none();
		return;
	}

	call.from = READ_ONCE(crash->ip);
	if (mine && call.from)
		since = hw_branches_count_newer(cpu, call);
	hw_branches_print_crash(cpu, since < 0 ? hw_branches_newer_than_stop(cpu) : since,
				since >= 0);
}

/**
 * hw_branches_report_lockup_print - hw_branches_report_lockup(), if the recorder is on
 * @cpu: the CPU that is locked up with interrupts off
 * @first: what hw_branches_crash() has returned
 */
void hw_branches_report_lockup_print(int cpu, bool first)
{
	u32 nr = READ_ONCE(hw_branches_crash_nr);
	int crashed;

	if (cpu == smp_processor_id()) {
		hw_branches_report_print();
		return;
	}

	/* The recorder may have been thawed, and another CPU may have crashed since. */
	crashed = READ_ONCE(hw_branches_first_crash()->cpu);
	if (crashed < 0) {
		hw_branches_print_none();
		return;
	}
	first &= crashed == smp_processor_id();
	if (first)
		hw_branches_print_old();
	else
		hw_branches_print_frozen();
	hw_branches_print_given_up(hw_branches_log);
	hw_branches_print_cpus(hw_branches_log, cpumask_of(cpu), -1, true, nr);
	if (READ_ONCE(hw_branches_crash_all))
		hw_branches_print_cpus(hw_branches_log, cpu_possible_mask, cpu, true, nr);
	if (first)
		hw_branches_disown_crash();
}

/**
 * hw_branches_sys_info - print the last branches of all CPUs that a crash has frozen
 *
 * Called by sys_info(). A CPU that the crash has printed already is not printed again.
 */
void hw_branches_sys_info(void)
{
	if (!READ_ONCE(hw_branches_on) || READ_ONCE(hw_branches_first_crash()->cpu) < 0)
		return;
	hw_branches_print_old();
	hw_branches_print_cpus(hw_branches_log, cpu_possible_mask, -1, true,
			       READ_ONCE(hw_branches_crash_nr));
}

/*
 * Called after a report of KASAN or KFENCE, and after a WARN(), which is ignored. If this report
 * has frozen the recorder, current is the first crash's task, but may have migrated since.
 */
static void hw_branches_reported(void *unused, enum error_detector detector, unsigned long id)
{
	int cpu;

	if (detector == ERROR_DETECTOR_WARN || !READ_ONCE(hw_branches_on))
		return;

	guard(preempt)();
	cpu = hw_branches_crashed_on();
	if (hw_branches_crash_is_mine() && hw_branches_claim_dump(cpu))
		hw_branches_print_crash(cpu, -1, false);
}

/* Use the highest priority, as another notifier could return NOTIFY_STOP and prevent this call. */
static struct notifier_block hw_branches_die_notifier = {
	.notifier_call	= hw_branches_die,
	.priority	= INT_MAX,
};

/* On demand */

static void hw_branches_sysrq(u8 key)
{
	int cpu;

	if (!READ_ONCE(hw_branches_on)) {
		pr_info("the recorder is off: write 1 to hw_branches/enable in tracefs first\n");
		return;
	}

	/* The lines of two concurrent sysrqs would be mixed. */
	if (cmpxchg(&hw_branches_sysrq_task, NULL, current)) {
		pr_info("another CPU is printing the branches already\n");
		return;
	}

	cpu = get_cpu();
	hw_branches_freeze_to_read();
	put_cpu();
	hw_branches_dump(hw_branches_log, cpu, 0);
	/*
	 * kgdb can continue a task after a crash. If the dump has crashed, hw_branches_die() has
	 * undone hw_branches_freeze_to_read() already.
	 */
	if (cmpxchg(&hw_branches_sysrq_task, current, NULL) == current)
		hw_branches_thaw_after_read();
}

static const struct sysrq_key_op hw_branches_sysrq_op = {
	.handler	= hw_branches_sysrq,
	.help_msg	= "last-Branches(B)",
	.action_msg	= "Show the last branches of all CPUs",
	.enable_mask	= SYSRQ_ENABLE_DUMP,
};

static int __init hw_branches_crash_init(void)
{
	int err;

	err = register_die_notifier(&hw_branches_die_notifier) ?:
	      register_trace_error_report_end(hw_branches_reported, NULL);
	if (!err && IS_ENABLED(CONFIG_MAGIC_SYSRQ))
		err = register_sysrq_key('B', &hw_branches_sysrq_op);
	if (err)
		pr_warn("cannot print in a crash: error %pe\n", ERR_PTR(err));

	return err;
}

/* Called before the boot parameter switches the recorder on. */
postcore_initcall(hw_branches_crash_init);
