/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs that measure a figure. The guest runs with -icount shift=0, where the time stamp
 * counter advances by one for each instruction of user mode or kernel, and for each iteration of an
 * instruction with REP. So the difference of two values is a number of instructions, if the guest
 * has one CPU, which was not idle meanwhile.
 */
#ifndef BTS_GUEST_MEASURE_H
#define BTS_GUEST_MEASURE_H

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

/* Print the figure of this program, as KTAP and for measure.sh. */
void report(double value);

/* Sorts @values, and returns the median. If @n is even, that is the upper of the middle two. */
double median(double *values, size_t n);

/*
 * A peer is an event of perf on another process, with its ring or AUX area: a way to record
 * branches without PTRACE_BTS_*. "perf_period1" is the event that gdb uses: branches of user mode
 * with period 1. "intel_bts" is the AUX event.
 */
struct peer *peer_open(const char *name, pid_t pid);
void peer_enable(struct peer *peer);
void peer_disable(struct peer *peer);

/* Read all new branches. Returns their number. */
unsigned long peer_read(struct peer *peer);

/* Discard all new branches, cheaply. */
void peer_skip(struct peer *peer);

#endif /* BTS_GUEST_MEASURE_H */
