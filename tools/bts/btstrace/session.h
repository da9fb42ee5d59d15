/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session has threads and their address spaces. Its caller reads records of live threads or
 * of a file, and tells it what happens. The session turns each record into a branch with all
 * that is known of it, and hands that to one output.
 */
#ifndef BTSTRACE_SESSION_H
#define BTSTRACE_SESSION_H

#include "filter.h"
#include "record.h"
#include "space.h"
#include "text.h"
#include "writer.h"

struct bt_session;

/*
 * struct bt_counts - what was seen
 * @branches:	branches, on whatever side of the kernel's border
 * @kinds:	the same, by kind, if the output wanted that to be known
 * @lost:	records that are known to be missing
 * @gaps:	places where an unknown number is missing
 */
struct bt_counts {
	u64	branches;
	u64	kinds[BT_KINDS];
	u64	lost;
	u64	gaps;
};

/*
 * struct bt_process - threads that share an address space
 */
struct bt_process {
	pid_t			tgid;
	bool			replaced;	/* by another program: not to be found */
	int			threads;
	struct bt_space		*space;
	struct bt_process	*next;
};

/*
 * struct bt_thread - a thread
 * @tid:	its ID
 * @comm:	its name
 * @process:	what it is part of
 * @counts:	what it did
 * @ended_at:	what it would have executed next, or 0
 * @clock:	the last time that a record told
 * @left_to:	where the kernel went, if no branch came since
 * @pending:	records to choose the last from, oldest first
 * @nr_pending:	how many
 * @note:	likewise, what happened to it last
 * @data:	for the output
 */
struct bt_thread {
	pid_t			tid;
	char			comm[32];
	struct bt_process	*process;
	struct bt_counts	counts;
	u64			ended_at;
	u64			clock;
	u64			left_to;
	struct x86_bts_record	*pending;
	size_t			nr_pending;
	size_t			room_pending;
	char			*note;
	void			*data;
	struct bt_thread	*next;
};

/*
 * struct bt_branch - a record, and what it means
 * @thread:	whose
 * @rec:	as the kernel gave it
 * @kind:	of branch
 * @from:	the instruction that branched, or what a signal kept from running; or NULL
 * @to:		where it went, or NULL
 */
struct bt_branch {
	struct bt_thread		*thread;
	const struct x86_bts_record	*rec;
	enum bt_kind			kind;
	struct bt_place			*from;
	struct bt_place			*to;
};

/* These flags say what an output needs. */
#define BT_OUT_PLACES	0x1	/* wants to know places, and kinds */
#define BT_OUT_WHOLE	0x2	/* makes sense of a whole trace only */
#define BT_OUT_FILTER	0x4	/* can do with a part of the branches */
#define BT_OUT_CLOCK	0x8	/* has a use for times */
#define BT_OUT_LAST	0x20	/* holds on to places: shows the last branches only */
#define BT_OUT_BINARY	0x40	/* is not for people to read */
#define BT_OUT_FUNCTIONS 0x10	/* filters are about functions, not about branches */
#define BT_OUT_CALLS	0x80	/* shows which function calls which */

/*
 * struct bt_output - a format
 * @name:	what the option is called
 * @flags:	BT_OUT_*
 * @begin:	once, before all
 * @thread:	a thread begins
 * @branch:	a record of it; NULL for places where it was not asked for
 * @note:	something else that happened to it, in words
 * @last:	what it did not execute any more, after its last branch
 * @exit:	it is gone
 * @end:	once, after all
 */
struct bt_output {
	const char	*name;
	unsigned int	flags;
	void	(*begin)(struct bt_session *s);
	void	(*thread)(struct bt_session *s, struct bt_thread *t);
	void	(*branch)(struct bt_session *s, const struct bt_branch *b);
	void	(*note)(struct bt_session *s, struct bt_thread *t, const char *what);
	void	(*last)(struct bt_session *s, struct bt_thread *t, u64 addr);
	void	(*exit)(struct bt_session *s, struct bt_thread *t);
	void	(*end)(struct bt_session *s);
};

