/* SPDX-License-Identifier: GPL-2.0 */
/* The pieces of the host-side runner. */
#ifndef BTS_VMRUN_H
#define BTS_VMRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* A growing string of bytes. */
struct buf {
	char *data;
	size_t len;
	size_t size;
};

void buf_add(struct buf *b, const char *data, size_t len);
void buf_drop(struct buf *b, size_t len);
/* The next line without its end, or NULL; valid until the next call on @b. */
char *buf_line(struct buf *b);

/* The list of console lines that fail a run (format: see file splats). */
void splats_load(const char *path);
/* True if @line is on the list and no exception takes it off. */
bool splats_match(const char *line);
/* How many lines an exception took off. */
unsigned int splats_excused(void);

/* The emulator's machine protocol: one JSON object a line. */
enum qmp_kind {
	QMP_OTHER,
	QMP_GREETING,
	QMP_OUTPUT,		/* what a monitor command printed */
	QMP_SHUTDOWN,		/* and why */
};

/* What a line of the protocol says; the text goes to @text. */
enum qmp_kind qmp_parse(const char *line, struct buf *text);
/* The request that runs one monitor command. */
void qmp_request(const char *command, struct buf *out);

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif /* BTS_VMRUN_H */
