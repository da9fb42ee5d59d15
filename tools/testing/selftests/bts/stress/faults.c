// SPDX-License-Identifier: GPL-2.0
/*
 * Fault injection. A place is an allocation or a user copy in a call. Let the first place fail, in
 * the next call the second, and so on, until a call ends before it reaches the place that is to
 * fail. A call that fails must return the right errno, change nothing, and leak nothing. Other
 * tests let all allocations of tracer and tracee fail, or let those of a forking task fail at
 * random.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/system.h"
#include "../guest/nobody.h"
#include "../guest/nth.h"
#include "memory.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define RECORDER	"/sys/kernel/tracing/hw_branches/"
#define WATCHED		"jiffies_64"	/* written to the recorder's file "watch" */
#define TRIGGER		"/sys/kernel/tracing/events/signal/signal_deliver/trigger"
#define OTHER_EVENT	"/sys/kernel/tracing/events/signal/signal_generate/enable"
#define PAGES		8
/* Two traces of that many records fill the limit of PAGES. */
#define ROOM		(PAGES / 2 * PAGE / RECORDS(1))
#define WORK		50
#define MANY		2000
#define FORKS		300

static struct tracee t;
static struct x86_bts_record records[100];

/*
 * Requests of a tracer
 */

static int call_first(void)
{
	return bts_config(t.pid, TRACE | SCHED | ALLOC, RECORDS(ROOM), 0);
}

static int call_change(void)
{
	return bts_config(t.pid, TRACE | SIGNAL, 0, SIGURG);
}

static int call_end(void)
{
	return bts_end(t.pid);
}

static int call_status(void)
{
	static struct ptrace_bts_status status[2];

	int ret = bts(PTRACE_BTS_STATUS, t.pid, status, sizeof(status));

	return ret < 0 ? ret : 0;
}

static int call_size(void)
{
	return bts(PTRACE_BTS_SIZE, t.pid, NULL, 0);
}

static int call_get(void)
{
	return bts(PTRACE_BTS_GET, t.pid, records, 1);
}

static int call_drain(void)
{
	return bts(PTRACE_BTS_DRAIN, t.pid, records, sizeof(records));
}

static int call_read(void)
{
	struct ptrace_bts_read read = {
		.records = (uintptr_t)records, .count = sizeof(records) / RECORDS(1),
		.flags = PTRACE_BTS_READ_CONSUME,
	};

	return bts(PTRACE_BTS_READ, t.pid, &read, sizeof(read));
}

static int call_clear(void)
{
	return bts(PTRACE_BTS_CLEAR, t.pid, NULL, 0);
}

static const struct call {
	const char *name;
	int (*run)(void);
	bool without;	/* the tracee has no trace before the call */
	int least;	/* at least so many places must make the call fail */
} calls[] = {
	{ "CONFIG, a first trace", call_first, .without = true, .least = 5, },
	{ "CONFIG, another trace", call_first, .least = 4, },
	{ "CONFIG, a change", call_change, .least = 1, },
	{ "CONFIG, the end", call_end, .least = 1, },
	{ "STATUS", call_status, .least = 1, },
	{ "SIZE", call_size, .least = 0, },
	{ "GET", call_get, .least = 1, },
	{ "DRAIN", call_drain, .least = 1, },
	{ "READ", call_read, .least = 2, },
	{ "CLEAR", call_clear, .least = 0, },
};

static void prepare(const struct call *call, struct ptrace_bts_status *before)
{
	int err = bts_end(t.pid);

	memset(before, 0, sizeof(*before));
	if (call->without)
		return;
	if ((err && err != -ENXIO) || bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0))
		give_up("%s: no trace to begin with: something is charged still", call->name);
	tracee_do(&t, known_work, WORK);
	*before = bts_status(t.pid);
}

static bool unchanged(const struct call *call, const struct ptrace_bts_status *before)
{
	struct ptrace_bts_status now;

	if (call->without)
		return bts(PTRACE_BTS_SIZE, t.pid, NULL, 0) == -ENXIO;
	now = bts_status(t.pid);
	return !memcmp(before, &now, sizeof(now));
}

/*
 * The results of walk() for each call, then that of walk_forks(). In shared memory, as walk_all()
 * runs in another process, without privileges.
 */
static struct result {
	int failed;
	int places;
	bool right;
} *results;

