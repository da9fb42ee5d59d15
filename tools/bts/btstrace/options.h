/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTSTRACE_OPTIONS_H
#define BTSTRACE_OPTIONS_H

#include "how.h"
#include "pager.h"
#include "session.h"

#define VERSION	"1.0"

/*
 * struct options - the command line
 * @out:	the mode, that is, the output that shows the trace
 * @how:	how live threads are traced
 * @filter:	which branches or functions to show, or NULL for all
 * @select:	which functions to show in a call tree
 * @last:	how many of the last branches of each thread to show or, for the crash view, to
 *	look at; 0: all
 * @lines:	about how many lines of each thread the crash view shows
 * @times:	show when threads are scheduled in and out
 * @by_thread:	show each thread by itself
 * @force:	show a recorded trace even if programs have changed since
 * @no_pager:	do not start a pager
 * @color:	when to use colors
 * @memory:	the limit of --memory, in bytes
 * @output:	the file to write to; NULL: standard error or, with -r, standard output
 * @write:	the file to record the trace to, or NULL
 * @read:	the recorded trace to show, or NULL
 * @pids:	the processes and threads to attach to
 * @nr_pids:	the number of @pids
 * @quiet:	print no closing line, no progress, and no warning that there is no Branch Trace
 *	Store
 * @command:	the command to start, with its arguments, ended by NULL; if there is none,
 *	@command[0] is NULL
 */
struct options {
	const struct bt_output	*out;
	struct bt_how		how;
	struct bt_filter	*filter;
	struct bt_select	select;
	u32			last;
	size_t			lines;
	bool			times;
	bool			by_thread;
	bool			force;
	bool			no_pager;
	enum bt_when		color;
	u64			memory;
	const char		*output;
	const char		*write;
	const char		*read;
	pid_t			*pids;
	size_t			nr_pids;
	bool			quiet;
	char			**command;
};

/* The message if -o names the same file as -w or -r */
#define SAME_FILE	"-o: that file is for the recorded trace"

/* The part of the @bytes of --memory that an output may use */
#define MODE_SHARE(bytes)	((bytes) / 8 * 3)

void options_complain(const char *wrong);

/*
 * Returns -1 if the options are fine. Otherwise a message, the help or the version was
 * printed: returns the exit status to end with.
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
