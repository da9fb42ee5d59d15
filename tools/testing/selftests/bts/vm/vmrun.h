/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the sources of vmrun, which runs a guest. */
#ifndef BTS_VMRUN_H
#define BTS_VMRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* A byte string that grows. */
struct buf {
	char *data;
	size_t len;
	size_t size;
};

void buf_add(struct buf *b, const char *data, size_t len);
void buf_drop(struct buf *b, size_t len);
/*
 * Remove the next line, and return it without newline and CR at its end; NULL if there is no whole
 * line. The result is valid until the next call.
 */
char *buf_line(struct buf *b);

/* Load the list of console lines that fail a run; see the file splats for the format. */
void splats_load(const char *path);
/* Returns whether @line is on the list and matches no exception. */
bool splats_match(const char *line);
/* Returns the number of console lines for which splats_match() found an exception. */
unsigned int splats_excused(void);

/* The emulator's machine protocol: one JSON object in each line. */
enum qmp_kind {
	QMP_OTHER,
	QMP_GREETING,
	QMP_OUTPUT,		/* output of a monitor command, or its error */
	QMP_SHUTDOWN,		/* shutdown, and its reason */
};

/* Parse a line of the protocol. @text gets the output, the error, or the reason of a shutdown. */
enum qmp_kind qmp_parse(const char *line, struct buf *text);
/* Append to @out the request to execute a monitor command. */
void qmp_request(const char *command, struct buf *out);

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif /* BTS_VMRUN_H */
