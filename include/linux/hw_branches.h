/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch flight recorder: hardware that records the last branches of the
 * kernel on each CPU, so that they can be printed after a crash.
 */
#ifndef _LINUX_HW_BRANCHES_H
#define _LINUX_HW_BRANCHES_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* The @from of a branch from user mode, whose address is not shown */
#define HW_BRANCH_USER	BIT_ULL(63)

/**
 * struct hw_branch - a branch to the kernel, or of the kernel to a bad address
 * @from:	the address of the instruction that branched, or HW_BRANCH_USER
 * @to:		its target
 *
 * Both are 0 if this is not a branch, but says that branches are missing.
 */
struct hw_branch {
	u64	from;
	u64	to;
};

/**
 * enum hw_branch_kind - the kind of a branch, as the instruction at its source tells
 * @HW_BRANCH_OTHER:	a conditional jump, or an unknown kind
 * @HW_BRANCH_JUMP:	an unconditional jump
 * @HW_BRANCH_CALL:	a call
 * @HW_BRANCH_RETURN:	the return from a call
 * @HW_BRANCH_ENTRY:	an exception or an interrupt of the kernel
 * @HW_BRANCH_EXIT:	the return from an exception or an interrupt
 * @HW_BRANCH_BREAK:	the code before it ran on another stack: a branch from user mode, a
 *			switch to another task, or missing records
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
 * struct hw_branches_place - the position of a reader in a CPU's last branches
 * @newer:	the number of branches that are newer than this position
 * @at:		the position, used by the architecture
 * @moved:	a state on which @at depends, used by the architecture
 *
 * All are 0 at the newest branch. The position is valid while the CPU does not record.
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
 * Stop recording as this CPU has crashed, or is about to report a bug that is treated as a
 * crash: first here, then on the other CPUs. To be called before anything else is done, in
 * any context.
 */
static __always_inline void hw_branches_crash(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_crash_freeze(0);
}

/*
 * Call hw_branches_crash() at the trap of a BUG(), or of a WARN() that will panic. @bug is
 * its struct bug_entry, NULL if it has to be looked up. Called with interrupts off.
 */
static __always_inline void hw_branches_bug(unsigned long ip, const struct bug_entry *bug)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_bug_freeze(ip, bug);
}

/* Print the last branches of this CPU. Called when a crash has been printed with its stack. */
static inline void hw_branches_report(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_report_print();
}

/*
 * An architecture with HAVE_HW_BRANCHES defines these functions. Those up to
 * arch_hw_branches_copy() are called in process context, the others in any context.
 */

/* Return the name of a source of records, NULL if there are no more. 0 is the best source. */
const char *arch_hw_branches_name(unsigned int source);
/* Choose the source for the next start. Called while no CPU records. */
void arch_hw_branches_choose(unsigned int source);
/* Return the name of the source that was chosen last. */
const char *arch_hw_branches_source(void);
/* Tell whether the source does not record now, as a user with priority has its hardware. */
bool arch_hw_branches_given_up(void);
/* Return the largest number of branches of a CPU that can be read. It depends on the source. */
u32 arch_hw_branches_depth(void);
/* Start recording on a CPU. If it is offline, start when it comes online. */
int arch_hw_branches_start(int cpu);
/*
 * Stop recording on these CPUs, which are not frozen, and erase their branches. Waits for
 * readers that run with preemption off.
 */
void arch_hw_branches_stop(const struct cpumask *cpus);
/* Resume recording on all CPUs, unless there were more than @freezes freezes. */
void arch_hw_branches_thaw(u32 freezes);
/* Copy the last branches of a CPU, recording or not, newest first. Return their number. */
int arch_hw_branches_copy(int cpu, struct hw_branch *out, u32 n);

/* Stop recording on this CPU at once and on the others soon, and keep the branches. */
void arch_hw_branches_freeze(void);
/* Return the number of freezes so far. */
u32 arch_hw_branches_freezes(void);
/* Tell whether a CPU is frozen. */
bool arch_hw_branches_frozen(int cpu);
/* Return when it was frozen, by ktime_get_mono_fast_ns(); 0 if that is not known yet. */
u64 arch_hw_branches_frozen_at(int cpu);
/* Stop recording on this CPU for a short time. Called with interrupts off. */
bool arch_hw_branches_hold(void);
/*
 * Do the same shortly before a freeze, if the hardware keeps so few branches that those up
 * to the freeze matter. A crash in this function would recurse without an end.
 */
bool arch_hw_branches_hold_early(void);
/* Undo one of these two functions. @held is what it returned. */
void arch_hw_branches_release(bool held);
/* Tell whether @to is in the entry code of exceptions and interrupts. */
bool arch_hw_branches_is_entry(u64 to);
/*
 * Tell the kind of a branch. @back is the address that a call returns to, or that an exception
 * has interrupted. This reads the instruction, which may have changed since, and cannot fault.
 */
enum hw_branch_kind arch_hw_branches_kind(const struct hw_branch *branch, u64 *back);
/* Tell whether an address is in a thunk, which returns or indirect calls jump through. */
bool arch_hw_branches_is_thunk(u64 address);
/* Tell whether an address is that of a return thunk. */
bool arch_hw_branches_is_return(u64 address);
/*
 * Copy the last branches of a CPU that is frozen or held, the newest first, without the @newer
 * newest ones. Return their number: 0 if the CPU was frozen and offline when the others were
 * thawed. Called with preemption off. This takes longer if @newer is far from @place.
 */
u32 arch_hw_branches_last(int cpu, struct hw_branches_place *place, u32 newer,
			  struct hw_branch *out, u32 n);

/*
 * Branches that are kept over a reboot. Each CPU has arch_hw_branches_boot_size() bytes of memory
 * for them, at a multiple of the page size.
 */
size_t arch_hw_branches_boot_size(void);
/* Keep the branches of a frozen CPU in this memory. Called in an early_initcall. */
void arch_hw_branches_boot_use(unsigned int cpu, void *memory);
/* Read the branches from the memory of a CPU, the newest first. The memory may be corrupt. */
u32 arch_hw_branches_boot_read(const void *memory, struct hw_branch *out);
/* Return the largest number of branches that this reads. */
u32 arch_hw_branches_boot_most(void);

#else

static __always_inline void hw_branches_crash(void) { }
static __always_inline void hw_branches_bug(unsigned long ip, const struct bug_entry *bug) { }
static inline void hw_branches_report(void) { }
static inline void hw_branches_sys_info(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER */

#if defined(CONFIG_HW_BRANCH_RECORDER) && defined(CONFIG_KGDB)

/* Called with interrupts off, when the kernel debugger stops and resumes the kernel. */
void hw_branches_debugger_enter(void);
void hw_branches_debugger_leave(void);

#else

static __always_inline void hw_branches_debugger_enter(void) { }
static __always_inline void hw_branches_debugger_leave(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER && CONFIG_KGDB */
#endif /* _LINUX_HW_BRANCHES_H */
