/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs that measure one figure. The guest runs under -icount shift=0,
 * where the time stamp counter advances by one for each instruction: so what
 * is counted are instructions, the kernel's and the user's, on one CPU.
 */
#ifndef BTS_MEASURE_H
#define BTS_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

static inline uint64_t instructions(void)
{
	uint32_t low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

__attribute__((noreturn, format(printf, 1, 2)))
void fail(const char *fmt, ...);

/* Print the one figure of this program, as KTAP and for measure.sh. */
void report(double value);

/* Sorts @values. */
double median(double *values, size_t n);

/*
 * The peers: a perf event on another process, and the ring or AUX area in
 * which it hands over branches. "perf_period1" is gdb's: branches of user
 * mode, period 1. "intel_bts" is the AUX event.
 */
struct peer *peer_open(const char *name, pid_t pid);
void peer_enable(struct peer *peer);
void peer_disable(struct peer *peer);

/* Read every branch that was handed over since. Returns their number. */
unsigned long peer_read(struct peer *peer);

/* Throw away what was handed over, cheaply. */
void peer_skip(struct peer *peer);

#endif /* BTS_MEASURE_H */
