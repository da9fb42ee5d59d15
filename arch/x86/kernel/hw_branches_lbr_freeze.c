// SPDX-License-Identifier: GPL-2.0
/*
 * Last branch records as a source of the branch flight recorder: freeze and thaw
 *
 * When a CPU that records is frozen, it saves its LBR registers in hw_branches_lbr_cpu.kept. If the
 * current task is handling an exception at whose entry this CPU has saved the branches (see
 * asm/hw_branches.h), the CPU keeps these branches instead. The task may have migrated since the
 * exception. So the CPU that requests the freeze looks for such branches on all CPUs.
 */

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/extable.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include <asm/hw_branches.h>
#include <asm/nmi.h>
#include <asm/ptrace.h>

#include "hw_branches_lbr.h"

static struct branch_freezes hw_branches_lbr_freezing;

/*
 * Exceptions that may be fatal
 */

/**
 * hw_branches_lbr_save_now - save the last branches before an exception that may be fatal
 * @regs: the registers of the interrupted code
 *
 * Called in the entry code of the exception, after hw_branches_lbr_hold() has stopped recording.
 * This calls hw_branches_lbr_resume().
 */
void notrace hw_branches_lbr_save_now(struct pt_regs *regs)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);

	WRITE_ONCE(c->exception, NULL);
	/* Pairs with smp_rmb() in hw_branches_lbr_copy_exception(), perhaps called in an NMI. */
	smp_wmb();
	hw_branches_lbr_save(&c->before_exception);
	WRITE_ONCE(c->task, current);
	/* Pairs with smp_load_acquire() in hw_branches_lbr_copy_exception(). */
	smp_store_release(&c->exception, regs);
	hw_branches_lbr_resume();
}

/**
 * hw_branches_lbr_save_unless_fixup - save the branches if an exception has no fixup, and resume
 * @regs: the registers of the interrupted code
 *
 * An exception with a fixup is rarely fatal, so the branches before it need not be saved.
 *
 * Return: whether the branches were saved.
 */
bool notrace hw_branches_lbr_save_unless_fixup(struct pt_regs *regs)
{
	if (search_exception_tables(regs->ip)) {
		hw_branches_lbr_resume();
		return false;
	}
	hw_branches_lbr_save_now(regs);

	return true;
}

/**
 * hw_branches_lbr_drop_saved - drop the saved branches of an exception that was not fatal
 * @regs: the registers of the interrupted code
 *
 * The task may have migrated since the exception.
 */
void notrace hw_branches_lbr_drop_saved(struct pt_regs *regs)
{
	int cpu;

	/*
	 * Do not stop at the first match: another CPU may still have the same address from a task
	 * that had this stack before, and crashed.
	 */
	for_each_possible_cpu(cpu) {
		struct pt_regs **at = per_cpu_ptr(&hw_branches_lbr_cpu.exception, cpu);

		/* this_cpu_cmpxchg() would not be atomic against the cmpxchg() of another CPU. */
		if (READ_ONCE(*at) == regs)
			cmpxchg(at, regs, NULL);
	}
}

/*
 * If @c has saved the branches before an exception that the current task is handling, copy them to
 * @out, and return true. The CPU of @c may handle another exception, or be frozen, meanwhile. Then
 * the copy is not valid.
 */
static bool notrace hw_branches_lbr_copy_exception(const struct hw_branches_lbr_cpu *c,
						   struct hw_branches_lbr_saved *out)
{
	/* Pairs with hw_branches_lbr_save_now(). */
	const struct pt_regs *regs = smp_load_acquire(&c->exception);

	if (!regs || READ_ONCE(c->task) != current)
		return false;

	/* data_race(): if the CPU writes it meanwhile, the test below fails. */
	data_race(*out = c->before_exception);
	/* Pairs with smp_wmb() in hw_branches_lbr_save_now(). */
	smp_rmb();

	return READ_ONCE(c->exception) == regs;
}

/*
 * Call hw_branches_lbr_copy_exception() for this CPU, then for the others, until one has saved such
 * branches: the current task may have migrated since its exception.
 */
static bool notrace hw_branches_lbr_find_exception(struct hw_branches_lbr_saved *out)
{
	int cpu;

	for_each_cpu_wrap(cpu, cpu_possible_mask, smp_processor_id()) {
		if (hw_branches_lbr_copy_exception(per_cpu_ptr(&hw_branches_lbr_cpu, cpu), out))
			return true;
	}

	return false;
}

/*
 * Freeze and thaw
 */

/*
 * Stop recording on this CPU for a freeze. Fill @kept with the branches that were saved at the
 * exception that the current task is handling, otherwise from the LBR registers. If the recorder
 * does not use the LBRs of this CPU, leave @kept empty. @requester: this CPU requests the freeze,
 * and its current task may have crashed, so look for the saved branches on all CPUs.
 */
