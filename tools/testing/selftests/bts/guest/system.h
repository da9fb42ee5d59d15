/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of tests for the system that they run on. They give up on errors. */
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
 * Convert a value of DEBUGCTL, or read the register, so that BTS has the bits that it has on all
 * processors but the Pentium 4.
 */
uint64_t plain_debugctl(uint64_t val);
uint64_t read_debugctl(int cpu);
/*
 * Wait until the Debug Store is released, some seconds after the last trace. Returns whether it
 * is.
 */
bool store_goes(int cpu);
/* Returns a figure of the `total` line of the monitor's `info bts`. */
long long bts_counter(const char *name);
/* The same, but 0 if the emulator does not have it. */
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
 * Look up symbols in /proc/kallsyms. The first one of that name counts. @end is valid for symbols
 * of the kernel itself only. Gives up if the last symbol is missing.
 */
void find_symbols(const char *const *names, struct range *at, size_t nr);
/* Lift perf's limits, which the kernel lowers on a busy host. */
void allow_many_samples(void);
/*
 * Let perf sample all CPUs every @period of the hardware's @event, by NMIs, in all modes, until
 * this program ends.
 */
void sample_all(uint64_t event, uint64_t period);
/*
 * Open perf's event of branches: each @period of them is a sample with the LBRs of user mode, and
 * of the kernel if @kernel. Returns a file descriptor, or -errno.
 */
int open_lbr(pid_t pid, int cpu, uint64_t period, bool kernel);
/* Returns the number of NMIs so far. */
long nmis(void);
/* Set the clock's alarm, which wakes the machine after it has suspended. */
void wake_later(void);
/* Wait until @pid stops by @signal, or by the event in the upper half of @signal. */
void wait_stop(pid_t pid, int signal);
/* Start a child that stops, traced, before it calls run(arg) and exits. */
pid_t start_traced(void (*run)(void *), void *arg);

#endif /* BTS_GUEST_SYSTEM_H */
