// SPDX-License-Identifier: GPL-2.0
/* This file follows live threads with ptrace, as strace does. how.h says what a trace is. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "explain.h"
#include "follow.h"
#include "read.h"
#include "tracee.h"

/*
 * Collect up to this many stops, and then handle them. If each thread were resumed at once,
 * waitpid() might return the same busy threads again and again, and never the others.
 */
#define BATCH		256
#define PROGRESS_MS	500
/* If the command has not stopped this long after ^Z, btstrace does not stop either. */
#define COMMAND_STOPS_MS	2000
/* If the command has stopped, btstrace waits until this long after ^Z for other threads. */
#define OTHERS_STOP_MS		500

struct stop {
	pid_t tid;
	int status;
};

static const int watched[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP };

static bool is_ignored(int sig)
{
	struct sigaction act;

	return !sigaction(sig, NULL, &act) && act.sa_handler == SIG_IGN;
}

static void watched_set(sigset_t *set)
{
	size_t i;

	sigemptyset(set);
	for (i = 0; i < ARRAY_SIZE(watched); i++)
		sigaddset(set, watched[i]);
	/* nohup makes a program ignore SIGHUP: keep ignoring it. */
	if (is_ignored(SIGHUP))
		sigdelset(set, SIGHUP);
	/* A shell without job control may make a program ignore SIGTSTP: keep ignoring it. */
	if (is_ignored(SIGTSTP))
		sigdelset(set, SIGTSTP);
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

struct bt_follow *bt_follow_new(struct bt_session *s, const struct bt_how *how)
{
	struct bt_follow *f = bt_alloc(1, sizeof(*f));
	sigset_t set;

	f->s = s;
	f->how = *how;
	f->shown = now_ms();
	f->jit = bt_jit_reader_new();
	f->rec = bt_alloc(how->bytes, 1);
	/* If SIGCHLD is ignored, waitpid() does not report how children have ended. */
	f->before.child = signal(SIGCHLD, SIG_DFL);
	f->before.pipe = signal(SIGPIPE, SIG_IGN);
	watched_set(&set);
	sigprocmask(SIG_BLOCK, &set, &f->before.mask);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (f->signals < 0) {
		bt_complain("cannot wait for signals: %s", strerror(errno));
		exit(BT_EXIT_USAGE);
	}
	return f;
}

void bt_follow_free(struct bt_follow *f)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(f->slot); i++)
		while (f->slot[i])
			tracee_forget(f, f->slot[i]->tid);
	close(f->signals);
	free(f->maps.bytes);
	bt_jit_reader_free(f->jit);
	free(f->rec);
	free(f);
}

static void resume(struct tracee *t, int sig)
{
	ptrace(PTRACE_CONT, t->tid, 0, (long)sig);
}

static void detach(struct bt_follow *f, struct tracee *t, int sig)
{
	/* If tracing has failed, the command must not run without a trace. */
	if (f->error && f->command)
		kill(t->tid, SIGKILL);
	tracee_leave(f, t, f->error ? NULL : "+++ detached +++");
	/* If PTRACE_DETACH fails, the thread is dying: it needs no detaching. */
	ptrace(PTRACE_DETACH, t->tid, 0, (long)sig);
	tracee_forget(f, t->tid);
}

static void on_exec(struct bt_follow *f, struct tracee *t)
{
	unsigned long old = t->tid;
	struct tracee *runner;

	/*
	 * A thread that calls execve() takes over the ID of the first thread of its process.
	 * Get the ID that it had before.
	 */
	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &old);
	runner = tracee_find(f, old);
	if (runner && runner != t) {
		pid_t tid = t->tid;

		tracee_rename(f, runner, tid);
		t = runner;
	}
	tracee_exec(f, t, old);
	if (!t->traced && !t->refused)
		tracee_configure(f, t);
	if (f->ending)
		detach(f, t, 0);
	else
		resume(t, 0);
}

static void on_exit_event(struct bt_follow *f, struct tracee *t)
{
	unsigned long status = 0;
	char *how;

	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &status);
	how = tracee_ending(status);
	tracee_leave(f, t, how);
	free(how);
	resume(t, 0);
}

/*
 * If no record may be lost (@full of struct bt_how), do not resume a new thread before
 * on_child() has handled the ptrace event of its parent. The session must get the records of
 * the parent up to this event first, and the records of the new thread then. Returns true if
 * the thread must stay stopped.
 */
static bool hold(struct bt_follow *f, struct tracee *t)
{
	if (t->announced || f->ending || !f->how.full)
		return false;
	f->nr_held += !t->held;
	t->held = true;
	return true;
}

static void release(struct bt_follow *f, struct tracee *t)
{
	t->announced = true;
	if (!t->held)
		return;
	t->held = false;
	f->nr_held--;
	resume(t, 0);
}

