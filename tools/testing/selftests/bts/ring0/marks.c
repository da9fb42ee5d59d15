// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of marks, and of reports of errors. A mark is an event with the trigger 'branches'. When
 * the event comes, the trigger writes the newest branches of the event's CPU to the trace, or, with
 * 'all', those of each CPU. A run is the branches of one CPU that the trigger writes for one event.
 *
 *   marks MODULE all|races|quick|unload
 *   marks MODULE report warn|kasan|kfence|softlockup|hardlockup NAME
 *				NAME: for warn, what error_report_end must name; else unused
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/recorder.h"
#include "../guest/dump.h"

#define OWN	TRACEFS "/events/hw_branch/hw_branch/trigger"

/* The largest number of branches in a run, as in the file "nr". */
static int nr = NR;

/* A summary of a trace. */
struct seen {
	int branches[8];	/* number of branches of each CPU */
	int runs;		/* number of runs; each but a CPU's last must have nr branches */
	bool ordered;		/* in each run, the ages increase by 1: the newest comes first */
	char to[128];		/* target of the newest branch in CPU 0's last run */
	char from[128];
	int work;		/* number of branches from bts_crash_work() */
	int since;		/* the age of the first of these branches in the trace */
	bool named;		/* each line has the name of a task, not <...> */
	bool odd;		/* the flags of a line end with ff, see is_odd() */
};

/*
 * Returns whether the flags in the line of @at end with "ff", as if a preemption depth of 0 had
 * been decremented.
 */
static bool is_odd(const char *trace, const char *at)
{
	const char *line = at;

	while (line > trace && line[-1] != '\n')
		line--;
	return memmem(line, at - line, "ff ", 3);
}

static bool is_named(const char *trace, const char *at)
{
	while (at > trace && at[-1] != '\n')
		at--;
	return strncmp(at + strspn(at, " "), "<...>", 5);
}

static struct seen look_at(const char *file)
{
	char *trace = get(file), *at = trace;
	struct seen seen = { .ordered = true, .named = true };
	int cpu, age, last[8] = { };

	while ((at = strstr(at, "hw_branch: cpu="))) {
		char to[128], from[128];

		if (sscanf(at, "hw_branch: cpu=%d age=%d %127s", &cpu, &age, to) != 3)
			give_up("cannot read the trace");
		snprintf(from, sizeof(from), "%.*s", (int)strcspn(strstr(at, "<- ") + 3, "\n"),
			 strstr(at, "<- ") + 3);
		seen.named &= is_named(trace, at);
		seen.odd |= is_odd(trace, at);
		if (!cpu && seen.branches[cpu] % nr == 0) {
			memcpy(seen.to, to, sizeof(to));
			memcpy(seen.from, from, sizeof(from));
		}
		if (seen.branches[cpu]++ % nr == 0)
			seen.runs++;
		else if (age != last[cpu] + 1)
			seen.ordered = false;
		last[cpu] = age;
		if (within(from, "bts_crash_work") && !seen.work++)
			seen.since = age;
		at++;
	}
	free(trace);
	return seen;
}

static struct seen look(void)
{
	return look_at("../trace");
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

/*
 * Set @trigger, write @word to the module @times times, and remove the trigger. Returns a summary
 * of what the trigger has written.
 */
static struct seen with(const char *trigger, const char *word, int times)
{
	struct seen seen;

