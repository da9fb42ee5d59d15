/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_DS_STORE_H
#define BTS_DS_STORE_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

#include "../debugctl/common.h"

#define CLAIM_KNOB	"/sys/module/ds_test/parameters/claim"
#define WATCHDOG_KNOB	"/proc/sys/kernel/nmi_watchdog"

/* What perf offers that has to do with the Debug Store. */
enum kind {
	CYCLES,		/* takes the store, but does not use it */
	PERIOD1,	/* branches:u, each of them a sample */
	AUX,		/* intel_bts, user and kernel, the newest only */
	AUX_USER,	/* intel_bts, user only */
	NR_KINDS,
};

extern const char *const kind_name[NR_KINDS];

#define AUX_SIZE	0x10000

struct trace {
	int fd;
	void *ring;
	void *aux;
};

/*
 * On any CPU with @cpu -1, of any task with @pid -1. Returns 0 or -errno,
 * event_open() the event or -errno. One of intel_bts is opened without a buffer,
 * trace_start() gives it one.
 */
int trace_open(struct trace *t, enum kind kind, pid_t pid, int cpu);
int event_open(enum kind kind, pid_t pid, int cpu);
bool trace_start(struct trace *t);
void trace_close(struct trace *t);
bool kind_exists(enum kind kind);

/*
 * Leaves an event open that needs no hardware. Without one the kernel patches
 * its scheduler with each first and last event, and QEMU 7.2 at times still
 * executes the breakpoint that was there meanwhile.
 */
void keep_perf_on(void);

/* Is DS_AREA of each CPU loaded (or 0), and each with an address of its own? */
bool areas_are(bool loaded);

/* Calls functions for ever, in a child that may run on @cpu, -1 for any. */
pid_t start_spinner(int cpu);
void end_spinner(pid_t pid);

size_t read_text(const char *path, char *buf, size_t len);

#endif /* BTS_DS_STORE_H */