static __always_inline void hw_branches_lbr_keep(struct hw_branches_lbr_cpu *c, bool requester)
{
	bool found;

	c->kept->nr = 0;
	if (this_cpu_read(hw_branches_lbr_records)) {
		hw_branches_lbr_enable(false);
		if (requester)
			found = hw_branches_lbr_find_exception(c->kept);
		else
			found = hw_branches_lbr_copy_exception(c, c->kept);
		if (!found)
			hw_branches_lbr_save(c->kept);
	}
	WRITE_ONCE(c->exception, NULL);
	branch_note_freeze(&hw_branches_lbr_cpu.frozen_by, &hw_branches_lbr_freezing);
	/* Pairs with hw_branches_lbr_frozen(). */
	smp_store_release(&c->saved, true);
}

/*
 * Freeze this CPU, with interrupts off. If this CPU is frozen already, it keeps the branches of the
 * earlier freeze. @requester: see hw_branches_lbr_keep().
 */
static __always_inline void hw_branches_lbr_freeze_here(bool requester)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);

	/* An NMI may call this function between test and store: do both by one instruction. */
	if (!this_cpu_xchg(hw_branches_lbr_cpu.frozen, true))
		hw_branches_lbr_keep(c, requester);
}

/**
 * hw_branches_lbr_freeze - see arch_hw_branches_freeze()
 * @fresh: this CPU was not frozen when the caller decided to freeze, but an NMI may have frozen it
 *	   since
 */
void notrace hw_branches_lbr_freeze(bool fresh)
{
	guard(irqsave)();

	if (!static_branch_unlikely(&hw_branches_lbr_used))
		return;

	atomic_inc(&hw_branches_lbr_freezing.last);
	/*
	 * Count the freeze before any CPU is frozen: pairs with the barriers in
	 * hw_branches_lbr_thaw_here() and branch_freeze_take_request().
	 */
	smp_mb__after_atomic();
	hw_branches_lbr_freeze_here(true);
	if (fresh)
		branch_renew_freeze(&hw_branches_lbr_cpu.frozen_by, &hw_branches_lbr_freezing);
	branch_freeze_send(&hw_branches_lbr_cpu.freeze);
}

u32 hw_branches_lbr_freezes(void)
{
	return atomic_read(&hw_branches_lbr_freezing.last);
}

/* Tell whether a CPU is frozen, and its branches have been saved and can be read. */
bool notrace hw_branches_lbr_frozen(int cpu)
{
	/* Pairs with hw_branches_lbr_keep(). */
	return smp_load_acquire(per_cpu_ptr(&hw_branches_lbr_cpu.saved, cpu));
}

u64 hw_branches_lbr_frozen_at(int cpu)
{
	return READ_ONCE(per_cpu(hw_branches_lbr_cpu.frozen_by.when, cpu));
}

/* Tell whether a thaw has undone the freeze whose branches a CPU keeps. */
bool hw_branches_lbr_outdated(int cpu)
{
	return branch_is_outdated(per_cpu_ptr(&hw_branches_lbr_cpu.frozen_by, cpu),
				  &hw_branches_lbr_freezing);
}

static int hw_branches_lbr_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);

	if (!branch_freeze_take_request(&c->freeze))
		return NMI_DONE;

	if (static_branch_unlikely(&hw_branches_lbr_used) &&
	    branch_freeze_in_force(&hw_branches_lbr_freezing))
		hw_branches_lbr_freeze_here(false);

	return NMI_HANDLED;
}

static int hw_branches_lbr_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	return branch_freeze_claims(this_cpu_ptr(&hw_branches_lbr_cpu.freeze)) ?
	       NMI_HANDLED : NMI_DONE;
}

/*
 * Thaw this CPU, unless there was a freeze since the thaw was decided. hw_branches_lbr_freeze()
 * counts the freeze before it sends the NMIs. If such an NMI arrives before the store to @frozen,
 * this function may undo the new freeze. Then the second branch_freeze_in_force() is true, and this
 * function freezes the CPU again.
 */