static void walk(const struct call *call, struct result *result)
{
	struct ptrace_bts_status before;
	int nth, ret, failed = 0;
	bool fired, right = true;

	for (nth = 1; nth < MANY; nth++) {
		prepare(call, &before);
		nth_arm(nth);
		ret = call->run();
		fired = !nth_out_of_reach();
		if (fired && ret < 0) {
			failed++;
			right &= (ret == -ENOMEM || ret == -EFAULT) && unchanged(call, &before);
		}
		if ((!fired && ret < 0) || !right)
			printf("# %s, place %d: %d, %s\n", call->name, nth, ret,
			       fired ? "failed" : "not failed");
		right &= fired || ret >= 0;
		if (!fired || !right)
			break;
	}
	*result = (struct result){ failed, nth - 1, right && nth < MANY };
}

/*
 * Forks of a tracee whose children inherit its trace
 */

static void walk_forks(struct result *result)
{
	unsigned int before, now = 0, n;
	bool right = true;
	int with = -1;

	t = nth_forking_tracee(TRACE | SCHED, RECORDS(ROOM));
	result->failed = 0;
	for (n = 1; n < MANY && right; n++) {
		before = now;
		with = nth_let_fork(&t, nth_fork, n);
		now = bts_status(t.pid).not_inherited;
		right = now == before + !with && (with >= 0) == (nth_forked->ret > 0);
		if (with < 0)
			right &= nth_forked->ret == -ENOMEM || nth_forked->ret == -EAGAIN ||
				 nth_forked->ret == -EFAULT;
		if (!right)
			printf("# fork, place %u: %ld, %s, %u more not inherited\n", n,
			       nth_forked->ret, with > 0 ? "a trace" : "no trace", now - before);
		if (nth_forked->out_of_reach)
			break;
		result->failed += with < 1;
	}
	tracee_end(&t);
	/*
	 * The limit allows one trace besides the tracee's own. So the last child, for which nothing
	 * failed, has a trace unless memory was leaked.
	 */
	result->places = n - 1;
	result->right = right && n < MANY && with == 1;
}

/*
 * Failures of a given probability in chosen tasks
 */

static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

static void set_fault(const char *kind, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	write_file(path, value);
}

static void set_faults(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		set_fault(kinds[i], "verbose", "0");
		set_fault(kinds[i], "task-filter", "Y");
		set_fault(kinds[i], "probability", "0");
		set_fault(kinds[i], "times", "-1");
	}
	set_fault("failslab", "ignore-gfp-wait", "N");
	set_fault("fail_page_alloc", "ignore-gfp-wait", "N");
	set_fault("fail_page_alloc", "ignore-gfp-highmem", "N");
	set_fault("fail_page_alloc", "min-order", "0");
}

/* Call this early: a task whose allocations fail cannot open a file. */
static int open_may_fail(const char *pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/make-it-fail", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		give_up("%s", path);
	return fd;
}

static void may_fail(int fd, bool on)
{
	if (pwrite(fd, on ? "1" : "0", 1, 0) != 1)
		give_up("make-it-fail");
}

static void tracee_may_fail(void)
{
	char pid[16];
	int fd;

	snprintf(pid, sizeof(pid), "%d", t.pid);
	fd = open_may_fail(pid);
	may_fail(fd, true);
	close(fd);
}

static void allocations_fail(const char *percent)
{
	int i;

	for (i = 0; i < 2; i++)
		set_fault(kinds[i], "probability", percent);
}

/* Check that a trace can be ended while allocations fail. */
static void end_without_memory(void)
{
	int i, wrong = 0, refused = 0, self = open_may_fail("self");

	for (i = 0; i < 3; i++) {
		t = tracee_new();
		if (call_first())
			give_up("a trace");
		tracee_do(&t, known_work, WORK);
		tracee_may_fail();
		allocations_fail("100");
		may_fail(self, true);
		refused += call_first() == -ENOMEM;
		if (i == 0)
			wrong += call_end() != 0;
		else if (i == 1)
			wrong += ptrace(PTRACE_DETACH, t.pid, NULL, NULL) != 0;
		kill(t.pid, SIGKILL);
		waitpid(t.pid, NULL, __WALL);
		may_fail(self, false);
		allocations_fail("0");
	}
	close(self);
	ok(!wrong && refused == 3, "a trace ends where no memory is to be had");
}

