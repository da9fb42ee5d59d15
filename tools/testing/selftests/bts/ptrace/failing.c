// SPDX-License-Identifier: GPL-2.0
/*
 * Make allocations for a trace fail, one at a time: in the tracer's PTRACE_BTS_CONFIG, in a
 * fork of the tracee, and when a child starts. When tracer and tracee have ended, no memory may
 * stay charged to the user, and no trace may be left. Each trace holds a reference to a pid
 * namespace, so a trace that is left keeps the namespace alive.
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/system.h"
#include "../guest/nobody.h"
#include "../guest/nth.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define NAMESPACES	"/proc/sys/user/max_pid_namespaces"
#define OLD		RECORDS(100)	/* fits in one page */
#define NEW		RECORDS(500)	/* takes three pages */
#define WORK		20

/* File descriptors of failslab/times and failslab/space. */
static int times, space;
/* Number of PTRACE_BTS_CONFIG requests that failed, in shared memory */
static unsigned int *failed;

static void put_number(int fd, unsigned long n)
{
	if (dprintf(fd, "%lu", n) < 0)
		give_up("cannot have allocations fail");
}

static bool unchanged(const struct tracee *t, const struct ptrace_bts_status *before)
{
	struct ptrace_bts_status status = bts_status(t->pid);

	return !memcmp(&status, before, sizeof(status));
}

/*
 * Make each allocation of a PTRACE_BTS_CONFIG fail in turn. The request may succeed
 * nevertheless. If the request fails, it must not change the old trace. Returns 0, or the
 * number of the check that failed.
 */
static int failing_configs(void *unused)
{
	struct ptrace_bts_status before;
	struct tracee t = tracee_new();
	struct trace got = { };
	unsigned int n;
	bool last;
	int err;

	(void)unused;
	nth_open();
	for (n = 1; ; n++) {
		if (bts_config(t.pid, TRACE | ALLOC, OLD, 0))
			return 1;
		tracee_do(&t, known_work, WORK);
		before = bts_status(t.pid);
		nth_arm(n);
		err = bts_config(t.pid, TRACE | ALLOC, NEW, 0);
		last = nth_out_of_reach();
		if (!err && last)
			break;
		if (!err)
			continue;
		/* -EFAULT: nth_arm() can also make the copy from user space fail. */
		if ((err != -ENOMEM && err != -EFAULT) || last || !unchanged(&t, &before))
			return 2;
		trace_drain(t.pid, &got, 100);
		if (count_known_in_row(&got) != WORK - 1)
			return 3;
		trace_free(&got);
		++*failed;
	}
	tracee_end(&t);
	return 0;
}

/*
 * Make each allocation of a fork fail in turn. Either the fork fails, or the child has no
 * trace, or the child has a trace nevertheless. not_inherited must count each child without a
 * trace. Adds the number of failed forks to *@count. Returns 0, or the number of the check that
 * failed.
 */
static int failing_forks(void *count)
{
	unsigned int n, before, now = 0;
	struct tracee t = nth_forking_tracee(TRACE, OLD);
	int with;

	for (n = 1; ; n++) {
		before = now;
		with = nth_let_fork(&t, nth_fork, n);
		now = bts_status(t.pid).not_inherited;
		if (now != before + !with)
			return 1;
		if (with < 0 && nth_forked->ret != -ENOMEM && nth_forked->ret != -EAGAIN)
			return 2;
		if ((with >= 0) != (nth_forked->ret > 0))
			return 3;
		if (with > 0 && nth_forked->out_of_reach)
			break;
		if (nth_forked->out_of_reach)
			return 4;
		*(unsigned int *)count += with < 0;
	}
	tracee_end(&t);
	return 0;
}

static void fork_child(unsigned long unused)
{
	(void)unused;
	if (!syscall(SYS_clone, 0, 0, 0, 0, 0))
		_exit(0);
}