static void hw_branches_lbr_thaw_here(struct irq_work *unused)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);
	bool again, frozen = READ_ONCE(c->frozen);

	lockdep_assert_irqs_disabled();

	if (branch_freeze_in_force(&hw_branches_lbr_freezing))
		return;

	WRITE_ONCE(c->freeze.requested, false);
	/*
	 * The next freeze must not save branches from before the thaw. @exception may be set
	 * although this CPU was frozen, if an NMI froze it in hw_branches_lbr_save_now(). If this
	 * CPU was not frozen, an exception that it is handling loses its saved branches. If that
	 * exception is fatal, the branches in the LBR registers are printed instead.
	 */
	WRITE_ONCE(c->exception, NULL);
	if (frozen) {
		/* The LBR registers, too, have such branches. Wipe them while the CPU is frozen. */
		if (this_cpu_read(hw_branches_lbr_records))
			hw_branches_lbr_wipe();
		/* A reader on another CPU must not take erased records for missing branches. */
		WRITE_ONCE(c->saved, false);
		barrier();
		memset(c->kept, 0, sizeof(*c->kept));
		branch_forget_freeze(&c->frozen_by);
		/* From here on, an NMI may freeze this CPU, and call hw_branches_lbr_keep(). */
		barrier();
		WRITE_ONCE(c->frozen, false);
	}
	/* Pairs with hw_branches_lbr_freeze(). */
	smp_mb();
	again = branch_freeze_in_force(&hw_branches_lbr_freezing);
	if (again) {
		hw_branches_lbr_freeze_here(false);
		return;
	}

	if (frozen && this_cpu_read(hw_branches_lbr_records))
		hw_branches_lbr_resume();
}

static DEFINE_PER_CPU(struct irq_work, hw_branches_lbr_thaw_work) =
	IRQ_WORK_INIT_HARD(hw_branches_lbr_thaw_here);

/* A CPU that is offline calls hw_branches_lbr_catch_up() when it comes online. */
void hw_branches_lbr_thaw(u32 freezes)
{
	int cpu, tries = 1000;

	branch_count_thaw(&hw_branches_lbr_freezing, freezes);
	branch_thaw_cpus(&hw_branches_lbr_thaw_work);
	/*
	 * A task may have crashed after it migrated from a CPU that is offline now. Another task
	 * may get the same task_struct: the branches that the CPU has saved must not be taken
	 * for that task's.
	 */
	for_each_cpu_andnot(cpu, cpu_possible_mask, cpu_online_mask)
		WRITE_ONCE(per_cpu(hw_branches_lbr_cpu.exception, cpu), NULL);
	/*
	 * The memory of a CPU that is offline may be kept over a reboot: erase outdated branches
	 * there. The lock keeps the CPU from coming online meanwhile. Do not wait for it for ever:
	 * code that holds it may have crashed. While this waits for the lock, a new freeze may
	 * freeze a CPU, which then goes offline. Its branches are not outdated: keep them.
	 */
	while (!cpus_read_trylock()) {
		if (!tries--)
			return;
		usleep_range(1000, 2000);
	}
	for_each_cpu_andnot(cpu, cpu_possible_mask, cpu_online_mask) {
		if (hw_branches_lbr_outdated(cpu))
			memset(per_cpu(hw_branches_lbr_cpu.kept, cpu), 0,
			       sizeof(struct hw_branches_lbr_saved));
	}
	cpus_read_unlock();
}

/**
 * hw_branches_lbr_catch_up - freeze or thaw this CPU like the others, after offline or suspend
 *
 * Called with interrupts off.
 */
void hw_branches_lbr_catch_up(void)
{
	if (!branch_freeze_in_force(&hw_branches_lbr_freezing))
		hw_branches_lbr_thaw_here(NULL);
	else if (static_branch_unlikely(&hw_branches_lbr_used))
		hw_branches_lbr_freeze_here(false);
}

/**
 * hw_branches_lbr_forget_freezes - reset the state of freezes on all CPUs
 *
 * Called while no CPU records.
 */
void hw_branches_lbr_forget_freezes(void)
{
	int cpu;

	branch_count_thaw(&hw_branches_lbr_freezing, hw_branches_lbr_freezes());
	for_each_possible_cpu(cpu) {
		struct hw_branches_lbr_cpu *c = per_cpu_ptr(&hw_branches_lbr_cpu, cpu);

		WRITE_ONCE(c->freeze.requested, false);
		WRITE_ONCE(c->saved, false);
		WRITE_ONCE(c->frozen, false);
		branch_forget_freeze(&c->frozen_by);
	}
}

/**
 * hw_branches_lbr_watch_nmis - register the handlers for the NMIs of freezes
 *
 * Called at each start of the recorder with this source, so that the handlers do not slow down NMIs
 * before the first such start. The handlers stay registered.
 *
 * Return: 0 or an error.
 */
int hw_branches_lbr_watch_nmis(void)
{
	static bool watching;
	int err;

	if (watching)
		return 0;

	err = register_nmi_handler(NMI_LOCAL, hw_branches_lbr_nmi, NMI_FLAG_FIRST,
				   "x86/hw_branches");
	if (err)
		return err;
	err = register_nmi_handler(NMI_UNKNOWN, hw_branches_lbr_unknown_nmi, 0,
				   "x86/hw_branches");
	if (err)
		unregister_nmi_handler(NMI_LOCAL, "x86/hw_branches");
	watching = !err;

	return err;
}
