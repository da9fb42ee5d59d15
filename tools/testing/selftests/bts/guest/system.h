/* SPDX-License-Identifier: GPL-2.0 */
/* What tests ask of the system that they run on. Who fails gives up. */
#ifndef BTS_GUEST_SYSTEM_H
#define BTS_GUEST_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MSR_DEBUGCTL	0x1d9
#define MSR_DS_AREA	0x600

void pin_to(int cpu);
uint64_t read_msr(int cpu, off_t nr);
/* A value of DEBUGCTL, and the register itself: with BTS where all but the Pentium 4 have it */
uint64_t plain_debugctl(uint64_t val);
uint64_t read_debugctl(int cpu);
/* The Debug Store outlives the last trace for some seconds: does it go then? */
bool store_goes(int cpu);
/* One figure of the `total` line of the monitor's `info bts`. */
long long bts_counter(const char *name);
/* The same, 0 if the machine does not give it. */
long long bts_counter_or_0(const char *name);
/* It may have been loaded before. */
void load_module(const char *path, const char *options);
/* Does not give up: returns 0 or -errno. */
int try_text(const char *path, const char *text);
/* KASAN keeps freed objects in quarantine until their cache is shrunk. */
void shrink_slabs(void);
/* Eight bytes of the kernel's memory, which the processor that the monitor is at maps. */
uint64_t peek(uint64_t addr);

struct range {
	uint64_t start;
	uint64_t end;
};

/*
 * From /proc/kallsyms: of several with a name the first, and @end is for the kernel's
 * own. Who does not find the last one gives up.
 */
void find_symbols(const char *const *names, struct range *at, size_t nr);
/* Lift perf's limits, which are lowered where the host is busy. */
void allow_many_samples(void);
/*
 * perf samples each CPU, every @period of the hardware's @event, until this program
 * ends: by NMIs, in all modes.
 */
void sample_all(uint64_t event, uint64_t period);
/*
 * perf's event of branches, each @period of them a sample with the last branch records
 * of user mode, and of the kernel if @kernel. A file descriptor, or -errno.
 */
int open_lbr(pid_t pid, int cpu, uint64_t period, bool kernel);
/* NMIs of this machine so far. */
long nmis(void);
/* The clock wakes the machine when it has had time to fall asleep. */
void wake_later(void);

#endif /* BTS_GUEST_SYSTEM_H */
