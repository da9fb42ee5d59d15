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
/* It may have been loaded before. */
void load_module(const char *path, const char *options);
/* Does not give up: returns 0 or -errno. */
int try_text(const char *path, const char *text);
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
/* perf samples each CPU every @ns until this program ends: by NMIs, in all modes. */
void sample_all(uint64_t ns);
/* NMIs of this machine so far. */
long nmis(void);
/* The clock wakes the machine when it has had time to fall asleep. */
void wake_later(void);

#endif /* BTS_GUEST_SYSTEM_H */
