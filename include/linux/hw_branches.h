/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch flight recorder makes the hardware record the last branches of the kernel, on all CPUs
 * or on those that root has chosen, to print the branches after a crash. A branch is a jump that
 * was taken, a call, a return, a system call, an exception or an interrupt.
 *
 * source:	a facility of the hardware that can record branches
 * freeze:	stop recording on all CPUs, and keep the recorded branches
 * thaw:	resume recording on all CPUs after a freeze
 * hold:	stop recording on one CPU for a short time, for example to read its branches
 */
#ifndef _LINUX_HW_BRANCHES_H
#define _LINUX_HW_BRANCHES_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* The value of hw_branch.from for a branch from user mode. It replaces the address in user mode. */
#define HW_BRANCH_USER	BIT_ULL(63)

/**
 * struct hw_branch - a branch to a kernel address, or a branch of the kernel to a bad address
 * @from:	the address of the instruction that branched or was interrupted, or HW_BRANCH_USER
 * @to:		the target of the branch
 *
 * If both fields are 0, this is not a branch. It tells that branches are missing at this place. On
 * some processors, @from may be the address of the instruction before a conditional jump.
 */
struct hw_branch {
	u64	from;
	u64	to;
};

/**
 * enum hw_branch_kind - the kind of a branch
 * @HW_BRANCH_OTHER:	any other branch, for example a conditional jump; or the kind is unknown
 * @HW_BRANCH_JUMP:	an unconditional jump
 * @HW_BRANCH_CALL:	a call of a function
 * @HW_BRANCH_RETURN:	a return, usually from a call
 * @HW_BRANCH_ENTRY:	an exception or an interrupt that interrupted the kernel
 * @HW_BRANCH_EXIT:	the return from an exception or an interrupt
 * @HW_BRANCH_FROM_USER:	a system call, an exception or an interrupt in user mode
 * @HW_BRANCH_BREAK:	a switch to another task, a branch of the kernel to a user address, or
 *			missing branches: newer returns are not matched with older calls
 */
enum hw_branch_kind {
	HW_BRANCH_OTHER,
	HW_BRANCH_JUMP,
	HW_BRANCH_CALL,
	HW_BRANCH_RETURN,
	HW_BRANCH_ENTRY,
	HW_BRANCH_EXIT,
	HW_BRANCH_FROM_USER,
	HW_BRANCH_BREAK,
};

/**
 * struct hw_branches_cursor - the position of a reader in a CPU's last branches
 * @newer:	the number of branches that are newer than this position
 * @at:		the same position, as the architecture counts it
 * @moved:	for use by the architecture, for example to notice that @at has become invalid
 *
 * If all fields are 0, the position is the newest branch. A position is valid while the CPU does
 * not record. Only the architecture changes the fields. A source need not use all of them.
 */
struct hw_branches_cursor {
	u32	newer;
	u32	at;
	u64	moved;
};

struct bug_entry;
struct cpumask;

#ifdef CONFIG_HW_BRANCH_RECORDER

extern bool hw_branches_on;

bool hw_branches_crash_freeze(unsigned long ip);
void hw_branches_bug_freeze(unsigned long ip, const struct bug_entry *bug);
void hw_branches_report_print(void);
void hw_branches_report_lockup_print(int cpu, bool first);
void hw_branches_sys_info(void);

/*
 * Freeze the recorder, because this CPU has crashed or is about to report a bug that is treated
 * as a crash. Call this before any other code of the crash or of the report: the branches of that
 * code would overwrite those before the crash. Any context. Return true if the recorder is on and
 * this is the first crash since the last thaw.
 */
static __always_inline bool hw_branches_crash(void)
{
	return unlikely(READ_ONCE(hw_branches_on)) && hw_branches_crash_freeze(0);
}

/*
 * Called with interrupts off after BUG(), WARN(), a sanitizer or CFI has raised a trap at @ip. If
 * the trap is a crash, freeze the recorder: see hw_branches_bug_crashes(). Without
 * CONFIG_GENERIC_BUG, leave that to oops_enter(). @bug is the struct bug_entry of the trap, or NULL
 * if it has to be looked up.
 */
static __always_inline void hw_branches_bug_trap(unsigned long ip, const struct bug_entry *bug)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_bug_freeze(ip, bug);
}

