// SPDX-License-Identifier: GPL-2.0
/* This file follows live threads, in strace's manner. */
#include <errno.h>
#include <fcntl.h>
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

/* So many stops are handled before waitpid() is asked for others, so that no thread starves. */
#define BATCH		256
#define PROGRESS_MS	500
/* After ^Z, btstrace waits so long for the command, and for other processes, to stop. */
#define COMMAND_STOPS_MS	2000
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
	/* nohup makes a program ignore SIGHUP: tracing goes on after it. */
	if (is_ignored(SIGHUP))
		sigdelset(set, SIGHUP);
	/* A shell without job control makes a program ignore SIGTSTP. */
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
	/* A process that ignores SIGCHLD is not told of its children. */
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

static long options(const struct bt_follow *f)
{
	long flags = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;

	if (f->how.children)
		flags |= PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	return flags;
}

static int seize(struct bt_follow *f, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, options(f)))
		return errno;
	tracee_add(f, tid)->announced = true;
	return 0;
}

/* The child waits until it is seized, and becomes the command. */
static void become(const struct bt_follow *f, int go, char **argv)
{
	ssize_t n;
	char c;

	do
		n = read(go, &c, 1);
	while (n < 0 && errno == EINTR);
	/* The parent is gone: nobody would trace the command. */
	if (n != 1)
		_exit(BT_EXIT_USAGE);
	signal(SIGCHLD, f->before.child);
	signal(SIGPIPE, f->before.pipe);
	sigprocmask(SIG_SETMASK, &f->before.mask, NULL);
	execvp(argv[0], argv);
	if (errno == ENOENT && strchr(argv[0], '/') && !access(argv[0], F_OK)) {
		bt_complain("%s: cannot be executed: its interpreter or loader is missing",
			    argv[0]);
		_exit(BT_EXIT_NOT_RUN);
	}
	if (errno == ENOENT) {
		bt_complain("%s: there is no such command", argv[0]);
		_exit(BT_EXIT_NOT_FOUND);
	}
	bt_complain("%s: cannot be executed: %s", argv[0], strerror(errno));
	_exit(BT_EXIT_NOT_RUN);
}

/* Start a command. Returns 0 or an exit status. */
int bt_follow_start(struct bt_follow *f, char **argv)
{
	int go[2], err;
	pid_t pid;

	pid = pipe2(go, O_CLOEXEC) ? -1 : fork();
	if (pid < 0) {
		bt_complain("cannot start a process: %s", strerror(errno));
		return BT_EXIT_USAGE;
	}
	if (!pid) {
		close(go[1]);
		become(f, go[0], argv);
	}
	close(go[0]);
	f->command = pid;
	err = seize(f, pid);
	if (!err && write(go[1], "", 1) != 1)
		err = errno;
	if (err) {
		err = bt_explain_attach(pid, err);
		kill(pid, SIGKILL);
	}
	close(go[1]);
	/* In the background, the command stops when it uses the terminal. btstrace does not. */
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	return err;
}

static int attach_thread(struct bt_follow *f, pid_t tid)
{
	int err = seize(f, tid);

	if (!err)
		ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	return err;
}

/*
 * Attach to a process with all its threads, or to a thread that is not the
 * first of its process. Returns 0 or an exit status.
 */
int bt_follow_attach(struct bt_follow *f, pid_t pid)
{
	size_t i, n, more;
	pid_t *tids;
	int err;

	/* A process that was attached before may have brought this thread along. */
	err = tracee_find(f, pid) ? 0 : attach_thread(f, pid);
	if (err)
		return bt_explain_attach(pid, err);
	if (bt_proc_tgid(pid) != pid)
		return 0;
	/*
	 * Repeat until there are no new threads: a thread that is not attached yet may make
	 * some.
	 */
	do {
		more = 0;
		n = bt_proc_threads(pid, &tids);
		for (i = 0; i < n; i++)
			more += !tracee_find(f, tids[i]) && !attach_thread(f, tids[i]);
		free(tids);
	} while (more);
	return 0;
}

static void go_on(struct tracee *t, int sig)
{
	ptrace(PTRACE_CONT, t->tid, 0, (long)sig);
}

static void let_go(struct bt_follow *f, struct tracee *t, int sig)
{
	/* A command that cannot be traced does not begin. */
	if (f->error && f->command)
		kill(t->tid, SIGKILL);
	tracee_leave(f, t, f->error ? NULL : "+++ detached +++");
	/* Nobody has to wait for a thread that is about to end. */
	ptrace(PTRACE_DETACH, t->tid, 0, (long)sig);
	tracee_forget(f, t->tid);
}

