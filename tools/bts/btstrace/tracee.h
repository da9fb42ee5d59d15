/* SPDX-License-Identifier: GPL-2.0 */
/* One live thread; for follow.c */
#ifndef BTSTRACE_TRACEE_H
#define BTSTRACE_TRACEE_H

#include <signal.h>

#include "how.h"
#include "jitread.h"
#include "proc.h"
#include "session.h"

#define TRACEE_BITS	14

/*
 * struct tracee - a thread that is attached
 * @tid:	its ID
 * @traced:	it has a trace
 * @refused:	it cannot have one; it runs without
 * @done:	it was taken leave of, and is about to end
 * @announced:	it was attached to, or its parent told of it
 * @held:	it stays in its first stop until its parent tells of it
 * @listens:	it is in a group stop
 * @lost:	how many records its trace said were missing
 * @next:	in the same slot
 */
struct tracee {
	pid_t		tid;
	bool		traced;
	bool		refused;
	bool		done;
	bool		announced;
	bool		held;
	bool		listens;
	u64		lost;
	struct tracee	*next;
};

/*
 * struct bt_follow - all of them
 * @s:		the session that is told
 * @how:	what is wanted
 * @slot:	the threads
 * @nr:		how many
 * @command:	the process that was started, or 0
 * @status:	how it ended, as wait() tells it
 * @command_ended: it did: its number may be another process' now
 * @signals:	a signalfd
 * @before:	what the command is to find of signals, as btstrace did
 * @stopping:	when ^Z was typed, if btstrace has not stopped since; otherwise 0
 * @ending:	detach from each thread that stops
 * @end_signal:	the signal that said so
 * @error:	an exit status, if tracing failed
 * @one_traced:	at least one thread had a trace
 * @refused:	how many could not have one
 * @nr_held:	how many are held in their first stop
 * @short_told:	it was said that there is less memory than wanted
 * @stepped_told:	it was said that the hardware is not there
 * @revoked_told: it was said that another user has the hardware
 * @rec:	room for what is read
 * @maps:	likewise
 * @jit:	what was read of what compilers told
 * @shown:	when progress was told, in milliseconds
 * @on_screen:	progress is
 */
struct bt_follow {
	struct bt_session	*s;
	struct bt_how		how;
	struct tracee		*slot[1 << TRACEE_BITS];
	size_t			nr;
	pid_t			command;
	int			status;
	bool			command_ended;
	int			signals;
	struct {
		sigset_t	mask;
		sighandler_t	child;
		sighandler_t	pipe;
	}			before;
	u64			stopping;
	bool			ending;
	int			end_signal;
	int			error;
	bool			one_traced;
	u64			refused;
	size_t			nr_held;
	bool			short_told;
	bool			stepped_told;
	bool			revoked_told;
	struct x86_bts_record	*rec;
	struct bt_buffer	maps;
	struct bt_jit_reader	*jit;
	u64			shown;
	bool			on_screen;
};

struct tracee *tracee_find(struct bt_follow *f, pid_t tid);
struct tracee *tracee_add(struct bt_follow *f, pid_t tid);
void tracee_forget(struct bt_follow *f, pid_t tid);
void tracee_rename(struct bt_follow *f, struct tracee *t, pid_t tid);
void tracee_configure(struct bt_follow *f, struct tracee *t);
void tracee_drain(struct bt_follow *f, struct tracee *t);
void tracee_exec(struct bt_follow *f, struct tracee *t, pid_t old);
void tracee_signal(struct bt_follow *f, struct tracee *t, int sig);
void tracee_leave(struct bt_follow *f, struct tracee *t, const char *how);
char *tracee_ending(int status);

#endif
