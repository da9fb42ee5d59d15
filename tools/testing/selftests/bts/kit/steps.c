// SPDX-License-Identifier: GPL-2.0
/* The steps: they run one after another, each in a child process with a time limit. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"

/* The time limit of a step: LIMIT_FACTOR times the expected time, at least LEAST_LIMIT seconds */
#define LIMIT_FACTOR	20
#define LEAST_LIMIT	120
#define MAX_LINES	12	/* most failures shown of a step without the flag @output */
#define MAX_OUTPUT	60	/* most lines shown of a step with the flag @output */
#define MAX_COMMENTS	3	/* most comments shown of a failure, unless @output is set */

/* Questions come before traces: after a trace, the kernel keeps the Debug Store for seconds. */
#define QUESTION(n, w, s) \
	{ .name = n, .what = w, .seconds = s, .store = true, .output = true, }
#define STORE(n, w, s, ...) \
	{ .name = n, .what = w, .argv = { __VA_ARGS__ }, .seconds = s, .store = true, \
	  .output = true, }
#define PROGRAM(n, w, s, ...) \
	{ .name = n, .what = w, .argv = { __VA_ARGS__ }, .seconds = s, }

#define MODULE		WORK_DIR "/kit_lab.ko"
#define MOST_NOT_ENDED	3

struct step steps[] = {
	{ .name = "module", .what = "the module of the experiments, at each boot", .seconds = 1,
	  .load = true, },
	QUESTION("layout", "how large a record is", 1),
	QUESTION("exact", "whether each branch is recorded as it was", 2),
	QUESTION("flags", "what the flags of a record say", 1),
	QUESTION("filter", "which branches pass the filter", 1),
	QUESTION("pmi", "when the interrupt comes", 1),
	QUESTION("delay", "how late the interrupt is", 1),
	QUESTION("kept", "whether a masked interrupt is kept", 1),
	QUESTION("db", "what a debug exception does to BTS", 1),
	QUESTION("freeze", "what freezing the LBRs does to BTS", 1),
	QUESTION("cost", "what recording costs", 1),
	QUESTION("nmi", "what the interrupt costs", 1),
	STORE("kinds", "what a trace costs: kinds of code", 2, "tracecost", "kinds"),
	STORE("switch", "what a trace costs: switches", 1, "tracecost", "switch"),
	STORE("cpus", "what a trace costs: on all CPUs", 2, "tracecost", "cpus"),
	STORE("bts", "the flight recorder by BTS", 2, "flight", "bts"),
	{ .name = "lbr", .what = "the flight recorder by LBRs", .argv = { "flight", "lbr", },
	  .seconds = 2, .output = true, },
	PROGRAM("units", "unit tests of the kernel", 5, "units"),
	PROGRAM("requests", "requests of a debugger", 3, "requests", "kernel"),
	PROGRAM("requests_32", "the same by a 32-bit one", 3, "requests_32", "kernel"),
	PROGRAM("lossless", "no branch is lost", 3, "lossless", "60000", "4096"),
	PROGRAM("inherit", "traces of children", 2, "inherit"),
	PROGRAM("check", "what is refused", 2, "refusals"),
	PROGRAM("ring", "how a trace is read", 2, "rings"),
	PROGRAM("life", "how a trace lives and ends", 3, "lifetimes"),
	PROGRAM("signal", "signals and traces", 2, "signals"),
	PROGRAM("stepping", "steps of a debugger", 3, "tracedsteps"),
	PROGRAM("threads", "traces of threads", 3, "multithread"),
	PROGRAM("odd", "odd instructions", 2, "odd"),
	{ .name = "crash", .what = "how a program came to its crash, which is on purpose",
	  .argv = { "example", "-n", "12", "badjump", }, .seconds = 1, .output = true,
	  .crashes = true, },
	{ .name = "btstrace", .what = "the same by btstrace",
	  .argv = { "btstrace", "badjump", }, .seconds = 2, .output = true,
	  .crashes = true, },
};

const size_t nr_steps = ARRAY_SIZE(steps);

