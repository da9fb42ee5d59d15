/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch flight recorder: hardware that records the last branches of the
 * kernel on each CPU, so that they can be printed after a crash. A branch is a
 * jump that was taken, a call, a return, an exception or an interrupt.
 *
 * source:	a facility of the hardware that can record branches
 * freeze:	stop recording on all CPUs, and keep the recorded branches
 * thaw:	resume recording on all CPUs after a freeze
 * hold:	stop recording on one CPU, for as long as its branches are read
 */
#ifndef _LINUX_HW_BRANCHES_H
#define _LINUX_HW_BRANCHES_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* The field @from of a branch from user mode: its address in user mode is not shown. */
#define HW_BRANCH_USER	BIT_ULL(63)

/**
 * struct hw_branch - a branch to the kernel, or of the kernel to a bad address
 * @from:	the address of the instruction that branched, or HW_BRANCH_USER
 * @to:		the target of the branch
 *
 * If both fields are 0, this is not a branch: it marks a place where branches are missing.
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
 * @HW_BRANCH_ENTRY:	an exception or an interrupt that interrupted the kernel
 * @HW_BRANCH_EXIT:	the return from an exception or an interrupt
 * @HW_BRANCH_BREAK:	a branch from user mode, a switch to another task, or missing branches:
 *			older branches may belong to another stack
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
 * @at:		the position in the data of the architecture
 * @moved:	used by the architecture to notice that @at has become invalid
 *
 * If all fields are 0, the position is the newest branch. A position is valid while the CPU does
 * not record.
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
 * Freeze the recorder, because this CPU has crashed or is about to report a bug that is treated
 * as a crash. Call this before any other code of the crash or of the report: the branches of that
 * code would overwrite those before the crash. Any context.
 */
static __always_inline void hw_branches_crash(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_crash_freeze(0);
}

/*
 * Called at each trap that BUG(), WARN() or a sanitizer raises, with interrupts off: freeze the
 * recorder, unless the trap is that of a WARN() that will not panic. @ip is the address of the
 * trap. @bug is the struct bug_entry of the trap, or NULL if it has to be looked up.
 */
static __always_inline void hw_branches_bug(unsigned long ip, const struct bug_entry *bug)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_bug_freeze(ip, bug);
}

/*
 * Print the last branches of the CPU that has crashed, unless the crash has printed them already.
 * Called after panic() or a detector of lockups has printed the stack.
 */
static inline void hw_branches_report(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_report_print();
}

/*
 * An architecture with HAVE_HW_BRANCHES defines these functions. Choose, start, stop, thaw and
 * copy are called in process context, with hw_branches_mutex held. The functions for branches that
 * are kept over a reboot are called in process context, too. All others are called in any context.
 */

/* Return the name of a source, or NULL if there is no source of this number. 0 is the best. */
const char *arch_hw_branches_name(unsigned int source);
/* Choose the source for the next start. Called while no CPU records. */
void arch_hw_branches_choose(unsigned int source);
/* Return the name of the source that was chosen last. */
const char *arch_hw_branches_source(void);
/* Tell whether the source does not record now because it has given up its hardware to perf. */
bool arch_hw_branches_given_up(void);
/* Return the largest number of branches of a CPU that can be read. It depends on the source. */
u32 arch_hw_branches_depth(void);
/* Start recording on a CPU. If the CPU is offline, it starts when it comes online. */
int arch_hw_branches_start(int cpu);
/*
 * Stop recording on these CPUs and erase their branches; if a CPU is frozen, they may be erased
 * only when it is thawed. Waits for readers that run with preemption off.
 */
void arch_hw_branches_stop(const struct cpumask *cpus);
/*
 * Resume recording on all CPUs. @freezes is what arch_hw_branches_freezes() returned when the
 * caller decided to thaw: if there was another freeze since, the CPUs stay frozen.
 */
void arch_hw_branches_thaw(u32 freezes);
/*
 * Copy the last branches of a CPU to @out, @n at most, the newest first. The CPU may be recording.
 * Return the number of copied branches.
 */
int arch_hw_branches_copy(int cpu, struct hw_branch *out, u32 n);

/* Stop recording on this CPU at once and on the others soon, and keep the branches. */
void arch_hw_branches_freeze(void);
/* Return how often arch_hw_branches_freeze() has frozen the CPUs. */
u32 arch_hw_branches_freezes(void);
/* Tell whether a CPU is frozen. */
bool arch_hw_branches_frozen(int cpu);
/* Return when a CPU was frozen, by ktime_get_mono_fast_ns(); 0 if the time is not stored yet. */
u64 arch_hw_branches_frozen_at(int cpu);
/*
 * Stop recording on this CPU for a short time. Called with interrupts off. Return true if this call
 * has stopped recording. The caller passes the return value to arch_hw_branches_release().
 */
bool arch_hw_branches_hold(void);
/*
 * Like arch_hw_branches_hold(), called at the beginning of hw_branches_crash_freeze(). If the
 * hardware keeps so many branches that the few up to the freeze do not matter, this does nothing.
 * This function must not crash: it would be called again for that crash, without an end.
 */
bool arch_hw_branches_hold_early(void);
/* Undo arch_hw_branches_hold() or arch_hw_branches_hold_early(), which has returned @stopped. */
void arch_hw_branches_release(bool stopped);
/* Tell whether @to is in the entry code of exceptions, interrupts and system calls. */
bool arch_hw_branches_is_entry(u64 to);
/*
 * Tell the kind of a branch. Set @back to the address that a call returns to, or that an exception
 * has interrupted; otherwise to 0. This reads the instruction at branch->from, which may have
 * changed since the branch, and cannot fault.
 */
enum hw_branch_kind arch_hw_branches_kind(const struct hw_branch *branch, u64 *back);
/*
 * Tell whether an address is in a thunk: code that the compiler calls or jumps to in place of a
 * return or an indirect branch, as a mitigation.
 */
bool arch_hw_branches_is_thunk(u64 address);
/* Tell whether an address is the first one of a thunk for returns. */
bool arch_hw_branches_is_return(u64 address);
/*
 * Copy the last branches of a CPU to @out, @n at most, the newest first, without the @newer newest
 * ones. The CPU is frozen, or this CPU and held. Called with preemption off. @place is the position
 * after the last call, all 0 before the first: a call is slow if @newer is far from this position.
 * Return the number of copied branches. It is 0 if the CPU is frozen, and was offline when the
 * others were thawed.
 */
u32 arch_hw_branches_last(int cpu, struct hw_branches_place *place, u32 newer,
			  struct hw_branch *out, u32 n);

/*
 * Branches that are kept over a reboot. Each CPU has arch_hw_branches_boot_size() bytes of memory
 * for them, at a multiple of the page size.
 */
size_t arch_hw_branches_boot_size(void);
/*
 * From now on, keep the branches of a CPU in this memory: those that the hardware writes to memory
 * always, those in registers while the CPU is frozen. Called in an early_initcall.
 */
void arch_hw_branches_boot_use(unsigned int cpu, void *memory);
/*
 * Read the branches that another boot has left in the memory of a CPU, the newest first. The memory
 * may be corrupt. Return the number of branches.
 */
u32 arch_hw_branches_boot_read(const void *memory, struct hw_branch *out);
/* Return the largest number of branches that arch_hw_branches_boot_read() returns. */
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