/*
 * Print the last branches of the CPU that has crashed, unless a crash has printed them already, or
 * the recorder was thawed since the crash. Called in a panic and by the detector of soft lockups,
 * after the place where they print the stack.
 */
static inline void hw_branches_report(void)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_report_print();
}

/*
 * Print the last branches of @cpu, which is locked up with interrupts off. It may be this CPU.
 * @first is what hw_branches_crash() has returned.
 */
static inline void hw_branches_report_lockup(int cpu, bool first)
{
	if (unlikely(READ_ONCE(hw_branches_on)))
		hw_branches_report_lockup_print(cpu, first);
}

/*
 * An architecture with HAVE_HW_BRANCHES defines these functions. arch_hw_branches_choose(),
 * _start(), _stop(), _freezes(), _thaw() and _copy() are called in process context, with
 * hw_branches_mutex held. arch_hw_branches_boot_*() are called in process context. All others may
 * be called in any context, under the conditions below.
 */

/* Return the name of a source, or NULL if there is no source of this number. 0 is the best. */
const char *arch_hw_branches_name(unsigned int source);
/*
 * Choose the source for the next start. Called while no CPU records. If another source was chosen
 * before, wait until no CPU is about to freeze that source any more, and then thaw that source.
 */
void arch_hw_branches_choose(unsigned int source);
/* Return the name of the source that was chosen last. */
const char *arch_hw_branches_source(void);
/*
 * Tell whether single branches of a source, given by its name, may be wrong or missing without a
 * mark, because of an erratum of the processor.
 */
bool arch_hw_branches_unreliable(const char *source);
/*
 * While the recorder is on, tell whether it has given up its hardware to perf. True after all CPUs
 * have stopped recording, until about a second after perf has released the hardware. Inlined, as a
 * call would overwrite one of perf's last branch records.
 */
extern bool arch_hw_branches_is_given_up;
static inline bool arch_hw_branches_given_up(void)
{
	return READ_ONCE(arch_hw_branches_is_given_up);
}

/* Return the largest number of branches of a CPU that can be read. It depends on the source. */
u32 arch_hw_branches_depth(void);
/*
 * Start recording on a CPU. If the CPU is offline or frozen, or if the source has given up its
 * hardware to perf, recording starts later. Return 0 or an error.
 */
int arch_hw_branches_start(int cpu);
/*
 * Stop recording on these CPUs and erase their branches. If a CPU is frozen, its branches may stay
 * until the CPU is thawed. Wait until readers that run with preemption off have finished.
 */
void arch_hw_branches_stop(const struct cpumask *cpus);
/*
 * Resume recording on all CPUs, unless there was another freeze since arch_hw_branches_freezes()
 * returned @freezes. If a CPU does not respond within a second, let it resume later, and return.
 * The source lbr may wait two more seconds for CPU hotplug.
 */
void arch_hw_branches_thaw(u32 freezes);
/*
 * Copy the last branches of a CPU that was not frozen to @out, @n at most, the newest first. If the
 * CPU is online, wait until it has copied them. Return the number of copied branches.
 */
int arch_hw_branches_copy(int cpu, struct hw_branch *out, u32 n);

/*
 * Stop recording on this CPU at once and on the others soon, and keep the branches. With @fresh,
 * this CPU was not frozen when the caller decided to freeze; an NMI may have frozen it since.
 */
void arch_hw_branches_freeze(bool fresh);
/* Return how often arch_hw_branches_freeze() has frozen the CPUs. */
u32 arch_hw_branches_freezes(void);
/* Tell whether a CPU is frozen, or is being thawed and still keeps its branches. */
bool arch_hw_branches_frozen(int cpu);
/*
 * Return when a CPU was frozen, by ktime_get_mono_fast_ns(); 0 if the CPU is not frozen, or if the
 * time is not stored yet.
 */
u64 arch_hw_branches_frozen_at(int cpu);
/* Tell whether a CPU is still frozen after a thaw, so that its branches are outdated. */
bool arch_hw_branches_outdated(int cpu);
/*
 * Stop recording on this CPU for a short time. Called with interrupts off. The caller passes the
 * return value to arch_hw_branches_release(). It is false if there is nothing to undo, for example
 * because this CPU was held already.
 */