const char *const outcome_names[] = {
	[NOT_RUN]	= "to-do",
	[RUNNING]	= "running",
	[PASSED]	= "passed",
	[FAILED]	= "failed",
	[SKIPPED]	= "skipped",
	[NOT_ENDED]	= "not-ended",
	[TIMED_OUT]	= "too-long",
	[LEFT_OUT]	= "left-out",
};

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *at = list;

	for (; (at = strstr(at, name)); at += len) {
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

static const char *program_of(const struct step *step)
{
	return step->argv[0] ?: "questions";
}

/* Returns why a step must not run, or NULL if it may. */
static const char *reason_against(const struct step *step, const char *only)
{
	if (only && !is_listed(only, step->name))
		return "not listed in kit.steps";
	if (step->store && !machine.store)
		return "no Debug Store";
	/* The working directory is that of the programs. */
	if (access(program_of(step), X_OK))
		return "no such program for this kernel";
	return NULL;
}

void steps_choose(const char *only)
{
	struct step *s;

	for (s = steps; s < steps + nr_steps; s++) {
		if (s->load) {
			/* Load the module at each boot, unless this step once did not end. */
			if (s->outcome != NOT_ENDED)
				s->outcome = NOT_RUN;
			s->passed = 0;
			s->failed = 0;
			continue;
		}
		s->reason = reason_against(s, only);
		if (s->reason)
			s->outcome = LEFT_OUT;
	}
}

void steps_tell_left_out(void)
{
	size_t i, first;

	for (i = 0; i < nr_steps; i++) {
		if (!steps[i].reason)
			continue;
		first = i;
		while (i + 1 < nr_steps && steps[i + 1].reason == steps[first].reason)
			i++;
		tell("Left out, %s: step %zu", steps[first].reason, first + 1);
		if (i > first)
			tell(" (%s) to step %zu (%s)\n", steps[first].name, i + 1, steps[i].name);
		else
			tell(" (%s)\n", steps[first].name);
	}
}

void steps_give_up(void)
{
	int not_ended = 0;
	size_t i;

	for (i = 0; i < nr_steps; i++)
		not_ended += steps[i].outcome == NOT_ENDED;
	if (not_ended < MOST_NOT_ENDED)
		return;
	tell("%d steps did not end: the steps that remain are left out.\n", not_ended);
	for (i = 0; i < nr_steps; i++) {
		if (steps[i].outcome == NOT_RUN && !steps[i].load)
			steps[i].outcome = LEFT_OUT;
	}
}

unsigned int steps_seconds_left(void)
{
	unsigned int left = 0;
	size_t i;

	for (i = 0; i < nr_steps; i++) {
		if (steps[i].outcome == NOT_RUN || steps[i].outcome == RUNNING)
			left += steps[i].seconds;
	}
	return left;
}

/* Load the module, print a result, and exit. */
static void load_module(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && !syscall(SYS_finit_module, fd, "", 0);

	printf("%s 1 - the module is loaded: %s\n", good ? "ok" : "not ok",
	       good ? "yes" : strerror(errno));
	fflush(stdout);
	_exit(!good);
}

static void run_child(const struct step *step, int out)
{
	const char *const question[] = { program_of(step), step->name, NULL, };
	const char *const *argv = step->argv[0] ? step->argv : question;

	setsid();
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(out, 1);
	dup2(out, 2);
	/* PID 1 ignores SIGPIPE. The program must not inherit that. */
	signal(SIGPIPE, SIG_DFL);
	if (step->load)
		load_module();
	execvp(argv[0], (char **)argv);
	printf("Bail out! cannot run %s: %s\n", argv[0], strerror(errno));
	fflush(stdout);
	_exit(127);
}

struct reader {
	char buf[1024];
	size_t len;
	int told;		/* lines to print, also those beyond the limit */
	/* The comments since the last line of another kind; the array has the newest ones */
	char comment[MAX_COMMENTS][200];
	int comments;
};

/* Print the comments before a failure: they tell what was wrong. */
static void tell_comments(struct reader *r)
{
	int i = r->comments > MAX_COMMENTS ? r->comments - MAX_COMMENTS : 0;

	for (; i < r->comments; i++)
		tell("      %s\n", r->comment[i % MAX_COMMENTS]);
}

/*
 * Count the result that a line of output may have. With step->output, print failures and all lines
 * that are neither a result nor the plan, at most MAX_OUTPUT lines. Without it, print at most
 * MAX_LINES failures, and the newest comments before each.
 */
static void take_line(struct step *step, const char *line, struct reader *r)
{
	bool bad = !strncmp(line, "not ok", 6) || !strncmp(line, "Bail out!", 9);
	int most = step->output ? MAX_OUTPUT : MAX_LINES;

	if (bad)
		step->failed++;
	else if (!strncmp(line, "ok ", 3) && strstr(line, "# SKIP"))
		step->skipped++;
	else if (!strncmp(line, "ok ", 3))
		step->passed++;
	if (bad || (step->output && strncmp(line, "ok ", 3) && strncmp(line, "1..", 3))) {
		if (r->told++ < most) {
			if (!step->output)
				tell_comments(r);
			tell("      %.200s\n", line);
		}
	}
	if (line[0] == '#')
		snprintf(r->comment[r->comments++ % MAX_COMMENTS], sizeof(r->comment[0]), "%s",
			 line);
	else
		r->comments = 0;
}

/* Read and handle lines. Returns false at the end of the output, or on an error. */
static bool read_lines(struct step *step, int fd, struct reader *r)
{
	ssize_t n = read(fd, r->buf + r->len, sizeof(r->buf) - 1 - r->len);
	char *line = r->buf, *end;

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	r->len += n;
	r->buf[r->len] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		take_line(step, line, r);
		line = end + 1;
	}
	r->len -= line - r->buf;
	memmove(r->buf, line, r->len);
	if (r->len == sizeof(r->buf) - 1)
		r->len = 0;
	return true;
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static void show_time(const struct step *step, time_t since)
{
	unsigned int left = steps_seconds_left(), spent = now() - since;

	/* Subtract the time spent on this step, at most the time that was expected. */
	left -= spent < step->seconds ? spent : step->seconds;
	show_progress("  %s: %u s; about %u s left in all", step->name, spent, left);
}

/*
 * Reap @child. Returns false if it has not ended after 10 seconds: even SIGKILL does not end a task
 * that hangs in the kernel.
 */
static bool reap(pid_t child, int *status)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (waitpid(child, status, WNOHANG) == child)
			return true;
		poll(NULL, 0, 100);
	}
	return false;
}