	clear();
	must(MARK, trigger);
	while (times--)
		must(DEVICE, word);
	/* With 'all', a work writes the branches of the other CPUs. Wait for the thaw after it. */
	if (strstr(trigger, "all"))
		goes_on();
	else
		usleep(100000);
	seen = look();
	must(MARK, "!branches");
	return seen;
}

static bool led_to_mark(const struct seen *seen, int marks)
{
	if (seen->branches[0] == marks * nr && seen->runs == marks && seen->ordered &&
	    seen->named && seen->work == marks * 5 &&
	    enters(seen->to, "trace_event_raw_event_bts_crash_mark"))
		return true;
	printf("# %d branches, %d runs, ordered %d, named %d, work %d, %s <- %s\n",
	       seen->branches[0], seen->runs, seen->ordered, seen->named, seen->work,
	       seen->to, seen->from);
	return false;
}

static void test_module(void)
{
	struct seen seen;

	/* With KASAN, the way of the first mark is longer than NR branches. */
	nr = 2 * NR;
	must_set("nr", "64");
	seen = with("branches", "mark", 3);
	ok(led_to_mark(&seen, 3), "mark of a module: the way to it");
	ok(!seen.branches[1], "and nothing of another CPU");
	nr = NR;
	must_set("nr", "32");
	seen = with("branches", "nmimark", 1);
	ok(led_to_mark(&seen, 1), "in an NMI");
	seen = with("branches:2", "mark", 5);
	ok(led_to_mark(&seen, 2), "no more often than the count");
	must_set("freeze", "1");
	clear();
	must(MARK, "branches:1");
	must(DEVICE, "mark");
	must_set("freeze", "0");
	must(DEVICE, "mark");
	seen = look();
	must(MARK, "!branches");
	ok(led_to_mark(&seen, 1), "an event while all CPUs are frozen does not count");
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
	ok(!seen.odd, "all: with right flags");
	ok(goes_on(), "all: and recording goes on");
	seen = with("branches:all:1", "storm", 1);
	ok(seen.branches[0] == NR && seen.branches[1] == NR, "all with a count, whatever comes");
	seen = with("branches:freeze", "mark", 3);
	ok(led_to_mark(&seen, 1) && is("freeze", "1"), "freeze: once, and it stays frozen");
	ok(count_lines(get("per_cpu/cpu0/trace"), 0, "bts_crash_mark") > 2,
	   "freeze: the rest is there");
	must_set("freeze", "0");
}

/* In 6.12, a write to trace_marker runs the trigger of the event print with preemption on. */
static void test_written(void)
{
	static const char print[] = TRACEFS "/events/ftrace/print/trigger";
	struct seen seen;
	int i;

	clear();
	must(print, "branches:2");
	for (i = 0; i < 3; i++)
		must(TRACEFS "/trace_marker", "here");
	seen = look();
	must(print, "!branches");
	ok(seen.branches[0] == 2 * NR && seen.runs == 2 && seen.ordered,
	   "trace_marker: twice, %d branches", seen.branches[0]);
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
	char trigger[64];

	clear();
	/* Forks by other tasks must not count. */
	snprintf(trigger, sizeof(trigger), "branches:1 if common_pid == %d", getpid());
	must(fork_mark, trigger);
	if (!fork())
		_exit(0);
	wait(NULL);
	seen = look();
	printf("# %d branches, to %s\n", seen.branches[0], seen.to);
	ok(seen.branches[0] == NR && strstr(seen.to, "trace_event_raw_event_sched_process_fork"),
	   "a mark that is built in");
	must(fork_mark, "!branches");
}

/* A mark at an event that the trigger itself causes: a kprobe of a function that it calls. */
static void test_itself(void)
{
	static const char *const own_mark = TRACEFS "/events/kprobes/itself/trigger";
	unsigned long long hits = 0;
	struct seen seen;
	char *at;

	clear();
	must(TRACEFS "/kprobe_events", "p:itself bts_flight_last");
	must(own_mark, "branches");
	must(MARK, "branches");
	must(DEVICE, "mark");
	must(MARK, "!branches");
	at = strstr(get("../kprobe_profile"), "itself");
	if (at)
		sscanf(at, "itself %llu", &hits);
	must(own_mark, "!branches");
	/* Read the trace first: removing the kprobe clears it. */
	seen = look();
	must(TRACEFS "/kprobe_events", "-:itself");
	ok(seen.runs >= 1 && hits,
	   "a mark in what the trigger does: no recursion, %d runs, %llu hits", seen.runs, hits);
}

static __attribute__((noinline)) void probed(void)
{
	asm volatile("nop");
}

/* Returns the offset of probed() in the file of this program. */
static unsigned long probed_offset(void)
{
	unsigned long at = (unsigned long)probed, start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start &&
		    at < end) {
			fclose(maps);
			return at - start + offset;
		}
	}
	give_up("/proc/self/maps");
}

/* A mark at a uprobe: with CONFIG_PREEMPT_RCU, its event has preemption on. */
static void test_uprobe(void)
{
	static const char mark[] = TRACEFS "/events/uprobes/probed/trigger";
	char self[256] = "", definition[320];
	struct seen seen;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		give_up("/proc/self/exe");
	snprintf(definition, sizeof(definition), "p:probed %s:0x%lx", self, probed_offset());
	must(TRACEFS "/uprobe_events", definition);
	clear();
	must(mark, "branches");
	probed();
	must(mark, "!branches");
	/* Read the trace first: removing the uprobe clears it. */
	seen = look();
	must(TRACEFS "/uprobe_events", "-:probed");
	ok(seen.runs == 1 && seen.ordered && !seen.odd, "a uprobe: %d runs, with right flags: %d",
	   seen.runs, !seen.odd);
}

