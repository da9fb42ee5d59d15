// SPDX-License-Identifier: GPL-2.0
/*
 * Marks of the kernel and of a module that show the way that led to them.
 *
 *   marks MODULE all|races|warn
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "dump.h"

#define MARK	TRACEFS "/events/bts_crash/bts_crash_mark/trigger"
#define OWN	TRACEFS "/events/hw_branch/hw_branch/trigger"

/* How many there are in a run now. */
static int nr = NR;

/* What the trace says between two clears. */
struct seen {
	int branches[8];	/* of each CPU */
	int runs;		/* of so many branches of one CPU */
	bool ordered;		/* the oldest of each run first */
	char to[128];		/* the newest of CPU 0's */
	char from[128];
	int work;		/* that left the function called before the mark */
};

static struct seen look(void)
{
	char *trace = get("../trace"), *at = trace;
	struct seen seen = { .ordered = true };
	int cpu, age, last[8] = { };

	while ((at = strstr(at, "hw_branch: cpu="))) {
		char to[128], from[128];

		if (sscanf(at, "hw_branch: cpu=%d age=%d %127s", &cpu, &age, to) != 3)
			give_up("cannot read the trace");
		snprintf(from, sizeof(from), "%.*s", (int)strcspn(strstr(at, "<- ") + 3, "\n"),
			 strstr(at, "<- ") + 3);
		if (seen.branches[cpu]++ % nr == 0)
			seen.runs++;
		else if (age != last[cpu] - 1)
			seen.ordered = false;
		last[cpu] = age;
		seen.work += within(from, "bts_crash_work");
		if (!cpu) {
			memcpy(seen.to, to, sizeof(to));
			memcpy(seen.from, from, sizeof(from));
		}
		at++;
	}
	free(trace);
	return seen;
}

static void clear(void)
{
	int fd = open(TRACEFS "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		give_up("cannot clear the trace");
	close(fd);
}

static void must(const char *path, const char *text)
{
	errno = -try_text(path, text);
	if (errno)
		give_up("%s to %s", text, path);
}

/* What came of so many words to the module, with this trigger at the mark. */
static struct seen with(const char *trigger, const char *word, int times)
{
	struct seen seen;

	clear();
	must(MARK, trigger);
	while (times--)
		must(DEVICE, word);
	usleep(100000);
	seen = look();
	must(MARK, "!branches");
	return seen;
}

static bool led_to_mark(const struct seen *seen, int marks)
{
	if (seen->branches[0] == marks * NR && seen->runs == marks && seen->ordered &&
	    seen->work == marks * 5 && strstr(seen->to, "trace_event_raw_event_bts_crash_mark+0x0"))
		return true;
	printf("# %d branches, %d runs, ordered %d, work %d, %s <- %s\n", seen->branches[0],
	       seen->runs, seen->ordered, seen->work, seen->to, seen->from);
	return false;
}

static void test_module(void)
{
	struct seen seen = with("branches", "mark", 3);

	ok(led_to_mark(&seen, 3), "mark of a module: the way to it");
	ok(!seen.branches[1], "and nothing of another CPU");
	seen = with("branches", "nmimark", 1);
	ok(led_to_mark(&seen, 1), "in an NMI");
	seen = with("branches:2", "mark", 5);
	ok(led_to_mark(&seen, 2), "no more often than the count");
	must_set("nr", "100");
	nr = 100;
	seen = with("branches:1", "mark", 1);
	ok(seen.branches[0] == 100 && seen.runs == 1, "as many as nr says");
	must_set("nr", "32");
	nr = NR;
}

static void test_options(void)
{
	struct seen seen = with("branches:all", "mark", 1);

	ok(seen.branches[0] == NR && seen.branches[1] == NR && seen.ordered, "all: CPU 1, too");
	usleep(50000);
	ok(recording(0) && recording(1), "all: and recording goes on");
	seen = with("branches:all:1", "storm", 1);
	ok(seen.branches[0] == NR && seen.branches[1] == NR, "all with a count, whatever comes");
	seen = with("branches:freeze", "mark", 3);
	ok(led_to_mark(&seen, 1) && is("freeze", "1"), "freeze: once, and it stays frozen");
	ok(count_lines(get("per_cpu/cpu0/trace"), 0, "bts_crash_mark") > 2,
	   "freeze: the rest is there");
	must_set("freeze", "0");
}

static void test_filter(void)
{
	struct seen seen;
	char trigger[64];

	clear();
	must(MARK, "branches if n == 1000000");
	must(DEVICE, "mark");
	must(MARK, "!branches");
	seen = look();
	ok(!seen.runs, "filter: not this one");
	snprintf(trigger, sizeof(trigger), "branches:5 if n >= %d", 1);
	seen = with(trigger, "mark", 1);
	ok(led_to_mark(&seen, 1), "filter: this one");
}

static void test_builtin(void)
{
	static const char *const fork_mark = TRACEFS "/events/sched/sched_process_fork/trigger";
	struct seen seen;

	clear();
	must(fork_mark, "branches:1");
	if (!fork())
		_exit(0);
	wait(NULL);
	seen = look();
	ok(seen.branches[0] == NR && strstr(seen.to, "trace_event_raw_event_sched_process_fork"),
	   "a mark that is built in");
	must(fork_mark, "!branches");
}

/* Events of what the trigger itself does. */
static void test_itself(void)
{
	static const char *const msr_mark = TRACEFS "/events/msr/write_msr/trigger";
	struct seen seen;

	clear();
	must(msr_mark, "branches");
	must(MARK, "branches");
	must(DEVICE, "mark");
	must(MARK, "!branches");
	must(msr_mark, "!branches");
	seen = look();
	ok(seen.runs >= 1, "a mark in what the trigger does: no recursion, %d runs", seen.runs);
}

static void test_refusals(void)
{
	char *text;

	ok(try_text(MARK, "branches:x") == -EINVAL && try_text(MARK, "branches:all:") == -EINVAL &&
	   try_text(MARK, "branches:1:alles") == -EINVAL &&
	   try_text(MARK, "branches if nothing == 1") == -EINVAL, "no such option, no such field");
	ok(try_text(OWN, "branches") == -EINVAL, "not at its own event");
	must(MARK, "branches:7:all:freeze if n == 3");
	ok(try_text(MARK, "branches") == -EEXIST, "one at each event");
	text = get("../events/bts_crash/bts_crash_mark/trigger");
	ok(strstr(text, "branches:count=7:all:freeze if n == 3"), "it can be read back");
	free(text);
	must(MARK, "!branches");
	text = get("../events/bts_crash/bts_crash_mark/trigger");
	ok(!strstr(text, "branches:"), "and removed");
	free(text);
}

static void test_off(void)
{
	struct seen seen;

	must_set("enable", "0");
	seen = with("branches", "mark", 2);
	ok(!seen.runs, "off: nothing");
	must_set("enable", "1");
}

/* The module stays while its mark is on. */
static void test_removal(const char *module)
{
	int i, stayed = 0, gone = 0;

	for (i = 0; i < 10; i++) {
		must(MARK, i % 2 ? "branches" : "branches:all");
		must(DEVICE, "storm");
		stayed += syscall(SYS_delete_module, "bts_crash", O_NONBLOCK) < 0;
		must(MARK, "!branches");
		gone += !syscall(SYS_delete_module, "bts_crash", O_NONBLOCK);
		load_module(module, "");
	}
	ok(stayed == 10 && gone == 10, "the module stays while its mark is on, and can go then");
}

static int all(const char *module)
{
	test_module();
	test_options();
	test_filter();
	test_builtin();
	test_itself();
	test_refusals();
	test_off();
	test_removal(module);
	return finish();
}

static pid_t again_and_again(const char *word)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;)
		try_text(DEVICE, word);
}

