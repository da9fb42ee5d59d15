/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTSTRACE_OPTIONS_H
#define BTSTRACE_OPTIONS_H

#include "how.h"
#include "pager.h"
#include "session.h"

#define VERSION	"1.0"

/*
 * struct options - the command line
 * @out:	the format
 * @how:	what to trace
 * @filter:	which branches to show
 * @select:	which functions, for what shows calls
 * @last:	how many; 0 for all
 * @lines:	that the crash view has
 * @times:	show when threads are scheduled
 * @by_thread:	a call tree for each
 * @force:	replay even if files are not those that were traced
 * @no_pager:	none before a terminal
 * @color:	when to use some
 * @memory:	that what is remembered of the trace may take, in bytes
 * @output:	a file, or NULL
 * @write:	where to record, or NULL
 * @read:	what to replay, or NULL
 * @pids:	whom to attach to
 * @nr_pids:	how many
 * @quiet:	no closing line, and no word of a missing Branch Trace Store
 * @command:	what to start
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

/* The message if -o and -w, or -o and -r, name one file */
#define SAME_FILE	"-o: that file is for the recorded trace"

/* A mode may keep so much of the memory. */
#define MODE_SHARE(bytes)	((bytes) / 8 * 3)

void options_complain(const char *wrong);

/* Returns -1 to go on, or an exit status: it was said why. */
int options_parse(struct options *o, int argc, char **argv);

#endif