static void test_refusals(void)
{
	char *text;

	ok(try_text(MARK, "branches:x") == -EINVAL && try_text(MARK, "branches:all:") == -EINVAL &&
	   try_text(MARK, "branches:1:alles") == -EINVAL &&
	   try_text(MARK, "branches if nothing == 1") == -EINVAL, "no such option, no such field");
	text = get("../error_log");
	ok(strstr(text, "Neither a count nor 'all' nor 'freeze'") && strstr(text, "1:alles"),
	   "the error log says why");
	free(text);
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

/* Unload the module. If that fails, retry for some seconds. */
static bool module_goes(void)
{
	int tries = 5000;

	while (syscall(SYS_delete_module, "bts_crash", O_NONBLOCK)) {
		if (!tries--)
			return false;
		usleep(1000);
	}
	return true;
}

/* A trigger pins the module of its event. */
static void test_removal(const char *module)
{
	int i, stayed = 0, gone = 0;

	for (i = 0; i < 10; i++) {
		must(MARK, i % 2 ? "branches" : "branches:all");
		must(DEVICE, "storm");
		stayed += syscall(SYS_delete_module, "bts_crash", O_NONBLOCK) < 0;
		must(MARK, "!branches");
		gone += module_goes();
		load_module(module, "");
	}
	ok(stayed == 10 && gone == 10, "the module stays while its mark is on, and can go then");
}

#define FOO	TRACEFS "/instances/foo"
#define FOOS	FOO "/events/bts_crash/bts_crash_mark/trigger"

/* A trigger writes only to its own instance, even if the event hw_branch is disabled there. */
static void test_instances(void)
{
	static const char own[] = "../instances/foo/events/hw_branch/hw_branch/enable";
	struct seen foo, top;

	if (mkdir(FOO, 0700))
		give_up(FOO);
	clear();
	must(FOOS, "branches:1");
	must(TRACEFS "/events/enable", "0");
	must(FOO "/events/enable", "0");
	must(DEVICE, "mark");
	foo = look_at("../instances/foo/trace");
	top = look();
	ok(led_to_mark(&foo, 1) && !top.runs, "an instance: its own branches, %d of others",
	   top.runs);
	ok(is(own, "0"), "an instance: nothing is enabled");
	must(MARK, "branches:all:1");
	must(DEVICE, "mark");
	goes_on();
	foo = look_at("../instances/foo/trace");
	top = look();
	ok(foo.runs == 1 && top.branches[0] == NR && top.branches[1] == NR,
	   "an instance: nothing of the other's: %d runs", foo.runs);
	must(MARK, "!branches");
	must(FOOS, "!branches");
	ok(is(own, "0") && !rmdir(FOO), "an instance: goes");
}

/* A trigger in an instance pins the module as well. Removing the instance unpins it. */
static void test_instance(const char *module)
{
	if (mkdir(FOO, 0700))
		give_up(FOO);
	must(FOOS, "branches");
	ok(syscall(SYS_delete_module, "bts_crash", O_NONBLOCK) < 0, "a trigger of an instance");
	ok(!rmdir(FOO) && !syscall(SYS_delete_module, "bts_crash", O_NONBLOCK),
	   "goes with the instance");
	load_module(module, "");
}

static int all(const char *module)
{
	test_module();
	test_options();
	test_written();
	test_filter();
	test_builtin();
	test_itself();
	test_uprobe();
	test_refusals();
	test_off();
	test_instances();
	test_removal(module);
	test_instance(module);
	return finish();
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Returns how many ns a mark that shows this number of branches takes. */
static unsigned long long time_of(int branches)
{
	unsigned long long start;
	char text[16];

	snprintf(text, sizeof(text), "%d", branches);
	must_set("nr", text);
	clear();
	must(MARK, "branches:1");
	start = now();
	must(DEVICE, "mark");
	start = now() - start;
	must(MARK, "!branches");
	nr = branches;
	if (look().branches[0] != branches)
		give_up("there are not %d branches", branches);
	return start;
}

/*
 * The emulator must run with -icount: then the clock counts instructions. Ten times the branches
 * must take less than 20 times as long.
 */
static int quick(void)
{
	unsigned long long few, many;

	time_of(250);
	few = time_of(250);
	many = time_of(2500);
	printf("# %llu ns, %llu ns\n", few, many);
	ok(many < 20 * few, "2500 branches do not take longer than they need");
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

/* Hit marks and watchpoints while the recorder is switched on and off, frozen and thawed. */
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

static bool is_newer_than_6(void)
{
	struct utsname kernel;

	if (uname(&kernel))
		give_up("uname");
	return atoi(kernel.release) > 6;
}

/*
 * Remove a trigger and unload its module while the event is hit. The trigger must pin the module
 * until no CPU executes the trigger any more.
 */
static int unload(const char *module)
{
	int round, gone = 0;

	for (round = 0; round < 20; round++) {
		load_module(module, "");
		must(DEVICE, "tick");
		must(MARK, "branches");
		usleep(2000);
		if (!syscall(SYS_delete_module, "bts_crash", O_NONBLOCK))
			give_up("the module went with its trigger");
		must(MARK, "!branches");
		gone += module_goes();
	}
	ok(gone == round, "a module goes when its trigger is gone: %d times", gone);
	ok(goes_on(), "and the recorder goes on");
	return finish();
}

/* Matches the first line of a WARN */
#define FIRST_LINE	"msg ~ \"*cut here*\""

#define REPORTED	TRACEFS "/events/error_report/error_report_end/"
#define PRINTED		TRACEFS "/events/printk/console/"
#define PROBED		TRACEFS "/events/kprobes/warned/"

/* A mark at the end of a report shows how the report was printed, not what led to the error. */
static void test_reported(const char *word, const char *name)
{
	struct seen seen;

	clear();
	must(REPORTED "enable", "1");
	must(REPORTED "trigger", "branches");
	must(DEVICE, word);
	seen = look();
	ok(seen.runs == 1 && seen.branches[0] > 2000 && !seen.branches[1] && seen.ordered,
	   "%s: the report leaves its trace", word);
	ok(strstr(seen.to, "trace_event_raw_event_error_report") && strstr(get("../trace"), name),
	   "%s: at its end", word);
	ok(!seen.work, "%s: the printing took the place of all before", word);
	must(REPORTED "trigger", "!branches");
	must(REPORTED "enable", "0");
}

/* With a mark at the first printed line, the branches show what led to the error. */
static void test_begins(const char *word)
{
	struct seen seen;

	clear();
	must(PRINTED "trigger", "branches:1 if " FIRST_LINE);
	must(DEVICE, word);
	seen = look();
	printf("# measure %d\n", seen.since);
	ok(seen.runs == 1 && seen.work == 5, "%s: its first line, and the way there", word);
	must(PRINTED "trigger", "!branches");
}

/* The same with a mark at a kprobe of a function that prints a WARN(). 7.3 and 6.12 differ. */
static void test_probe(void)
{
	struct seen seen;
	char trigger[64];

	must(TRACEFS "/kprobe_events",
	     is_newer_than_6() ? "p:warned _printk" : "p:warned __warn_printk");
	clear();
	/*
	 * For one WARN(), _printk() is called several times, but __warn_printk() once. Other tasks
	 * call _printk(), too.
	 */
	snprintf(trigger, sizeof(trigger), "branches%s if common_pid == %d",
		 is_newer_than_6() ? ":1" : "", getpid());
	must(PROBED "trigger", trigger);
	must(DEVICE, "warn");
	seen = look();
	printf("# measure %d\n", seen.since);
	ok(seen.runs == 1 && seen.work == 5, "warn: a probe where it begins");
	must(PROBED "trigger", "!branches");
}

/* A report by KASAN or KFENCE is a crash: it freezes the recorder and prints the branches. */
static int test_crash(const char *word)
{
	struct dump d;

	must_set("fold", "0");
	/* read_dump() reads the kernel's log after the report: the log must hold all lines. */
	must_set("crash_nr", "500");
	skip_log();
	must(DEVICE, word);
	d = read_dump();
	ok(d.traces == 1 && !d.first && d.work >= 5, "%s: the report prints the way there: %d",
	   word, d.work);
	ok(thaws(), "%s: frozen until it is thawed", word);
	return finish();
}

/*
 * A lockup freezes the recorder. The report must show a branch from bts_crash_spin(). For a hard
 * lockup, it must be the newest one: the detector's NMI interrupts the loop. For a soft lockup, the
 * detector's interrupt may come while other code runs that has interrupted the loop.
 */
static void test_lockup(const char *word)
{
	struct dump d;

	await_clock();
	/* Printing in an NMI takes so long that perf might throttle the detector's event. */
	must("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	/* Do not set this by a boot parameter: on a slow host, the boot might seem to lock up. */
	must("/proc/sys/kernel/watchdog_thresh", "1");
	skip_log();
	must(DEVICE, word);
	d = read_dump();
	ok(d.traces == 1 && !d.first && d.spins &&
	   (!strcmp(word, "softlockup") || strstr(d.top, "<- bts_crash_spin+")),
	   "%s: the report shows the loop: %s", word, d.top);
	ok(thaws(), "%s: frozen until it is thawed", word);
}

/* observe_stuck() returns these bits. */
#define STUCK_READ	1
#define STUCK_THAWED	2
#define STUCK_HIDDEN	4

/*
 * Release CPU 0, which is locked up, and return the bits STUCK_* that were found before. @*returned
 * becomes true when CPU 0 is not locked up any more.
 */
static int observe_stuck(const volatile bool *returned)
{
	int found = 0, i;
	time_t start;

	/* CPU 0 does not respond to this thaw. It is not frozen yet, so it has nothing to thaw. */
	usleep(300000);
	must_set("freeze", "0");
	for (i = 0; i < 300 && !strstr(get("freeze"), "1"); i++)
		usleep(100000);
	if (shows_branches("per_cpu/cpu0/trace") && !*returned)
		found |= STUCK_READ;
	/* Compare times, too: a thaw that waits for the CPU may return before @*returned is set. */
	start = time(NULL);
	must_set("freeze", "0");
	if (is("freeze", "0") && time(NULL) - start < 10 && !*returned)
		found |= STUCK_THAWED;
	must_set("freeze", "1");
	if (!shows_branches("per_cpu/cpu0/trace") && shows_branches("per_cpu/cpu1/trace"))
		found |= STUCK_HIDDEN;
	must_set("freeze", "0");
	must("/sys/module/bts_crash/parameters/release", "1");

	return found;
}

/*
 * While a CPU is locked up with interrupts off, its branches can be read. Root's thaw waits for
 * this CPU for about a second only. The CPU records again when it is not locked up any more.
 */
static void test_stuck(void)
{
	volatile bool *returned = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, found;
	pid_t pid;

	if (returned == MAP_FAILED)
		give_up("mmap");
	/* The detector reports a CPU again after it has seen that the CPU is not locked up. */
	sleep(3);
	/* The memory of @pid must not be in use on CPU 0: TLB flushes would wait for CPU 0. */
	pin_to(1);
	pid = fork();
	if (!pid)
		_exit(observe_stuck(returned));
	pin_to(0);
	try_text(DEVICE, "stuck");
	*returned = true;
	waitpid(pid, &status, 0);
	found = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	ok(found & STUCK_READ, "stuck: its branches are read while it is locked up");
	ok(found & STUCK_THAWED, "stuck: root's thaw ends while it is locked up");
	ok(found & STUCK_HIDDEN, "stuck: after the next freeze, its old branches are not shown");
	ok(goes_on(), "stuck: it records when it is not locked up any more");
}

/* After the report of a hard lockup, the recorder thaws by itself, too. */
static void test_thaw_after_lockup(void)
{
	int i;

	sleep(3);
	must_set("thaw_after", "1");
	must(DEVICE, "hardlockup");
	for (i = 0; i < 100 && strstr(get("freeze"), "1"); i++)
		usleep(100000);
	ok(i && is("freeze", "0") && goes_on(), "hardlockup: the recorder thaws by itself");
	must_set("thaw_after", "0");
}

/*
 * Write @word to the module to cause a report. For "warn", the event error_report_end must name
 * @name.
 */
static int report(const char *word, const char *name)
{
	if (strstr(word, "lockup")) {
		test_lockup(word);
		if (!strcmp(word, "hardlockup")) {
			test_stuck();
			test_thaw_after_lockup();
		}
		return finish();
	}
	if (strcmp(word, "warn"))
		return test_crash(word);
	/* Show all branches that were recorded. */
	must_set("nr", "10000");
	nr = 10000;
	test_reported(word, name);
	test_begins(word);
	test_probe();
	return finish();
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: %s MODULE all|races|quick|unload\n"
			"       %s MODULE report warn|kasan|kfence|softlockup|hardlockup NAME\n",
			argv[0], argv[0]);
		return 2;
	}
	load_module(argv[1], "");
	open_log();
	must_set("crash_nr", "10000");
	must_set("enable", "1");
	pin_to(0);
	usleep(20000);
	if (argc == 5)
		return report(argv[3], argv[4]);
	if (!strcmp(argv[2], "quick"))
		return quick();
	if (!strcmp(argv[2], "unload"))
		return unload(argv[1]);
	return strcmp(argv[2], "races") ? all(argv[1]) : races();
}