static void fork_child(unsigned long unused)
{
	(void)unused;
	nth_forked->ret = syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!nth_forked->ret)
		_exit(0);
}

/* Let allocations fail at random in the tracee and in its new children. */
static void fork_in_need(void)
{
	int i, with, without = 0, had = 0, wrong = 0;
	unsigned int more, now = 0;
	bool right;

	t = nth_forking_tracee(TRACE, RECORDS(ROOM));
	tracee_may_fail();
	for (i = 0; i < FORKS; i++) {
		allocations_fail("3");
		with = nth_let_fork(&t, fork_child, 0);
		allocations_fail("0");
		more = bts_status(t.pid).not_inherited - now;
		now += more;
		/* After the child's trace has failed, the fork itself may fail as well. */
		right = with < 0 ? more <= 1 : more == !with;
		if (!right)
			printf("# fork %d: %d, %u more not inherited\n", i, with, more);
		wrong += !right;
		without += !with;
		had += with > 0;
	}
	tracee_end(&t);
	ok(!wrong && without && had, "%d forks in need: %d with a trace, %d without, %d wrong",
	   FORKS, had, without, wrong);
}

/*
 * The flight recorder
 */

static void walk_recorder(const char *what, const char *path, const char *on, const char *off)
{
	int nth, ret, failed = 0, rings = memory_ring_count();
	bool fired = true, right = true;

	for (nth = 1; nth < MANY && right && fired; nth++) {
		nth_arm(nth);
		ret = try_text(path, on);
		fired = !nth_out_of_reach();
		failed += fired && ret;
		right = !ret || (fired && (ret == -ENOMEM || ret == -EFAULT || ret == -ENFILE) &&
				 memory_ring_count() == rings);
		if (!right)
			printf("# %s, place %d: %d\n", what, nth, ret);
		/* If setting it failed, removing it may fail as well, as nothing is set. */
		right &= !try_text(path, off) || ret;
	}
	ok(right && failed && nth < MANY, "%s: %d of %d places to fail do", what, failed, nth - 1);
}

/*
 * All calls
 */

static int walk_all(void *unused)
{
	unsigned int i;

	(void)unused;
	nth_open();
	t = tracee_new();
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		walk(&calls[i], &results[i]);
	tracee_end(&t);
	walk_forks(&results[i]);
	return 0;
}

static void walk_calls(void)
{
	size_t i;

	/* The limit allows only two traces: if memory stays charged, a later call fails. */
	nobody_pages = PAGES;
	results = shared_memory((ARRAY_SIZE(calls) + 1) * sizeof(*results));
	let_nobody_trace();
	ok(!as_nobody(walk_all, NULL), "a user without rights goes through all of them");
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		ok(results[i].right && results[i].failed >= calls[i].least,
		   "%s: %d of %d places to fail do", calls[i].name, results[i].failed,
		   results[i].places);
	ok(results[i].right && results[i].failed > 10, "fork, inherited: %d of %d places do",
	   results[i].failed, results[i].places);
}

static void walk_recorders(void)
{
	walk_recorder("the recorder", RECORDER "enable", "1", "0");
	write_file(RECORDER "enable", "1");
	walk_recorder("freezing it", RECORDER "freeze", "1", "0");
	walk_recorder("a watch", RECORDER "watch", WATCHED, "\n");
	write_file(RECORDER "enable", "0");
	/*
	 * A trigger of a disabled event turns on the recording of task names.
	 * tracing_start_cmdline_record() does not report its failure, and
	 * tracing_stop_cmdline_record() would warn later. While another event is enabled, both
	 * functions only count.
	 */
	write_file(OTHER_EVENT, "1");
	walk_recorder("a trigger", TRIGGER, "branches:3", "!branches:3");
	write_file(OTHER_EVENT, "0");
}

int main(void)
{
	const uint32_t users[] = { 0, NOBODY };
	long slabs = memory_begin();

	setvbuf(stdout, NULL, _IOLBF, 0);
	set_faults();
	walk_calls();
	end_without_memory();
	fork_in_need();
	nth_open();
	if (try_text(RECORDER "enable", "1") != -EOPNOTSUPP) {
		write_file(RECORDER "enable", "0");
		walk_recorders();
	}
	memory_end(slabs, users, ARRAY_SIZE(users));
	return finish();
}
