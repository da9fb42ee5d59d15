// SPDX-License-Identifier: GPL-2.0
/*
 * Last branch records as a source of the branch flight recorder: freeze and thaw
 *
 * A CPU saves its LBR registers in memory when it is frozen. If the reason is an exception of
 * the current task, the branches before that exception are kept: see asm/hw_branches.h.
 */

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/extable.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <asm/hw_branches.h>
#include <asm/nmi.h>
#include <asm/ptrace.h>

#include "hw_branches_lbr.h"

static struct branch_freezes hw_branches_lbr_freezing;

/*
 * Exceptions that may be fatal
 */

/**
 * hw_branches_lbr_suspect - save the last branches before an exception that may be fatal
 * @regs: the registers of the interrupted code
 *
 * Called while the entry code of the exception holds the CPU. Recording is resumed.
 */
void notrace hw_branches_lbr_suspect(struct pt_regs *regs)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);

	c->suspect = NULL;
	barrier();
	hw_branches_lbr_save(&c->suspected);
	c->task = current;
	barrier();
	c->suspect = regs;
	hw_branches_lbr_resume();
}

/**
 * hw_branches_lbr_judge - resume recording, after hw_branches_lbr_suspect() if there is no fixup
 * @regs: the registers of the interrupted code
 */
void notrace hw_branches_lbr_judge(struct pt_regs *regs)
{
	if (search_exception_tables(regs->ip))
		hw_branches_lbr_resume();
	else
		hw_branches_lbr_suspect(regs);
}

/**
 * hw_branches_lbr_acquit - drop the saved branches of an exception that was not fatal
 * @regs: the registers of the interrupted code
 *
 * If the task has migrated, the saved branches stay on the CPU of the exception. The next
 * exception without a fixup there overwrites them, and a thaw drops them. If that CPU is frozen
 * before, while the same task runs there, it keeps them instead of the newest branches. If the
 * exception is fatal after all, the CPU to which the task has migrated does not find them: it
 * saves its registers.
 */
void notrace hw_branches_lbr_acquit(struct pt_regs *regs)
{
	if (this_cpu_read(hw_branches_lbr_cpu.suspect) == regs)
		this_cpu_write(hw_branches_lbr_cpu.suspect, NULL);
}

/*
 * Freeze and thaw
 */

/* Save the last branches for the freeze of this CPU. */
static __always_inline void hw_branches_lbr_keep(struct hw_branches_lbr_cpu *c)
{
	c->kept->nr = 0;
	if (this_cpu_read(hw_branches_lbr_records)) {
		hw_branches_lbr_enable(false);
		if (c->suspect && c->task == current)
			*c->kept = c->suspected;
		else
			hw_branches_lbr_save(c->kept);
	}
	c->suspect = NULL;
	WRITE_ONCE(c->frozen_at, ktime_get_mono_fast_ns());
}

/*
 * Freeze this CPU, in any context. If it is frozen already, the branches of the earlier freeze
 * are kept. If it is just being thawed, hw_branches_lbr_thaw_here() saves its branches.
 */
static __always_inline void hw_branches_lbr_freeze_here(void)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);

	/* If an NMI comes between the test and the store, it must not save again. */
	if (this_cpu_xchg(hw_branches_lbr_cpu.frozen, true))
		return;

	if (!c->thawing)
		hw_branches_lbr_keep(c);
	/* Pairs with hw_branches_lbr_frozen(). */
	smp_store_release(&c->saved, true);
}

void notrace hw_branches_lbr_freeze(void)
{
	guard(irqsave)();

	if (!static_branch_unlikely(&hw_branches_lbr_used))
		return;

	atomic_inc(&hw_branches_lbr_freezing.last);
	/* Increment before any CPU is frozen: pairs with hw_branches_lbr_thaw_here(). */
	smp_mb__after_atomic();
	hw_branches_lbr_freeze_here();
	branch_freeze_send(&hw_branches_lbr_cpu.freeze);
}

u32 hw_branches_lbr_freezes(void)
{
	return atomic_read(&hw_branches_lbr_freezing.last);
}