static void toggle(const char *name, int times)
{
	while (times--) {
		set(name, times % 2 ? "0" : "1");
		usleep(1000 * (times % 7));
	}
}

/* Marks and watchpoints are hit while somebody switches off what they look at. */
static int races(void)
{
	struct seen seen = { };
	pid_t mark, write;
	int tries;

	must(MARK, "branches:all");
	must_set("watch", "bts_crash_global:4");
	mark = again_and_again("mark");
	write = again_and_again("write");
	toggle("enable", 20);
	toggle("freeze", 20);
	toggle("enable", 20);
	kill(mark, SIGKILL);
	kill(write, SIGKILL);
	while (wait(NULL) > 0)
		;
	must_set("watch", "\n");
	must_set("freeze", "0");
	must(MARK, "!branches");
	ok(goes_on(), "switched off and frozen at any time: it records at the end");
	for (tries = 0; tries < 50 && !seen.branches[1]; tries++)
		seen = with("branches:all", "mark", 1);
	ok(seen.branches[0] == NR && seen.branches[1] == NR && goes_on(), "and its marks work");
	return finish();
}

/* Where errors are reported there is a mark. */
static int warn(void)
{
	static const char *const report = TRACEFS "/events/error_report/error_report_end/trigger";
	struct seen seen;

	clear();
	must(report, "branches");
	must(DEVICE, "warn");
	seen = look();
	ok(seen.branches[0] == NR && strstr(seen.to, "error_report"), "WARN: %s <- %s", seen.to,
	   seen.from);
	must(report, "!branches");
	/* That is behind the printing; this is before it. */
	must(TRACEFS "/kprobe_events", "p:warned __warn_printk");
	must_set("nr", "150");
	clear();
	must(TRACEFS "/events/kprobes/warned/trigger", "branches");
	must(DEVICE, "warn");
	seen = look();
	ok(seen.work == 5, "a probe where a WARN begins: the way to it");
	must(TRACEFS "/events/kprobes/warned/trigger", "!branches");
	return finish();
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s MODULE all|races|warn\n", argv[0]);
		return 2;
	}
	load_module(argv[1], "");
	must_set("enable", "1");
	pin_to(0);
	usleep(20000);
	if (!strcmp(argv[2], "races"))
		return races();
	return strcmp(argv[2], "warn") ? all(argv[1]) : warn();
}
