/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the programs of group ring0. */
#ifndef BTS_RING0_COMMON_H
#define BTS_RING0_COMMON_H

#include <stdint.h>
#include <sys/types.h>

#include "../guest/guest.h"
#include "../guest/system.h"

#define TRACEFS		"/sys/kernel/tracing"
#define RECORDER	TRACEFS "/hw_branches"
/* The trigger file of the event bts_crash_mark, which is in the module bts_crash. */
#define MARK		TRACEFS "/events/bts_crash/bts_crash_mark/trigger"

#define DEBUGCTL_BTS_BITS	0x7c0ul
#define DEBUGCTL_OFF_USR	0x400ul
/*
 * DEBUGCTL while the recorder runs: TR and BTS. No BTINT, and the kernel is not filtered.
 */
#define DEBUGCTL_RECORDER	0x0c0ul

/*
 * Write to a file of the recorder. set() returns 0 or -errno, must_set() gives up instead.
 */
int set(const char *name, const char *text);
void must_set(const char *name, const char *text);
/* Returns the contents of a file below the recorder's directory, which the caller frees. */
char *get(const char *name);
bool is(const char *name, const char *text);

int cpus(void);
bool recording(int cpu);

/* Read the kernel's log: messages without prefix. read_log() returns false at the end. */
void open_log(void);
bool read_log(char *line, size_t size);
void skip_log(void);

/* A line of the trace: "CPU  TO <- FROM". */
struct line {
	int cpu;
	char to[128];
	char from[128];
};

/* Parse the next line of @text. Returns false at the end. */
bool next_line(const char **text, struct line *line);
/* Returns whether @at, such as "function+0x1/0x2 [module]", is in @function. */
bool within(const char *at, const char *function);
/* Count lines of the trace that enter or leave @function, on @cpu, or on all CPUs if -1. */
size_t count_lines(const char *trace, int cpu, const char *function);

#endif
