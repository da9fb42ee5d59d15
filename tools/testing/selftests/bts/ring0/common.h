/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of group ring0 share. */
#ifndef BTS_RING0_COMMON_H
#define BTS_RING0_COMMON_H

#include <stdint.h>
#include <sys/types.h>

#include "../guest/guest.h"
#include "../guest/system.h"

#define TRACEFS		"/sys/kernel/tracing"
#define RECORDER	TRACEFS "/hw_branches"
/* Where a mark is in the module that crashes */
#define MARK		TRACEFS "/events/bts_crash/bts_crash_mark/trigger"

#define DEBUGCTL_BTS_BITS	0x7c0ul
#define DEBUGCTL_OFF_USR	0x400ul
/* Nobody is interrupted, and nothing of the kernel's is left out. */
#define DEBUGCTL_RECORDER	0x0c0ul

/* Write to a file of the recorder: 0 or -errno; must_set() gives up if that fails. */
int set(const char *name, const char *text);
void must_set(const char *name, const char *text);
/* All of a file below the recorder's directory, to be freed. */
char *get(const char *name);
bool is(const char *name, const char *text);

int cpus(void);
bool recording(int cpu);

/* The kernel's log: messages without their heads, false where there is no more */
void open_log(void);
bool read_log(char *line, size_t size);
void skip_log(void);

/* One line of the trace: "CPU  TO <- FROM". */
struct line {
	int cpu;
	char to[128];
	char from[128];
};

/* The next line of @text; false at its end. */
bool next_line(const char **text, struct line *line);
/* Is @at, "function+0x1/0x2 [module]", in @function? */
bool within(const char *at, const char *function);
/* Lines of the trace that arrive in or leave from @function, on CPU or on all (-1) */
size_t count_lines(const char *trace, int cpu, const char *function);

#endif
