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

void hw_branches_crash_freeze(void);

/*
 * This CPU has crashed: stop recording before anything else is done, here and
 * then elsewhere. Any context.
 */
static __always_inline void hw_branches_crash(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_crash_freeze();
}

/* find_bug(), unrecorded; what is found and no warning freezes all CPUs. */
struct bug_entry *hw_branches_find_bug(unsigned long bugaddr);

void hw_branches_crash_survived(void);
void hw_branches_crash_over(void);

/* The task that crashed dies now, and the kernel goes on. */
static inline void hw_branches_survived(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_crash_survived();
}

/* The crash of current is none: somebody has told it to go on. */
static inline void hw_branches_undone(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_crash_over();
}

/*
 * What an architecture with HAVE_HW_BRANCHES brings. The first four and
 * arch_hw_branches_copy() are for process context, the others for any.
 */

/* How many branches of a CPU a reader gets at most. */
u32 arch_hw_branches_depth(void);
/* Record on a CPU from now on, or from when it comes online. */
int arch_hw_branches_start(int cpu);
/* No more on these CPUs, and leave nothing behind. */
void arch_hw_branches_stop(const struct cpumask *cpus);
/* Have all CPUs go on, unless they were frozen more often than that. */
void arch_hw_branches_thaw(u32 freezes);
/* The last branches of a CPU, recording or not, the newest first: how many? */
int arch_hw_branches_copy(int cpu, struct hw_branch *out, u32 n);

/* Stop this CPU at once and the others soon, and keep what there is. */
void arch_hw_branches_freeze(void);
/* How often was that done? */
u32 arch_hw_branches_freezes(void);
/* Has a CPU stopped? */
bool arch_hw_branches_frozen(int cpu);
/* Stop this CPU for a moment, with interrupts off. */
bool arch_hw_branches_hold(void);
/* The end of the moment; takes what the former returned. */
void arch_hw_branches_release(bool held);
/* Is this where an exception or an interrupt begins? */
bool arch_hw_branches_is_entry(u64 to);
/*
 * The same as copy, behind so many newer ones, of a CPU frozen or held. What is
 * far from where the reader was the last time takes longer.
 */
u32 arch_hw_branches_last(int cpu, struct hw_branches_place *place, u32 newer,
			  struct hw_branch *out, u32 n);

#else

static __always_inline void hw_branches_crash(void) { }
static inline void hw_branches_survived(void) { }
static inline void hw_branches_undone(void) { }
#define hw_branches_find_bug(bugaddr)	find_bug(bugaddr)

#endif /* CONFIG_HW_BRANCH_RECORDER */

#if defined(CONFIG_HW_BRANCH_RECORDER) && defined(CONFIG_KGDB_KDB)

/*
 * The kernel stops for its debugger, and goes on: as if the exception that brought
 * it there had not been, or not. Interrupts are off.
 */
void hw_branches_debugger_enter(void);
void hw_branches_debugger_leave(bool undone);

#else

static __always_inline void hw_branches_debugger_enter(void) { }

static inline void hw_branches_debugger_leave(bool undone)
{
	if (undone)
		hw_branches_undone();
}

#endif /* CONFIG_HW_BRANCH_RECORDER && CONFIG_KGDB_KDB */
#endif /* _LINUX_HW_BRANCHES_H */
