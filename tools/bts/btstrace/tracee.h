/* SPDX-License-Identifier: GPL-2.0 */
/* Live threads, for follow.c, start.c and tracee.c */
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
 * @traced:	it has a trace that btstrace can read
 * @refused:	the kernel has refused a trace for it
 * @done:	tracee_leave() was called: its trace was read, and it is about to end or be detached
 * @announced:	hold() must not stop it: seize() has attached to it, its parent has reported it,
 *	or release_all() has resumed it
 * @held:	hold() keeps it in its first stop
 * @listens:	it is in a group stop
 * @lost:	the sum of the counts of its X86_BTS_LOST records
 * @next:	the next thread in the same slot
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
 * struct bt_follow - all live threads
 * @s:		the session that is told what they do
 * @how:	how they are traced
 * @slot:	a hash table of the threads
 * @nr:		the number of threads
 * @command:	the process that was started, or 0
 * @status:	how the command has ended, as waitpid() tells it
 * @command_ended: the command has ended: its ID may belong to another process now
 * @signals:	a signalfd for the signals of watched_set()
 * @before:	how signals were handled when btstrace was started; the command gets the same
 * @stopping:	the time when ^Z was typed, in milliseconds, while stop_with_command() waits for
 *	the command to stop; or 0
 * @ending:	detach from each thread that stops
 * @end_signal:	the signal that is the reason for @ending; SIGKILL if @error is the reason; 0 if a
 *	failed write is the reason, or if @ending is false
 * @error:	an exit status if tracing has failed, or 0
 * @one_traced:	at least one thread had a trace
 * @refused:	the number of threads that were refused a trace
 * @nr_held:	the number of threads whose @held is true
 * @short_told:	it was printed that a trace is shorter than wanted
 * @stepped_told:	it was printed that there is no Branch Trace Store
 * @revoked_told: it was printed that somebody else has the hardware
 * @rec:	room for records that are read
 * @maps:	room for /proc/PID/maps
 * @jit:	reads the lists of functions of just-in-time compilers
 * @shown:	the time when the progress was printed last, in milliseconds
 * @on_screen:	the progress is on the screen
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
