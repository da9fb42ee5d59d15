/* SPDX-License-Identifier: GPL-2.0 */
/* Functions by which tests use the system that they run on. They give up on errors. */
#ifndef BTS_GUEST_SYSTEM_H
#define BTS_GUEST_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MSR_DEBUGCTL	0x1d9
#define MSR_DS_AREA	0x600

void pin_to(int cpu);
uint64_t read_msr(int cpu, off_t nr);
void write_msr(int cpu, off_t nr, uint64_t val);
/*
 * Pentium 4 has the BTS bits of DEBUGCTL at other places. Move these bits of @val to where all
 * other processors have them. read_debugctl() does the same with the value of the register.
 */
uint64_t plain_debugctl(uint64_t val);
uint64_t read_debugctl(int cpu);
/*
 * Wait until DS_AREA is 0: the kernel releases the Debug Store some seconds after the last trace.
 * Returns false if DS_AREA is not 0 after 20 seconds.
 */
bool ds_area_is_cleared(int cpu);
/* Returns a number from the line `total` of the monitor's `info bts`. */
long long bts_counter(const char *name);
/* The same, but returns 0 if there is no such number or no line `total`. */
long long bts_counter_or_0(const char *name);
/* Load a module, unless it is loaded already. */
void load_module(const char *path, const char *options);
/* Write to a file. Does not give up: returns 0 or -errno. */
int try_text(const char *path, const char *text);
/* Shrink all slab caches, since KASAN keeps freed objects in quarantine until then. */
void shrink_slabs(void);
/*
 * Read eight bytes of the kernel's memory, through the page tables of the monitor's current CPU.
 */
uint64_t peek(uint64_t addr);

struct range {
	uint64_t start;
	uint64_t end;
};

/*
 * Look up @nr symbols in /proc/kallsyms. If several have the same name, use the first. @end is the
 * address of the next symbol, and not valid for symbols of modules. Gives up if the last of @names
 * is missing.
 */
void find_symbols(const char *const *names, struct range *at, size_t nr);
/* Raise perf's limits of the sample rate, which the kernel lowers if the host is busy. */
void allow_many_samples(void);
/*
 * Open an event of perf on each CPU that causes an NMI every @period of the hardware's @event, in
 * user mode and kernel. The events stay open until this program ends.
 */
void sample_all(uint64_t event, uint64_t period);
/*
 * Open an event of perf that takes a sample every @period branches, with the LBRs. Branches of user
 * mode count and are in the LBRs, and those of the kernel if @kernel. Returns a file descriptor, or
 * -errno.
 */
int open_lbr(pid_t pid, int cpu, uint64_t period, bool kernel);
/* Returns the number of NMIs since boot, on all CPUs. */
long nmis(void);
/* Set the alarm of the real-time clock, which wakes the machine from suspend. */
void wake_later(void);
/* Wait until @pid stops. Gives up unless by @signal (of an event: SIGTRAP | EVENT << 8). */
void wait_stop(pid_t pid, int signal);
/* Start a tracee that has stopped by SIGSTOP. When continued, it calls run(arg) and exits. */
pid_t start_traced(void (*run)(void *), void *arg);

#endif /* BTS_GUEST_SYSTEM_H */