/*
 * Let the tracee fork until a child has a trace. In each fork but the last, one slab allocation for
 * the child's trace fails, and the child must start without a trace. fail_below() has selected
 * these allocations. Adds the number of children without a trace to *@count. Returns 0, or 1 if a
 * check failed.
 */
static int failing_children(void *count)
{
	struct tracee t = nth_forking_tracee(TRACE, OLD);
	int with, bytes;

	/* Allocations succeed while the sum of their sizes is below @bytes. The next one fails. */
	for (bytes = 0; ; bytes += 32) {
		unsigned int before = bts_status(t.pid).not_inherited;

		put_number(space, bytes);
		put_number(times, 1);
		with = nth_let_fork(&t, fork_child, 0);
		put_number(times, 0);
		if (with < 0 || bts_status(t.pid).not_inherited != before + !with)
			return 1;
		if (with)
			break;
		++*(unsigned int *)count;
	}
	tracee_end(&t);
	return 0;
}

static void knob(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s", name);
	write_file(path, value);
}

static int open_knob(const char *name)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		give_up("%s", name);
	return fd;
}

/* From now on, failslab makes only allocations by @function and its callees fail. */
static void fail_below(const char *function)
{
	struct range at = { };
	char text[32];

	find_symbols(&function, &at, 1);
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)at.start);
	knob("failslab/require-start", text);
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)at.end);
	knob("failslab/require-end", text);
	knob("failslab/probability", "100");
}

static void make_failures_quiet(void)
{
	static const char * const dirs[] = { "failslab", "fail_page_alloc" };
	char name[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(name, sizeof(name), "%s/verbose", dirs[i]);
		knob(name, "0");
		snprintf(name, sizeof(name), "%s/ignore-gfp-wait", dirs[i]);
		knob(name, "N");
	}
	knob("fail_page_alloc/ignore-gfp-highmem", "N");
	knob("fail_page_alloc/min-order", "0");
	knob("failslab/times", "0");
	times = open_knob(DEBUGFS "failslab/times");
	space = open_knob(DEBUGFS "failslab/space");
}

/*
 * Create a new pid namespace, for the next child. NAMESPACES allows only one namespace: wait up
 * to 5 seconds until the previous one is freed. Returns whether the namespace was created.
 */
static bool new_pid_namespace(void)
{
	int tries = 500;

	while (unshare(CLONE_NEWPID)) {
		if (errno != ENOSPC || !tries--)
			return false;
		usleep(10000);
	}
	return true;
}

/*
 * Run @what in a new pid namespace. Then check that the namespace is freed: if a trace were
 * left, the trace would hold a reference to the namespace.
 */
static void leaves_nothing_behind(const char *name, int (*what)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(new_pid_namespace() ? as_nobody(what, arg) : 99);
	waitpid(pid, &status, 0);
	ok(!status, "%s: step %d", name, WEXITSTATUS(status));
	pid = fork();
	if (!pid)
		_exit(!new_pid_namespace());
	waitpid(pid, &status, 0);
	ok(!status, "%s: no trace is left behind", name);
	ok(all_given_back(), "%s: nothing is charged", name);
}

int main(void)
{
	static const char * const functions[] = { "ptrace_bts_fork", "ptrace_bts_start_child" };
	unsigned int *count = shared_memory(sizeof(*count));
	size_t i;

	failed = shared_memory(sizeof(*failed));
	make_failures_quiet();
	let_nobody_trace();
	write_file(NAMESPACES, "1");

	leaves_nothing_behind("CONFIG", failing_configs, NULL);
	ok(*failed >= 3, "CONFIG: failed %u times, and changed nothing", *failed);
	leaves_nothing_behind("fork", failing_forks, count);
	ok(*count >= 10, "fork: failed %u times", *count);
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		fail_below(functions[i]);
		*count = 0;
		leaves_nothing_behind(functions[i], failing_children, count);
		ok(*count > 0, "%s: failed %u times", functions[i], *count);
	}
	return finish();
}
