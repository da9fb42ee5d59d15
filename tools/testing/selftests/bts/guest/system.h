/* SPDX-License-Identifier: GPL-2.0 */
/* Tests use the system by these functions. Except where noted, they give up on errors. */
#ifndef BTS_GUEST_SYSTEM_H
#define BTS_GUEST_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MSR_DEBUGCTL	0x1d9
#define MSR_DS_AREA	0x600

void pin_to(int cpu);
/*
 * Continue in a new process, which runs on @cpu only: flushes of its TLB entries wait for no other
 * CPU. This process ends when the new one does.
 */
void continue_on(int cpu);
/* Use SCHED_FIFO, so that no ordinary task preempts this one soon. Children inherit the policy. */
void run_first(void);
/* Clear @cap (CAP_*) in the set of effective capabilities. */
void drop_capability(unsigned int cap);
/* Drop the rights of CAP_PERFMON, which CAP_SYS_ADMIN gives, too. */
void drop_perfmon(void);
/* Returns whether /proc/cpuinfo has the flag @name. */
bool cpu_has(const char *name);
/* Returns whether /proc/cpuinfo has the bug @name. */
bool cpu_has_bug(const char *name);
/*
 * Returns whether the kernel uses the filter by CPL of the Debug Store. The kernel does so if the
 * processor has the flag ds_cpl and is not a model with erratum AR62 or W125 (see bts_ds_errata).
 */
bool uses_cpl_filter(void);
/*
 * Returns whether the Debug Store of this processor may store wrong records without a mark, because
 * of an erratum: see BTS_DS_UNRELIABLE in bts_ds_errata.
 */
bool is_unreliable(void);
uint64_t read_msr(int cpu, off_t nr);
void write_msr(int cpu, off_t nr, uint64_t val);
/*
 * Pentium 4 has the BTS bits of DEBUGCTL at other places. On a Pentium 4, move these bits of @val
 * to where other processors have them. On others, return @val. read_debugctl() does the same with
 * the value of the register.
 */
uint64_t plain_debugctl(uint64_t val);
uint64_t read_debugctl(int cpu);
/*
 * Wait until DS_AREA is 0: the kernel releases the Debug Store some seconds after the last trace.
 * Returns false if DS_AREA is not 0 after 20 seconds.
 */
bool ds_area_is_cleared(int cpu);
/* Returns the total @name that the command `info bts` of the emulator's monitor prints. */
long long bts_counter(const char *name);
/* The same, but returns 0 if there is no such total. */
long long bts_counter_or_0(const char *name);
/* Load a module, unless it is loaded already. */
void load_module(const char *path, const char *options);
/* Write @text to a file. Does not give up: returns 0 or -errno. */
int try_text(const char *path, const char *text);
/*
 * Shrink all slab caches. This also frees the objects that KASAN keeps in quarantine. Does nothing
 * if the kernel has no files for that.
 */
void shrink_slabs(void);
/* Read eight bytes of the kernel's memory, through the emulator's monitor. */
uint64_t peek(uint64_t addr);

struct range {
	uint64_t start;
	uint64_t end;
};

/*
 * Look up @nr symbols in /proc/kallsyms. If several have the same name, use the first. The end of
 * a symbol is the address of the next one, which may be wrong for symbols of modules. The caller
 * clears @at. A missing symbol leaves its range 0, but if the last of @names is missing, this gives
 * up.
 */
void find_symbols(const char *const *names, struct range *at, size_t nr);
/* Raise perf's limits of the sample rate, and stop the kernel from lowering them on a busy host. */
void allow_many_samples(void);
/*
 * On each CPU, open an event of perf that causes an NMI after every @period occurrences of @event
 * (PERF_COUNT_HW_*) in user mode and kernel. The events stay open until this program ends.
 */
void sample_all(uint64_t event, uint64_t period);
/* Returns for how many nanoseconds the process @pid has executed. */
uint64_t executed_ns(pid_t pid);
/*
 * Returns whether a CPU had enough @samples while a process executed there for @ns nanoseconds. A
 * sample is due after each @period_ns nanoseconds. More than half of those that are due are enough,
 * as some periods have no sample on a busy host. At least 11 must be due.
 */
bool enough_samples(long samples, uint64_t ns, uint64_t period_ns);
/*
 * Open an event of perf that samples the LBRs every @period branches. The event counts and records
 * branches of user mode and, if @kernel, of the kernel. Returns a file descriptor, or -errno.
 */
int open_lbr(pid_t pid, int cpu, uint64_t period, bool kernel);
/* A @period that no test reaches: the event takes no samples. */
#define NEVER	(1ULL << 40)
/*
 * Returns the number of interrupts since boot, on all CPUs, or 0 on an error. @name is that of a
 * line in /proc/interrupts: "CAL" is function call interrupts; "PMI" is interrupts of counters, not
 * of BTS.
 */
long interrupts(const char *name);
/* The same on @cpu. All CPUs must be online. */
long interrupts_of_cpu(const char *name, int cpu);
long nmis(void);
/* Set the alarm of the real-time clock, which wakes the machine from suspend. */
void wake_later(void);
/* Wait until @pid stops, which must be by @signal. For a ptrace event: SIGTRAP | EVENT << 8. */
void wait_stop(pid_t pid, int signal);
/* Start a tracee that has stopped by SIGSTOP. When continued, it calls run(arg) and exits. */
pid_t start_traced(void (*run)(void *), void *arg);

#endif /* BTS_GUEST_SYSTEM_H */
