/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_DS_STORE_H
#define BTS_DS_STORE_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

#include "../guest/debugctl.h"

/*
 * Write 1: the module ds_test claims BTS, and marks the Debug Stores. 2: it claims BTS, and records
 * on the online CPUs. 0: it ends the claim.
 */
#define CLAIM_KNOB	"/sys/module/ds_test/parameters/claim"
#define WATCHDOG_KNOB	"/proc/sys/kernel/nmi_watchdog"

/* Events of perf that concern the Debug Store. */
enum kind {
	CYCLES,		/* perf allocates the store, but the event does not use it */
	PERIOD1,	/* branches:u with a period of 1, for which perf uses BTS */
	AUX,		/* intel_bts, user mode and kernel, keeps the newest records only */
	AUX_USER,	/* the same, but user mode only */
	NR_KINDS,
};

extern const char *const kind_name[NR_KINDS];

#define AUX_SIZE	0x10000

struct trace {
	int fd;
	bool stops;	/* the AUX area does not overwrite old records */
	void *ring;
	void *aux;
};

/*
 * Open an event. If @cpu is -1, on any CPU. If @pid is 0, of the caller; if -1, of any task.
 * trace_open() returns 0 or -errno. event_open() returns a file descriptor or -errno. The events of
 * AUX and AUX_USER that event_open() opens do not record before trace_start() maps their buffer and
 * enables them. trace_start() returns false on an error.
 */
int trace_open(struct trace *t, enum kind kind, pid_t pid, int cpu);
int event_open(enum kind kind, pid_t pid, int cpu);
bool trace_start(struct trace *t);
void trace_close(struct trace *t);
bool kind_exists(enum kind kind);

/*
 * Keep an event open that needs no hardware. Without it, the kernel may patch its scheduler when
 * events open and close, and QEMU 7.2 sometimes executes a breakpoint that was replaced.
 */
void keep_perf_on(void);

/*
 * If @loaded, returns whether DS_AREA of each CPU is not 0, and different from all others.
 * Otherwise, returns whether DS_AREA of each CPU is 0.
 */
bool areas_are(bool loaded);

/* Start a child that calls functions for ever, on @cpu, or on any CPU if @cpu is -1. */
pid_t start_spinner(int cpu);
void end_spinner(pid_t pid);

size_t read_text(const char *path, char *buf, size_t len);

#endif /* BTS_DS_STORE_H */
