/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch flight recorder: hardware that writes down the last branches of
 * the kernel on each CPU, for whoever looks at them when it is too late.
 */
#ifndef _LINUX_HW_BRANCHES_H
#define _LINUX_HW_BRANCHES_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* Where a branch came from whose source was in user mode: no address at all */
#define HW_BRANCH_USER	BIT_ULL(63)

/**
 * struct hw_branch - a branch to the kernel, or astray, where the kernel jumped to
 * @from:	the instruction that branched, or HW_BRANCH_USER
 * @to:		where it went
 *
 * All 0 if this is no branch but tells that some are missing.
 */
struct hw_branch {
	u64	from;
	u64	to;
};

/**
 * enum hw_branch_kind - what made a branch, as the instruction at its source tells
 * @HW_BRANCH_OTHER:	a conditional jump, or what nobody knows
 * @HW_BRANCH_JUMP:	a jump without a condition
 * @HW_BRANCH_CALL:	a call
 * @HW_BRANCH_RETURN:	the return from a call
 * @HW_BRANCH_ENTRY:	an exception or an interrupt of the kernel
 * @HW_BRANCH_EXIT:	the return from one
 * @HW_BRANCH_BREAK:	the stack before it was another: from user mode, to another task,
 *			or missing records
 */
enum hw_branch_kind {
	HW_BRANCH_OTHER,
	HW_BRANCH_JUMP,
	HW_BRANCH_CALL,
	HW_BRANCH_RETURN,
	HW_BRANCH_ENTRY,
	HW_BRANCH_EXIT,
	HW_BRANCH_BREAK,
};

/**
 * struct hw_branches_place - where a reader of a CPU's last branches has got to
 * @newer:	behind so many branches
 * @at:		where that is, for the architecture
 * @moved:	what its place depends on, for the architecture
 *
 * All 0 where it begins. Good as long as the CPU does not record.
 */
struct hw_branches_place {
	u32	newer;
	u32	at;
	u64	moved;
};

struct bug_entry;
struct cpumask;

#ifdef CONFIG_HW_BRANCH_RECORDER

extern bool hw_branches_on;

void hw_branches_crash_freeze(unsigned long ip);
void hw_branches_bug_freeze(unsigned long ip, const struct bug_entry *bug);
void hw_branches_report_print(void);
void hw_branches_sys_info(void);

/*
 * This CPU has crashed, or is about to report what counts as a crash: stop recording
 * before anything else is done, here and then elsewhere. Any context.
 */
static __always_inline void hw_branches_crash(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_crash_freeze(0);
}

/*
 * hw_branches_crash() at the trap of a BUG(), or of a WARN() that will panic. @bug is
 * its entry, NULL if it has to be looked up. Interrupts are off.
 */
static __always_inline void hw_branches_bug(unsigned long ip, const struct bug_entry *bug)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_bug_freeze(ip, bug);
}

/* A crash has been printed up to its stack: print the last branches of this CPU. */
static inline void hw_branches_report(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_report_print();
}

/*
 * An architecture with HAVE_HW_BRANCHES defines these functions. Those down to
 * arch_hw_branches_copy() are called in process context, the others in any.
 */

/* The name of a source of records: 0 is the best one. NULL if there are no more. */
const char *arch_hw_branches_name(unsigned int source);
/* Have this source record, from the next start on. Nothing records now. */
void arch_hw_branches_choose(unsigned int source);
/* The name of the source that was chosen last */
const char *arch_hw_branches_source(void);
/* Does it not record, since somebody else uses the hardware who goes first? */
bool arch_hw_branches_given_up(void);
/* How many branches of a CPU a reader gets at most. This depends on the source. */
u32 arch_hw_branches_depth(void);
/* Record on a CPU from now on, or from when it comes online. */
int arch_hw_branches_start(int cpu);
/*
 * Stop recording on these CPUs, which are not frozen, and erase their branches. Waits for
 * readers that run with preemption off.
 */
void arch_hw_branches_stop(const struct cpumask *cpus);
/* All CPUs record again, unless they were frozen more than @freezes times. */
void arch_hw_branches_thaw(u32 freezes);
/* The last branches of a CPU, recording or not, the newest first: how many? */
int arch_hw_branches_copy(int cpu, struct hw_branch *out, u32 n);

/* Stop this CPU at once and the others soon, and keep what there is. */
void arch_hw_branches_freeze(void);
/* How often was that done? */
u32 arch_hw_branches_freezes(void);
/* Has a CPU stopped? */
bool arch_hw_branches_frozen(int cpu);
/* When, by ktime_get_mono_fast_ns()? 0 if that is not known yet. */
u64 arch_hw_branches_frozen_at(int cpu);
/* Stop this CPU for a moment, with interrupts off. */
bool arch_hw_branches_hold(void);
/*
 * The same before a freeze that is a few branches away, if the hardware keeps so few that
 * this matters. A crash in here would be endless.
 */
bool arch_hw_branches_hold_early(void);
/* The end of the moment; takes what one of these two has returned. */
void arch_hw_branches_release(bool held);
/* Is this where an exception or an interrupt begins? */
bool arch_hw_branches_is_entry(u64 to);
/*
 * Tell the kind of a branch. @back is where a call returns to, or what an exception
 * interrupted. This reads the instruction, which may have changed since, and cannot fault.
 */
enum hw_branch_kind arch_hw_branches_kind(const struct hw_branch *branch, u64 *back);
/* Is this in the code through which returns and indirect calls go? */
bool arch_hw_branches_is_thunk(u64 address);
/* Is this what returns go through? */
bool arch_hw_branches_is_return(u64 address);
/*
 * The last branches of a CPU that is frozen or held, the newest first, without the @newer
 * newest: how many? None if the CPU was frozen and offline when the others were thawed.
 * Called with preemption off. Branches that are far from @place take longer.
 */
u32 arch_hw_branches_last(int cpu, struct hw_branches_place *place, u32 newer,
			  struct hw_branch *out, u32 n);

#else

static __always_inline void hw_branches_crash(void) { }
static __always_inline void hw_branches_bug(unsigned long ip, const struct bug_entry *bug) { }
static inline void hw_branches_report(void) { }
static inline void hw_branches_sys_info(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER */

#if defined(CONFIG_HW_BRANCH_RECORDER) && defined(CONFIG_KGDB)

/* The kernel stops for its debugger, and goes on. Interrupts are off. */
void hw_branches_debugger_enter(void);
void hw_branches_debugger_leave(void);

#else

static __always_inline void hw_branches_debugger_enter(void) { }
static __always_inline void hw_branches_debugger_leave(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER && CONFIG_KGDB */
#endif /* _LINUX_HW_BRANCHES_H */