bool arch_hw_branches_hold(void);
/*
 * Called at the beginning of hw_branches_crash_freeze(). If the source keeps so few branches that
 * those of hw_branches_crash_freeze() could overwrite all of them, do the same as
 * arch_hw_branches_hold(). Otherwise do nothing, and return false. This function must not crash: a
 * crash calls it again, which would never end.
 */
bool arch_hw_branches_hold_early(void);
/*
 * Undo arch_hw_branches_hold() or arch_hw_branches_hold_early(), which has returned @stopped. If
 * this CPU was frozen meanwhile, recording stays stopped.
 */
void arch_hw_branches_release(bool stopped);
/* Tell whether @to is in the entry code of exceptions, interrupts and system calls. */
bool arch_hw_branches_is_entry(u64 to);
/*
 * Return the kind of a branch, derived from its addresses, the instruction at branch->from, and the
 * instruction before branch->to. The instructions may have changed since the branch. If one of them
 * cannot be read, the kind is derived without it. Set @back to the return address of a call, to the
 * address that an exception or interrupt has interrupted, or to 0 for other kinds.
 */
enum hw_branch_kind arch_hw_branches_kind(const struct hw_branch *branch, u64 *back);
/*
 * Tell whether an address is in a thunk: code that runs in place of a return or of an indirect
 * branch, as a mitigation.
 */
bool arch_hw_branches_is_thunk(u64 address);
/* Tell whether an address is the first one of a thunk that the kernel runs in place of returns. */
bool arch_hw_branches_is_return(u64 address);
/*
 * Copy the last branches of a CPU to @out, @n at most, the newest first. Skip the @newer newest
 * branches. The CPU must be frozen, or it must be this CPU and held. Called with preemption off,
 * or with hw_branches_mutex held. @cursor keeps the position between the calls of a reader, and is
 * all 0 before the first call. A call that begins far from this position may be slow. Return the
 * number of copied branches; 0 if arch_hw_branches_outdated() is true.
 */
u32 arch_hw_branches_last(int cpu, struct hw_branches_cursor *cursor, u32 newer,
			  struct hw_branch *out, u32 n);

/*
 * Branches that are kept over a reboot. Each CPU has arch_hw_branches_boot_size() bytes of memory
 * for them, at an address that is a multiple of the page size.
 */
size_t arch_hw_branches_boot_size(void);
/*
 * Keep the branches of a CPU in this memory from now on. Hardware that writes branches to memory
 * writes them there. Branches in registers are copied there when the CPU is frozen. Called in an
 * early_initcall.
 */
void arch_hw_branches_boot_use(unsigned int cpu, void *memory);
/* Erase the branches in the memory of a CPU. The hardware may still write to the memory. */
void arch_hw_branches_boot_erase(void *memory);
/*
 * Read the branches that another boot has left in the memory of a CPU, the newest first. The memory
 * may be corrupt. @out has room for arch_hw_branches_boot_most() branches. Return the number of
 * branches, and set *@source to the name of their source.
 */
u32 arch_hw_branches_boot_read(const void *memory, struct hw_branch *out, const char **source);
/* Return the largest number of branches that arch_hw_branches_boot_read() returns. */
u32 arch_hw_branches_boot_most(void);

#else

static __always_inline bool hw_branches_crash(void) { return false; }
static __always_inline void hw_branches_bug_trap(unsigned long ip, const struct bug_entry *bug) { }
static inline void hw_branches_report(void) { }
static inline void hw_branches_report_lockup(int cpu, bool first) { }
static inline void hw_branches_sys_info(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER */

#if defined(CONFIG_HW_BRANCH_RECORDER) && defined(CONFIG_KGDB)

/* kgdb_handle_exception() calls these before and after the debugger runs, with interrupts off. */
void hw_branches_debugger_enter(void);
void hw_branches_debugger_leave(void);

#else

static __always_inline void hw_branches_debugger_enter(void) { }
static __always_inline void hw_branches_debugger_leave(void) { }

#endif /* CONFIG_HW_BRANCH_RECORDER && CONFIG_KGDB */
#endif /* _LINUX_HW_BRANCHES_H */
