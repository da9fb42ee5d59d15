/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of the recorder, which is the branch flight recorder. Its files are in RECORDER. A
 * freeze stops its recording and keeps the branches. A thaw resumes recording.
 */
#ifndef BTS_RECORDER_H
#define BTS_RECORDER_H

#include <stdint.h>
#include <sys/types.h>

#include "guest.h"
#include "system.h"

#define TRACEFS		"/sys/kernel/tracing"
#define RECORDER	TRACEFS "/hw_branches"
/* The trigger file of the event bts_crash_mark, which is in the module bts_crash. */
#define MARK		TRACEFS "/events/bts_crash/bts_crash_mark/trigger"

#define DEBUGCTL_BTS_BITS	0x7c0ul
#define DEBUGCTL_OFF_USR	0x400ul
/* The recorder sets TR and BTS. It clears BTINT, and BTS_OFF_OS, which filters out the kernel. */
#define DEBUGCTL_RECORDER	0x0c0ul

/* Write @text to RECORDER/@name. set() returns 0 or -errno, must_set() gives up on an error. */
int set(const char *name, const char *text);
void must_set(const char *name, const char *text);
/* Returns the contents of the file RECORDER/@name, in memory of malloc(). */
char *get(const char *name);
/* Returns whether the first line of the file RECORDER/@name is @text. */
bool is(const char *name, const char *text);

/*
 * Returns whether the first line of the file @name, such as "trace", names the source that is on,
 * and says whether it is unreliable. While the recorder is off, the line must name none.
 */
bool trace_names_source(const char *name);

/*
 * Load the module argv[1]. If the next argument is "saved", let the host save this guest's state,
 * and wait until the host continues a guest from it. The host gives more arguments in the name of
 * that guest's emulator: "continue:", and the arguments with a colon between them. Returns argv,
 * with these arguments.
 */
char **load_and_continue(int *argc, char **argv);

int cpus(void);
/*
 * Returns whether a CPU's DEBUGCTL is that of the recorder with the Debug Store, with user mode
 * filtered or not.
 */
bool recording(int cpu);

/*
 * Read the kernel's log, after open_log(). read_log() stores the next message without its prefix in
 * @line, and returns false if there is none. skip_log() skips all messages up to the end.
 */
void open_log(void);
bool read_log(char *line, size_t size);
void skip_log(void);

/* A line of the file "trace": "CPU  TO <- FROM". In lines of other kinds, both texts are empty. */
struct line {
	int cpu;
	char to[128];
	char from[128];
};

/* Parse the next line of @text, skipping those that begin with '#'. Returns false at the end. */
bool next_line(const char **text, struct line *line);
/*
 * Returns whether @at, such as "function+0x1/0x2 [module]", is in @function, or in the padding
 * before it, if the padding has the symbol "__pfx_" and the function's name.
 */
bool within(const char *at, const char *function);
/* Returns whether @at is the beginning of @function, or in such padding before it. */
bool enters(const char *at, const char *function);
/*
 * Count the lines that next_line() finds in @trace and whose branch begins or ends in @function. If
 * @function is NULL, count all that it finds. If @cpu is not -1, count only lines of that CPU.
 */
size_t count_lines(const char *trace, int cpu, const char *function);
/* Returns whether the file @name, such as "per_cpu/cpu1/trace", contains a branch. */
bool shows_branches(const char *name);

#endif