static void on_exec(struct bt_follow *f, struct tracee *t)
{
	unsigned long old = t->tid;
	struct tracee *runner;

	/* The thread that runs the program takes over the ID of the first. */
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
		let_go(f, t, 0);
	else
		go_on(t, 0);
}

static void on_exit_event(struct bt_follow *f, struct tracee *t)
{
	unsigned long status = 0;
	char *how;

	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &status);
	how = tracee_ending(status);
	tracee_leave(f, t, how);
	free(how);
	go_on(t, 0);
}

/*
 * The session hears what led to a new thread before what the thread does: the first stop of
 * a thread may come before the event of its parent, and then lasts until that event.
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
	go_on(t, 0);
}

/* The parents of threads that are held may be dead, and tell of nobody. */
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
	 * The child may have been killed, and its end been told, before its parent tells of
	 * it.
	 */
	if (child && (tracee_find(f, child) || bt_proc_tracer(child) == getpid()))
		release(f, tracee_add(f, child));
}

/* Handle the first stop of a thread, a group stop, or an interruption. */
static void on_event_stop(struct bt_follow *f, struct tracee *t, int sig)
{
	/* Before its execve() the command is still btstrace: do not trace that. */
	if (!t->traced && !t->refused && (t->tid != f->command || f->one_traced))
		tracee_configure(f, t);
	if (f->how.full)
		tracee_drain(f, t);
	if (hold(f, t))
		return;
	if (f->ending)
		let_go(f, t, 0);
	else if (sig != SIGTRAP)
		t->listens = !ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	else
		go_on(t, 0);
}

static void on_signal(struct bt_follow *f, struct tracee *t, int sig)
{
	if (f->how.full)
		tracee_drain(f, t);
	if (t->traced)
		tracee_signal(f, t, sig);
	if (f->ending)
		let_go(f, t, sig);
	else
		go_on(t, sig);
}

static void on_end(struct bt_follow *f, struct tracee *t, int status)
{
	char *how = tracee_ending(status);

	if (t->tid == f->command) {
		f->status = status;
		f->command_ended = true;
	}
	/* The thread was killed before its trace could be read. */
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
	default:	/* its trace is full; or it made another, which stops itself */
		if (event == PTRACE_EVENT_BTS)
			tracee_drain(f, t);
		else
			on_child(f, t);
		if (f->ending)
			let_go(f, t, 0);
		else
			go_on(t, 0);
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

/* Collect threads that have stopped. Returns how many, or -1 if there is no thread left. */
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
 * Make a thread stop, so that it can be detached. Another thread of its process, which is
 * not followed, may have executed a program and taken over its ID; the kernel tells nobody.
 */
static void interrupt(struct bt_follow *f, struct tracee *t)
{
	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) && errno == ESRCH &&
	    bt_proc_tracer(t->tid) != getpid()) {
		bt_session_exit(f->s, t->tid, NULL);
		tracee_forget(f, t->tid);
	}
}

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
			let_go(f, t, 0);
		}
	}
}

/*
 * ^Z: the terminal sends SIGTSTP to the command, too. A tracee needs btstrace to stop: so
 * btstrace stops after the command, and not at all if the command goes on. If SIGTSTP is not
 * from a terminal, it is for btstrace alone.
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

/* Stop like the command, if ^Z has stopped it. Called when no thread waits for btstrace. */
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
	 * The terminal sends these signals to the command, too, and the command decides
	 * whether it ends.
	 */
	if (f->command && info->ssi_code == SI_KERNEL &&
	    (info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT))
		return;
	end(f, info->ssi_signo);
}

/* Take the signals that are pending. If @wait, wait for one first. */
static void take_signals(struct bt_follow *f, bool wait)
{
	struct pollfd poll_fd = { .fd = f->signals, .events = POLLIN };
	struct signalfd_siginfo info;

	if (wait)
		poll(&poll_fd, 1, f->stopping ? 100 : -1);
	while (read(f->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(f, &info);
}

/* Let the command end that cannot be traced. */
static void end_command(struct bt_follow *f)
{
	if (!f->command || f->command_ended || !f->ending || !f->end_signal)
		return;
	kill(f->command, f->end_signal);
	if (f->error)
		waitpid(f->command, &f->status, 0);
}

/*
 * bt_follow_run - trace until no thread is left, or a signal says to end
 * @f: with at least one thread attached
 *
 * Returns 0 or an exit status.
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
 * Returns the status to end with: that of the command, or minus the number of the signal
 * that killed it.
 */
int bt_follow_status(const struct bt_follow *f)
{
	if (f->ending && f->end_signal != SIGKILL)
		return f->end_signal ? -f->end_signal : -SIGPIPE;
	if (!f->command)
		return 0;
	return WIFEXITED(f->status) ? WEXITSTATUS(f->status) : -WTERMSIG(f->status);
}
