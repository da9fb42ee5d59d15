// SPDX-License-Identifier: GPL-2.0
/*
 * Security modules: a tracer must not trace a task to which it may not attach (Yama). In
 * lockdown for confidentiality, the kernel must refuse traces to everybody.
 *
 *   lsm none|integrity|confidentiality
 *
 * The argument is the value of lockdown= on the kernel command line, or `none` without lockdown=.
 */
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../guest/nobody.h"

#define LOCKDOWN	"/sys/kernel/security/lockdown"
#define YAMA		"/proc/sys/kernel/yama/ptrace_scope"
#define ROOM		2000

/* Configure a new trace of a new tracee with @flags. Returns 0 or a positive errno. */
static int configure(void *flags)
{
	struct tracee t = tracee_new();
	int ret = -bts_config(t.pid, *(__u32 *)flags | ALLOC, RECORDS(100), 0);

	tracee_end(&t);
	return ret;
}

static void check_lockdown(const char *level)
{
	const bool nobody_may = nobody_may_trace();
	const bool secret = !strcmp(level, "confidentiality");
	const struct {
		__u32 flags;
		int root;
		int nobody;
	} want[] = {
		/* On some processors, TRACE needs privileges: see nobody_may_trace(). */
		{ TRACE, secret ? EACCES : 0, secret || !nobody_may ? EACCES : 0, },
		{ TRACE | ENTRY, secret ? EACCES : 0, EACCES, },
		{ KERNEL, secret ? EACCES : 0, EACCES, },
		{ TRACE | KERNEL, secret ? EACCES : 0, EACCES, },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		__u32 flags = want[i].flags;
		int root = configure(&flags), nobody = as_nobody(configure, &flags);

		ok(root == want[i].root && nobody == want[i].nobody,
		   "lockdown %s: CONFIG with flags %#x: errno %d for root, %d for nobody",
		   level, flags, root, nobody);
	}
}

static bool all_refused(pid_t pid)
{
	struct ptrace_bts_read read = { };
	struct ptrace_bts_status status;
	struct x86_bts_record rec;

	return bts(PTRACE_BTS_READ, pid, &read, sizeof(read)) == -EACCES &&
	       bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)) == -EACCES &&
	       bts(PTRACE_BTS_SIZE, pid, NULL, 0) == -EACCES &&
	       bts(PTRACE_BTS_GET, pid, &rec, 0) == -EACCES &&
	       bts(PTRACE_BTS_DRAIN, pid, &rec, sizeof(rec)) == -EACCES &&
	       bts(PTRACE_BTS_CLEAR, pid, NULL, 0) == -EACCES;
}

/* Traces that exist before the lockdown is raised to confidentiality */
static const __u32 raised_flags[] = { TRACE, TRACE | KERNEL, };
static struct tracee raised[ARRAY_SIZE(raised_flags)];

static void start_raised(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(raised); i++) {
		raised[i] = tracee_new();
		if (bts_config(raised[i].pid, raised_flags[i] | ALLOC, RECORDS(ROOM), 0))
			give_up("a trace with flags %#x", raised_flags[i]);
		tracee_do(&raised[i], known_work, 100);
	}
}

static void check_raised(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(raised); i++)
		ok(bts(PTRACE_BTS_SIZE, raised[i].pid, NULL, 0) >= 99,
		   "flags %#x: a trace", raised_flags[i]);
	write_file(LOCKDOWN, "confidentiality");
	for (i = 0; i < ARRAY_SIZE(raised); i++) {
		pid_t pid = raised[i].pid;

		ok(all_refused(pid) && bts_config(pid, raised_flags[i], 0, 0) == -EACCES &&
		   bts_config(pid, TRACE | ALLOC, RECORDS(ROOM), 0) == -EACCES,
		   "flags %#x: lockdown refuses the trace that was made before", raised_flags[i]);
		ok(!bts_end(pid), "flags %#x: lockdown lets it be ended", raised_flags[i]);
		tracee_end(&raised[i]);
	}
}

/* Kinds of processes to which a tracer may attach or not, depending on Yama's ptrace_scope. */
enum { OWN_WISH, OWN_CHILD, STRANGER, WILLING, NR_TARGETS };

static const char * const targets[NR_TARGETS] = {
	"a child that wants it", "a child", "a stranger", "a stranger that wants it",
};

/*
 * Start a process of the user nobody, which sleeps for ever. If @target is WILLING, this process
 * lets any process attach to it.
 */
static pid_t start_target(int target)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		give_up("pipe");
	pid = fork();
	if (!pid) {
		become_nobody();
		if (target == WILLING)
			prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		write(ready[1], "", 1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		give_up("no target");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static int trace_me(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? errno : 0);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int attach(pid_t pid)
{
	struct ptrace_bts_status status;
	int err;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL)) {
		err = errno;
		/* The target is no tracee of the caller, so requests must fail with ESRCH. */
		if (bts_config(pid, TRACE | ALLOC, RECORDS(100), 0) != -ESRCH ||
		    bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)) != -ESRCH)
			return 99;
		return err;
	}
	if (waitpid(pid, NULL, __WALL) != pid)
		give_up("waitpid");
	err = -bts_config(pid, TRACE | ALLOC, RECORDS(100), 0);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return err;
}

struct attempt {
	int target;
	pid_t pid;
};

static int attempt(void *arg)
{
	struct attempt *a = arg;
	pid_t child;
	int err;

	if (a->target == OWN_WISH)
		return trace_me();
	if (a->target != OWN_CHILD)
		return attach(a->pid);
	child = fork();
	if (!child) {
		for (;;)
			pause();
	}
	err = attach(child);
	kill(child, SIGKILL);
	return err;
}

static void check_scope(int scope)
{
	/* For each target, the lowest ptrace_scope in which the user nobody is refused. */
	static const int limit_nobody[NR_TARGETS] = { 2, 2, 1, 2, };
	char text[2] = { '0' + scope };
	struct attempt a = { };

	write_file(YAMA, text);
	for (a.target = 0; a.target < NR_TARGETS; a.target++) {
		int root, nobody;

		a.pid = start_target(a.target);
		root = attempt(&a);
		nobody = as_nobody(attempt, &a);
		ok(root == (scope >= 3 ? EPERM : 0) &&
		   nobody == (scope >= limit_nobody[a.target] ? EPERM : 0),
		   "Yama %d: %s: errno %d for root, %d for nobody", scope,
		   targets[a.target], root, nobody);
		kill(a.pid, SIGKILL);
		waitpid(a.pid, NULL, 0);
	}
}

/* Test each ptrace_scope. Scope 3 must not affect a tracee that is attached already. */
static void check_yama(void)
{
	struct tracee t = tracee_new();
	struct trace got = { };
	int scope;

	let_nobody_trace();
	for (scope = 0; scope <= 3; scope++)
		check_scope(scope);
	ok(!bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0), "Yama 3: who is attached goes on");
	tracee_do(&t, known_work, 100);
	trace_drain(t.pid, &got, ROOM);
	ok(count_known_in_row(&got) == 99, "Yama 3: and is traced");
	trace_free(&got);
	tracee_end(&t);
}

int main(int argc, char **argv)
{
	const char *level = argc > 1 ? argv[1] : "none";

	if (mount("securityfs", "/sys/kernel/security", "securityfs", 0, NULL))
		give_up("securityfs");
	check_lockdown(level);
	/* Neither the lockdown nor Yama's scope 3 can be undone, so test these last. */
	if (!strcmp(level, "none")) {
		start_raised();
		check_yama();
		check_raised();
	}
	return finish();
}
