/* SPDX-License-Identifier: GPL-2.0 */
/* Programs that a test runs, and what they wrote. */
#ifndef BTS_TOOL_RUN_H
#define BTS_TOOL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OUT	"/tmp/out"
#define ERR	"/tmp/err"

/*
 * Takes the paths of btstrace and record, the first arguments; and less=N, the last
 * if it is there: on a kernel that is slower by far, all is done N times less.
 */
void run_init(int argc, char **argv);

/* @n, or less */
long less(long n);

/**
 * struct run - what came of a command
 * @status:	of waitpid()
 * @out:	what it wrote to OUT (-o)
 * @err:	what it wrote to standard error
 */
struct run {
	int	status;
	char	*out;
	char	*err;
};

/* Run a command of blanks between words, as user @uid, with @memlock bytes. */
struct run run_as(const char *line, uid_t uid, long memlock);
struct run run(const char *line);
/* The same, in two steps */
pid_t run_begin(const char *line, uid_t uid, long memlock);
struct run run_end(pid_t pid);
/* With standard input, output and error closed; what it would have said goes nowhere. */
struct run run_closed(const char *line);
/* In two steps, with a terminal for standard error, as the controlling one */
pid_t run_on_terminal(const char *line, int *terminal);
/* The same, as a job in the foreground of a shell, which ends as the job did */
pid_t run_as_job(const char *line, int *terminal);
struct run run_terminal_end(pid_t pid, int terminal);
void run_free(struct run *r);

bool exited(const struct run *r, int status);
bool killed(const struct run *r, int sig);

char *read_file(const char *path);
void write_file(const char *path, const char *text);
size_t count(const char *text, const char *what);
/* The last line of @text that holds @what, to its end; "" if there is none. */
const char *last_line(const char *text, const char *what);
void explain(const struct run *r);

/* Wait up to ten seconds for @what(@arg). */
bool wait_until(bool (*what)(long arg), long arg);

#endif
