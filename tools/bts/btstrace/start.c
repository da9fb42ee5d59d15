// SPDX-License-Identifier: GPL-2.0
/* This file starts the command that is traced, and attaches to running processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "explain.h"
#include "follow.h"
#include "tracee.h"

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

/* The new process waits until btstrace has seized it, and then executes the command. */
static void become(const struct bt_follow *f, int go, char **argv)
{
	ssize_t n;
	char c;

	do
		n = read(go, &c, 1);
	while (n < 0 && errno == EINTR);
	/* btstrace has died, or could not seize this process: do not run the command untraced. */
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
	/*
	 * These signals stop a background process that uses the terminal. They shall stop the
	 * command, but not btstrace.
	 */
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
 * Attach to all threads of the process @pid. If @pid is a thread that is not the first of
 * its process, attach to this thread only. Returns 0 or an exit status.
 */
int bt_follow_attach(struct bt_follow *f, pid_t pid)
{
	size_t i, n, more;
	pid_t *tids;
	int err;

	/* The thread may be attached already, with the process that it belongs to. */
	err = tracee_find(f, pid) ? 0 : attach_thread(f, pid);
	if (err)
		return bt_explain_attach(pid, err);
	if (bt_proc_tgid(pid) != pid)
		return 0;
	/*
	 * A thread that is not attached yet may make new threads: repeat until no thread is left
	 * that can be attached.
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