/*
 * Returns whether @child has ended. The end of its output does not tell: processes that it has left
 * running may keep the pipe open.
 */
static bool has_ended(pid_t child)
{
	siginfo_t info = { };

	return !waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == child;
}

/*
 * Wait until the output has ended, or until @child has ended and there was no output for a second.
 * Returns false if this takes too long.
 */
static bool watch(struct step *step, pid_t child, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN, };
	time_t since = now(), most = step->seconds * LIMIT_FACTOR;
	struct reader reader = { };

	if (most < LEAST_LIMIT)
		most = LEAST_LIMIT;
	while (now() - since < most) {
		if (poll(&poll_fd, 1, 1000)) {
			if (!read_lines(step, fd, &reader))
				return true;
		} else if (has_ended(child)) {
			return true;
		}
		show_time(step, since);
	}
	return false;
}

/* End what a step has left running: processes, and the flight recorder. */
static void end_leftovers(void)
{
	int fd = open("/sys/kernel/tracing/hw_branches/enable", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "0", 1) != 1)
			fprintf(stderr, "kit: the recorder is still on\n");
		close(fd);
	}
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static enum outcome judge(const struct step *step, bool in_time, bool dead, int status)
{
	if (!in_time || !dead)
		return TIMED_OUT;
	if (step->crashes && (WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV :
			      WEXITSTATUS(status) == 128 + SIGSEGV))
		return PASSED;
	if (step->crashes && WIFEXITED(status) && !WEXITSTATUS(status)) {
		tell("      did not crash\n");
		return FAILED;
	}
	if (WIFSIGNALED(status)) {
		tell("      killed by signal %d\n", WTERMSIG(status));
		return FAILED;
	}
	if (WEXITSTATUS(status) && !step->failed)
		tell("      exit status %d\n", WEXITSTATUS(status));
	if (step->failed || WEXITSTATUS(status))
		return FAILED;
	return step->skipped && !step->passed ? SKIPPED : PASSED;
}

void step_run(struct step *step)
{
	int out[2], status = 0;
	bool in_time, dead;
	pid_t child;

	if (pipe2(out, O_CLOEXEC)) {
		step->outcome = FAILED;
		return;
	}
	child = fork();
	if (!child)
		run_child(step, out[1]);
	close(out[1]);
	if (child < 0) {
		close(out[0]);
		step->outcome = FAILED;
		return;
	}
	in_time = watch(step, child, out[0]);
	close(out[0]);
	if (!in_time)
		kill(child, SIGKILL);
	dead = reap(child, &status);
	end_leftovers();
	step->outcome = judge(step, in_time, dead, status);
	if (klog_complaints())
		step->outcome = FAILED;
}