/*
 * Resume all threads that hold() has kept stopped. Called when a thread has ended: a dead
 * parent reports no new threads, so they would wait for ever.
 */
static void release_all(struct bt_follow *f)
{
	struct tracee *t;
	size_t i;

	for (i = 0; f->nr_held && i < ARRAY_SIZE(f->slot); i++)
		for (t = f->slot[i]; t; t = t->next)
			if (t->held)
				release(f, t);
}

static void on_child(struct bt_follow *f, struct tracee *t)
{
	unsigned long child = 0;

	if (f->how.full)
		tracee_drain(f, t);
	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &child);
	/*
	 * If the child was killed before this event of its parent was handled, on_end() may
	 * have removed it: do not add it again.
	 */
	if (child && (tracee_find(f, child) || bt_proc_tracer(child) == getpid()))
		release(f, tracee_add(f, child));
}

/*
 * Handle PTRACE_EVENT_STOP: the first stop of a new child, the beginning or the end of a group
 * stop, or PTRACE_INTERRUPT.
 */
static void on_event_stop(struct bt_follow *f, struct tracee *t, int sig)
{
	/* Do not trace the command before its execve(): it is still a copy of btstrace. */
	if (!t->traced && !t->refused && (t->tid != f->command || f->one_traced))
		tracee_configure(f, t);
	if (f->how.full)
		tracee_drain(f, t);
	if (hold(f, t))
		return;
	if (f->ending)
		detach(f, t, 0);
	else if (sig != SIGTRAP)
		t->listens = !ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	else
		resume(t, 0);
}

static void on_signal(struct bt_follow *f, struct tracee *t, int sig)
{
	if (f->how.full)
		tracee_drain(f, t);
	if (t->traced)
		tracee_signal(f, t, sig);
	if (f->ending)
		detach(f, t, sig);
	else
		resume(t, sig);
}

static void on_end(struct bt_follow *f, struct tracee *t, int status)
{
	char *how = tracee_ending(status);

	if (t->tid == f->command) {
		f->status = status;
		f->command_ended = true;
	}
	/* If @t->done is false, the thread has ended before tracee_leave() could read its trace. */
	if (!t->done)
		bt_session_exit(f->s, t->tid, how);
	free(how);
	f->nr_held -= t->held;
	tracee_forget(f, t->tid);
	release_all(f);
}

static void on_stop(struct bt_follow *f, const struct stop *stop)
{
	struct tracee *t = tracee_add(f, stop->tid);
	int event = stop->status >> 16;

	t->listens = false;
	if (!WIFSTOPPED(stop->status)) {
		on_end(f, t, stop->status);
		return;
	}
	switch (event) {
	case PTRACE_EVENT_EXEC:
		on_exec(f, t);
		break;
	case PTRACE_EVENT_EXIT:
		on_exit_event(f, t);
		break;
	case PTRACE_EVENT_STOP:
		on_event_stop(f, t, WSTOPSIG(stop->status));
		break;
	case 0:
		on_signal(f, t, WSTOPSIG(stop->status));
		break;
	default:	/* the trace is full, or the thread has made a thread or process */
		if (event == PTRACE_EVENT_BTS)
			tracee_drain(f, t);
		else
			on_child(f, t);
		if (f->ending)
			detach(f, t, 0);
		else
			resume(t, 0);
	}
}

static void show_progress(struct bt_follow *f)
{
	u64 now;

	if (!f->how.progress)
		return;
	now = now_ms();
	if (now - f->shown < PROGRESS_MS)
		return;
	f->shown = now;
	f->on_screen = true;
	fprintf(stderr, "\rbtstrace: %.1f million branches, %llu lost, %zu thread%s \033[K",
		f->s->told.branches / 1e6, (unsigned long long)f->s->told.lost, f->nr,
		f->nr == 1 ? "" : "s");
}

/*
 * Collect threads that have stopped or ended. Returns their number, or -1 if no thread is
 * left.
 */
static int collect(struct stop *stops)
{
	int n = 0;
	pid_t tid;

	while (n < BATCH) {
		tid = waitpid(-1, &stops[n].status, __WALL | WNOHANG);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid <= 0)
			return tid < 0 && !n ? -1 : n;
		stops[n++].tid = tid;
	}
	return n;
}

/*
 * Stop a thread, so that it can be detached. Forget the thread if btstrace does not trace a thread
 * with this ID any more. For example, collect() has found that the thread has ended; or another
 * thread of its process, which btstrace does not trace, has called execve() and taken over the ID,
 * which the kernel does not report to btstrace.
 */
static void interrupt(struct bt_follow *f, struct tracee *t)
{
	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) && errno == ESRCH &&
	    bt_proc_tracer(t->tid) != getpid()) {
		bt_session_exit(f->s, t->tid, NULL);
		tracee_forget(f, t->tid);
	}
}