/* Tell whether a CPU is frozen, and its branches have been saved and can be read. */
bool hw_branches_lbr_frozen(int cpu)
{
	/* Pairs with hw_branches_lbr_freeze_here(). */
	return smp_load_acquire(per_cpu_ptr(&hw_branches_lbr_cpu.saved, cpu));
}

u64 hw_branches_lbr_frozen_at(int cpu)
{
	return READ_ONCE(per_cpu(hw_branches_lbr_cpu.frozen_at, cpu));
}

static int hw_branches_lbr_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);

	if (!branch_freeze_asked(&c->freeze))
		return NMI_DONE;

	if (static_branch_unlikely(&hw_branches_lbr_used))
		hw_branches_lbr_freeze_here();

	return NMI_HANDLED;
}

static int hw_branches_lbr_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	return branch_freeze_claims(this_cpu_ptr(&hw_branches_lbr_cpu.freeze)) ?
	       NMI_HANDLED : NMI_DONE;
}

/*
 * hw_branches_lbr_freeze() increments hw_branches_lbr_freezing.last before it sends the NMIs.
 * The freeze of an NMI that arrives before the second branch_refrozen() may be undone here.
 * Then this function freezes the CPU again.
 */
static void hw_branches_lbr_thaw_here(void *unused)
{
	struct hw_branches_lbr_cpu *c = this_cpu_ptr(&hw_branches_lbr_cpu);
	bool again, frozen = c->frozen;

	lockdep_assert_irqs_disabled();

	if (branch_refrozen(&hw_branches_lbr_freezing))
		return;

	c->suspect = NULL;
	WRITE_ONCE(c->freeze.asked, false);
	/* Wipe while the CPU is frozen: the next freeze must not save branches of this one. */
	if (frozen && this_cpu_read(hw_branches_lbr_records))
		hw_branches_lbr_wipe();
	WRITE_ONCE(c->kept->nr, 0);
	c->thawing = frozen;
	barrier();
	WRITE_ONCE(c->saved, false);
	WRITE_ONCE(c->frozen, false);
	/* Pairs with hw_branches_lbr_freeze(). */
	smp_mb();
	again = branch_refrozen(&hw_branches_lbr_freezing);
	if (again)
		hw_branches_lbr_freeze_here();
	barrier();
	c->thawing = false;
	/* A freeze that came while @thawing was set has kept the branches of the one before. */
	if (frozen && c->frozen)
		hw_branches_lbr_keep(c);
	if (again)
		return;

	WRITE_ONCE(c->outdated, false);
	if (frozen && this_cpu_read(hw_branches_lbr_records))
		hw_branches_lbr_resume();
}

void hw_branches_lbr_thaw(u32 freezes)
{
	int cpu;

	branch_count_thaw(&hw_branches_lbr_freezing, freezes);
	/* Pairs with a CPU that sets itself online before hw_branches_lbr_up(). */
	smp_mb();
	on_each_cpu(hw_branches_lbr_thaw_here, NULL, 1);

	guard(cpus_read_lock)();
	for_each_possible_cpu(cpu) {
		struct hw_branches_lbr_cpu *c = per_cpu_ptr(&hw_branches_lbr_cpu, cpu);

		if (cpu_online(cpu))
			continue;
		WRITE_ONCE(c->outdated, true);
		WRITE_ONCE(c->kept->nr, 0);
	}
}

/**
 * hw_branches_lbr_catch_up - freeze or thaw this CPU as the others while it was offline
 *
 * Called with interrupts off.
 */
void hw_branches_lbr_catch_up(void)
{
	if (!branch_refrozen(&hw_branches_lbr_freezing))
		hw_branches_lbr_thaw_here(NULL);
	else if (static_branch_unlikely(&hw_branches_lbr_used))
		hw_branches_lbr_freeze_here();
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

		WRITE_ONCE(c->freeze.asked, false);
		WRITE_ONCE(c->saved, false);
		WRITE_ONCE(c->frozen, false);
		WRITE_ONCE(c->outdated, false);
	}
}

/**
 * hw_branches_lbr_watch_nmis - register the handlers for the NMIs of freezes
 *
 * Called for the first start: before it, the handlers must not slow down NMIs.
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