/* Code of more bytes without a branch is a mistake: records are missing. */
#define BT_STRAIGHT_MAX	0x10000

#define BT_THREAD_BITS	14

/* An output may keep so many bytes if @memory of the session is 0. */
#define BT_MEMORY	(192ull * 1024 * 1024)

/*
 * struct bt_session - all of it
 * @out:	the format
 * @text:	where it goes
 * @filter:	which branches, or NULL for all
 * @select:	which functions, for outputs that show calls, or NULL for all
 * @last:	how many of each thread, at its end; 0 for all, at once
 * @kinds:	find out kinds, even if @out does not care
 * @many:	there may be more than one thread: say whose a line is
 * @record:	where else all is written to, or NULL
 * @counts:	of all threads, what was shown
 * @told:	what was told of, shown or not
 * @nr_threads:	that there were
 * @times:	when threads are scheduled, if @out does not want to know anyway
 * @by_thread:	for outputs that sum up, one sum for each thread
 * @memory:	bytes that @out may keep of all threads, about
 * @short_of:	what is incomplete because they did not suffice, in words, or NULL
 * @lines:	that a screen has, for the crash view
 * @width:	columns that it has, or 0
 * @again:	it shows what was recorded
 * @color:	for a terminal that has some
 * @data:	for the output
 */
struct bt_session {
	const struct bt_output	*out;
	struct bt_text		text;
	struct bt_filter	*filter;
	const struct bt_select	*select;
	u32			last;
	bool			kinds;
	bool			many;
	struct bt_writer	*record;
	struct bt_counts	counts;
	struct bt_counts	told;
	u64			nr_threads;
	bool			times;
	bool			by_thread;
	u64			memory;
	const char		*short_of;
	size_t			lines;
	size_t			width;
	bool			again;
	bool			color;
	void			*data;
	/* private */
	bool			last_reduced;
	struct bt_thread	*threads[1 << BT_THREAD_BITS];
	struct bt_process	*processes[1 << BT_THREAD_BITS];
};

void bt_session_begin(struct bt_session *s);
void bt_session_thread(struct bt_session *s, pid_t tid, pid_t tgid, bool is64, const char *comm);
void bt_session_attach(struct bt_session *s, pid_t tid, bool live);
void bt_session_maps(struct bt_session *s, pid_t tid, const char *text, size_t len);
void bt_session_jit(struct bt_session *s, pid_t tid, const char *text, size_t len);
void bt_session_code(struct bt_session *s, pid_t tid, u64 addr, const void *bytes, size_t len);
void bt_session_records(struct bt_session *s, pid_t tid, const struct x86_bts_record *rec,
			size_t n);
void bt_session_exec(struct bt_session *s, pid_t tid, pid_t old, bool is64, const char *comm);
void bt_session_note(struct bt_session *s, pid_t tid, const char *what);
char *bt_session_where(struct bt_session *s, pid_t tid, u64 addr);
void bt_session_ended_at(struct bt_session *s, pid_t tid, u64 addr);
void bt_session_exit(struct bt_session *s, pid_t tid, const char *how);
void bt_session_end(struct bt_session *s);
int bt_session_error(const struct bt_session *s);
struct bt_thread *bt_session_find(struct bt_session *s, pid_t tid);

/* At least so many records of each thread are kept to choose the last from. */
#define BT_LAST_POOL	2730
/* -n may ask for so many branches. */
#define BT_LAST_MAX	1000000
/* The crash view looks at no fewer branches: an exception that is not caught makes 40,000. */
#define BT_LAST_CRASH	87381
/* Each of these branches needs so much memory, without its places. */
#define BT_LAST_BYTES	192
/* The crash view has so many lines. */
#define BT_LINES	32

#endif