/*
 * Begin to detach all threads: because of the signal @sig or, if @sig is 0, because a write
 * failed.
 */
static void end(struct bt_follow *f, int sig)
{
	struct tracee *t, *next;
	size_t i;

	f->ending = true;
	f->end_signal = sig;
	for (i = 0; i < ARRAY_SIZE(f->slot); i++) {
		for (t = f->slot[i]; t; t = next) {
			next = t->next;
			if (!t->held) {
				interrupt(f, t);
				continue;
			}
			t->held = false;
			f->nr_held--;
			detach(f, t, 0);
		}
	}
}

/*
 * Handle SIGTSTP. If the user has typed ^Z, the terminal sends SIGTSTP to the command, too.
 * btstrace, the tracer, must run until the command has stopped: stop_with_command() stops
 * btstrace later, or not at all if the command does not stop. Stop at once if no command
 * runs. Also stop at once if SIGTSTP is not from a terminal: it may have been sent to btstrace
 * alone.
 */
static void stop_later(struct bt_follow *f, bool terminal)
{
	if (!f->command || f->command_ended || !terminal)
		raise(SIGSTOP);
	else
		f->stopping = now_ms();
}

static bool all_stopped(const struct bt_follow *f)
{
	const struct tracee *t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(f->slot); i++)
		for (t = f->slot[i]; t; t = t->next)
			if (!t->listens && !t->held)
				return false;
	return true;
}

/* After ^Z: stop btstrace if the command has stopped. Called when all stops are handled. */
static void stop_with_command(struct bt_follow *f)
{
	u64 since = now_ms() - f->stopping;
	const struct tracee *command;

	if (!f->stopping)
		return;
	command = tracee_find(f, f->command);
	if (all_stopped(f) || (command && command->listens && since > OTHERS_STOP_MS)) {
		f->stopping = 0;
		raise(SIGSTOP);
	} else if (since > COMMAND_STOPS_MS) {
		f->stopping = 0;
	}
}

static void take_signal(struct bt_follow *f, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD)
		return;
	if (info->ssi_signo == SIGTSTP) {
		stop_later(f, info->ssi_code == SI_KERNEL);
		return;
	}
	/*
	 * The user has typed ^C or ^\. The terminal sends the signal to the command, too.
	 * btstrace ends when no traced thread is left.
	 */
	if (f->command && info->ssi_code == SI_KERNEL &&
	    (info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT))
		return;
	end(f, info->ssi_signo);
}

/* Handle the signals that are pending. If @wait, wait for one first; after ^Z, at most 100 ms. */
static void take_signals(struct bt_follow *f, bool wait)
{
	struct pollfd poll_fd = { .fd = f->signals, .events = POLLIN };
	struct signalfd_siginfo info;

	if (wait)
		poll(&poll_fd, 1, f->stopping ? 100 : -1);
	while (read(f->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(f, &info);
}

/*
 * Send the command the signal that has ended tracing. If the command could not be traced,
 * this is SIGKILL.
 */
static void end_command(struct bt_follow *f)
{
	if (!f->command || f->command_ended || !f->ending || !f->end_signal)
		return;
	kill(f->command, f->end_signal);
	if (f->error)
		waitpid(f->command, &f->status, 0);
}

/*
 * Trace until no thread is left: all have ended or were detached. Returns 0, or an exit status if
 * tracing has failed.
 */
int bt_follow_run(struct bt_follow *f)
{
	struct stop *stops = bt_alloc(BATCH, sizeof(*stops));
	int i, n;

	while (f->nr) {
		n = collect(stops);
		if (n < 0)
			break;
		if (!n)
			stop_with_command(f);
		take_signals(f, !n);
		for (i = 0; i < n; i++)
			on_stop(f, &stops[i]);
		if (bt_session_error(f->s) && !f->ending)
			end(f, 0);
		show_progress(f);
	}
	free(stops);
	if (f->on_screen)
		fputs("\r\033[K", stderr);
	if (f->refused && f->one_traced)
		bt_complain("%llu threads could not be traced, and ran without",
			    (unsigned long long)f->refused);
	end_command(f);
	return f->error;
}

/*
 * Returns an exit status, or minus the number of a signal. If a signal has ended tracing,
 * returns minus this signal. If a failed write has ended tracing, returns -SIGPIPE. Otherwise,
 * returns how the command has ended, or 0 if there is no command.
 */
int bt_follow_status(const struct bt_follow *f)
{
	if (f->ending && f->end_signal != SIGKILL)
		return f->end_signal ? -f->end_signal : -SIGPIPE;
	if (!f->command)
		return 0;
	return WIFEXITED(f->status) ? WEXITSTATUS(f->status) : -WTERMSIG(f->status);
}
