/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session has threads and their address spaces. Its caller reads records of live threads
 * or of a recorded trace, and passes them to the session. If the output or the filter needs it,
 * the session finds the kinds and the places of branches: struct bt_place is an address with its
 * function, module and line. The session passes records to one output.
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
 * struct bt_counts - numbers of records
 * @branches:	branches, in user mode or in the kernel
 * @kinds:	branches by kind; all are BT_UNKNOWN if the session does not look for kinds
 * @lost:	missing records, as far as the kernel has counted them
 * @gaps:	how often records may be missing that the kernel has not counted
 */
struct bt_counts {
	u64	branches;
	u64	kinds[BT_KINDS];
	u64	lost;
	u64	gaps;
};

/* struct bt_process - threads that share an address space */
struct bt_process {
	pid_t			tgid;
	bool			replaced;	/* by execve(): get_process() does not find it */
	int			threads;
	struct bt_space		*space;
	struct bt_process	*next;
};

/*
 * struct bt_thread - a thread
 * @tid:	its ID
 * @comm:	its name
 * @process:	the process that it is part of
 * @counts:	its records that were shown, or left out by the filter
 * @ended_at:	the address that it would have executed next when it ended, or 0
 * @clock:	the last time in the records that show() in session.c has handled
 * @left_to:	where the kernel returned to, if neither X86_BTS_BRANCH nor _LOST followed; or 0
 * @pending:	if only the last branches are shown: its newest records, oldest first
 * @nr_pending:	the number of records in @pending
 * @room_pending: the number of records that @pending has room for
 * @note:	if only the last branches are shown: the last note about it
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
 * @thread:	the thread that the record is of
 * @rec:	the record
 * @kind:	the kind of branch
 * @from:	the instruction that branched or was interrupted. Of a signal: the instruction that
 *	would have run next. NULL in X86_BTS_LEAVE, if the record of a signal has 0 here (the
 *	kernel stores 0 for its own addresses), if the record is neither of a branch nor of a
 *	signal, or if the session does not look for places.
 * @to:		where the thread continued; NULL in the same cases, but in X86_BTS_ENTER instead of
 *	X86_BTS_LEAVE
 */
struct bt_branch {
	struct bt_thread		*thread;
	const struct x86_bts_record	*rec;
	enum bt_kind			kind;
	struct bt_place			*from;
	struct bt_place			*to;
};

/* Properties of an output */
#define BT_OUT_PLACES	0x1	/* needs places or kinds of branches */
#define BT_OUT_FILTER	0x4	/* accepts -e with any condition, to select branches */
#define BT_OUT_CLOCK	0x8	/* uses the times when threads are scheduled */
#define BT_OUT_LAST	0x20	/* shows the last branches only, needs all their places at once */
#define BT_OUT_BINARY	0x40	/* is not text */
#define BT_OUT_FUNCTIONS 0x10	/* accepts -e with func= and module= only, to select functions */
#define BT_OUT_CALLS	0x80	/* accepts --root, --depth and --by-thread */

/*
 * struct bt_output - an output: a format, and what writes it
 * @name:	the name of its option
 * @flags:	BT_OUT_*
 * @begin:	called once, before all others
 * @thread:	called for each new thread of the session, and when a thread executes another
 *	program
 * @branch:	called for each record to show. These are branches that pass the filter (with
 *	BT_OUT_FUNCTIONS, all branches), and other records, without those that is_unwanted() in
 *	session.c finds.
 * @note:	called with a message about a thread, such as a signal
 * @ended_at:	called after the last record of a thread, with the address of the instruction
 *	that the thread would have executed next, if this address is known
 * @exit:	called when a thread has ended, or is not followed any more
 * @end:	called once, after all others
 *
 * Each callback may be NULL.
 */
struct bt_output {
	const char	*name;
	unsigned int	flags;
	void	(*begin)(struct bt_session *s);
	void	(*thread)(struct bt_session *s, struct bt_thread *t);
	void	(*branch)(struct bt_session *s, const struct bt_branch *b);
	void	(*note)(struct bt_session *s, struct bt_thread *t, const char *what);
	void	(*ended_at)(struct bt_session *s, struct bt_thread *t, u64 addr);
	void	(*exit)(struct bt_session *s, struct bt_thread *t);
	void	(*end)(struct bt_session *s);
};

/*
 * The longest code without a taken branch, in bytes, that is plausible. If there is more
 * code between two records, assume that other records are missing.
 */
#define BT_STRAIGHT_MAX	0x10000

#define BT_THREAD_BITS	14

/* The value of @memory if the caller of bt_session_begin() leaves it 0 */
#define BT_MEMORY	(192ull * 1024 * 1024)

/*
 * struct bt_session - a session
 * @out:	the output
 * @text:	the text that the output writes
 * @filter:	which branches or functions to show, or NULL for all
 * @select:	which functions to show in a call tree, or NULL for all
 * @last:	how many of the last branches of each thread to pass to @out when the thread ends;
 *	0: pass all as they come. For an output with BT_OUT_LAST, bt_session_begin() replaces 0
 *	by BT_LAST_CRASH, and lowers the number if memory does not suffice.
 * @many:	there was more than one thread so far
 * @record:	the writer of a recorded trace, or NULL
 * @counts:	the sum of @counts of all threads
 * @told:	all records that were passed to the session, without their kinds
 * @nr_threads:	the number of threads so far
 * @times:	show when threads are scheduled, even if @out lacks BT_OUT_CLOCK
 * @by_thread:	show each thread by itself
 * @memory:	the bytes that @out may use for all threads together, roughly
 * @incomplete:	a message that says what the output lacks, as memory was used up; or NULL
 * @lines:	about how many lines of each thread the crash view shows
 * @width:	the columns of the terminal, where the crash view cuts lines; 0: do not cut
 * @replayed:	the records come from a recorded trace
 * @color:	use colors
 * @data:	for the output
 */
struct bt_session {
	const struct bt_output	*out;
	struct bt_text		text;
	struct bt_filter	*filter;
	const struct bt_select	*select;
	u32			last;
	bool			many;
	struct bt_writer	*record;
	struct bt_counts	counts;
	struct bt_counts	told;
	u64			nr_threads;
	bool			times;
	bool			by_thread;
	u64			memory;
	const char		*incomplete;
	size_t			lines;
	size_t			width;
	bool			replayed;
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

/*
 * To show the last branches, keep at least this many records of each thread, as some records
 * are no branches, or do not pass the filter.
 */
#define BT_LAST_POOL	2730
/* The largest argument of -n */
#define BT_LAST_MAX	1000000
/*
 * The crash view has a limit of this many branches of a thread, or more, if memory suffices: an
 * uncaught exception takes about 40,000 branches.
 */
#define BT_LAST_CRASH	87381
/* About how many bytes of memory one of the last branches needs, without its places */
#define BT_LAST_BYTES	192
/* The value of @lines of struct bt_session without -n */
#define BT_LINES	32

#endif
