/* SPDX-License-Identifier: GPL-2.0 */
/* Run commands, and get their status and their output. */
#ifndef BTS_TOOL_RUN_H
#define BTS_TOOL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OUT	"/tmp/out"
#define ERR	"/tmp/err"

/*
 * Take the paths of btstrace, and of record (which records by single steps), from the first two
 * arguments. If the last argument is less=N, less() divides by N.
 */
void run_init(int argc, char **argv);

/* Returns @n divided by the N of less=N, but at least 1. */
long less(long n);

/**
 * struct run - the result of a command
 * @status:	of waitpid()
 * @out:	what it wrote to the file OUT, by -o OUT; "" if it wrote none
 * @err:	what it wrote to standard output and standard error
 */
struct run {
	int	status;
	char	*out;
	char	*err;
};

/*
 * Run a command, whose words are separated by blanks, as user @uid, and with @memlock as
 * RLIMIT_MEMLOCK unless it is -1. $b and $r stand for btstrace and record.
 */
struct run run_as(const char *line, uid_t uid, long memlock);
struct run run(const char *line);
/* The same as run_as(), in two steps */
pid_t run_begin(const char *line, uid_t uid, long memlock);
struct run run_end(pid_t pid);
/* Run a command with standard input, output and error closed. */
struct run run_closed(const char *line);
/*
 * Run a command on a new terminal, which is its controlling one, and its standard output and
 * error. @terminal gets the master side. run_terminal_end() returns the output in @err.
 */
pid_t run_on_terminal(const char *line, int *terminal);
/* The same, but the command is the foreground job of a shell, which exits with the job's status. */
pid_t run_as_job(const char *line, int *terminal);
struct run run_terminal_end(pid_t pid, int terminal);
void run_free(struct run *r);

bool exited(const struct run *r, int status);
bool killed(const struct run *r, int sig);

char *read_file(const char *path);
void write_file(const char *path, const char *text);
size_t count(const char *text, const char *what);
/* Returns the part of @text that begins with the last line that contains @what, or "". */
const char *last_line(const char *text, const char *what);
void explain(const struct run *r);

/* Call @what up to 500 times, with pauses of 20 ms, until it is true. Return whether it was. */
bool wait_until(bool (*what)(long arg), long arg);

#endif
