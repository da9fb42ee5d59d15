// SPDX-License-Identifier: GPL-2.0
/*
 * Crashes that are survived, and what the recorder prints of them.
 *
 *   crash MODULE KIND TIMES	task, bug, console, recursive, freezing, interrupted, meet,
 *				seen, often, work, quiet, off, sysrq, jump, null, error
 *   crash MODULE die KIND	one that is not: the host reads the console;
 *				as PID 1, it is init that dies
 *   crash MODULE thread 1	a thread of init
 *   crash MODULE words on|off|none	one oops, for the host to compare what is said;
 *				none: on a kernel without the recorder
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common.h"
#include "dump.h"

static bool good(const struct dump *d, int cpu, int traces)
{
	bool all = d->first == cpu && d->nr == NR && !d->fault &&
		   (d->work >= 5 || d->interrupted) &&
		   d->traces == traces && d->others <= NR * (traces - 1) &&
		   (d->others || cpus() == 1) && !d->running && !d->bad;

	if (!all)
		printf("# CPU %d first of %d: %d, fault at %d, %d before; others %d, %d running\n",
		       d->first, d->traces, d->nr, d->fault, d->work, d->others, d->running);
	return all;
}

/* The first that an oops does: what it freezes goes to the ring, and stays there. */
static void test_order(const char *kind)
{
	char *trace = get("per_cpu/cpu0/trace");
	const char *at = trace;
	struct line line;
	bool faulted = false, begun = false, first = false;

	while (next_line(&at, &line) && !(faulted && !line.to[0])) {
		if (begun && !within(line.to, "oops_begin")) {
			first = within(line.to, "hw_branches_crash_freeze");
			begun = false;
		}
		if (within(line.from, "bts_crash_fault")) {
			faulted = true;
			first = false;
		}
		begun |= faulted && !strncmp(line.to, "oops_begin+0x0/", 15);
	}
	ok(first, "%s: the freeze comes first", kind);
	free(trace);
}

static void test_task(const char *kind, int times)
{
	int i, found = 0, survived = 0, on = 0, since = 0, least = INT_MAX;

	for (i = 0; i < times; i++) {
		int cpu = i % cpus();
		struct dump d;

		skip_log();
		survived += crash_once(kind, cpu);
		d = read_dump();
		found += good(&d, cpu, cpus());
		on += goes_on();
		since = d.since > since ? d.since : since;
		least = d.since < least ? d.since : least;
		/* messages are limited to 10 in 5 seconds */
		usleep(510000);
	}
	ok(survived == times, "%s: %d oopses", kind, times);
	ok(found == times, "%s: each with its trace, the fault on top", kind);
	ok(on == times, "%s: recording went on", kind);
	/* how many branches from the fault to the freeze, at most */
	printf("# measure %d\n", since);
	/* A tick may come in between, but not each time. */
	ok(least > 0 && least < 300 && since < 600, "%s: soon frozen", kind);
	crash_once("task", 0);
	goes_on();
	test_order(kind);
}

/* What the thaw has handed up: who jumped, and the fault of it next. */
static bool kept(const char *target)
{
	char *trace = get("per_cpu/cpu1/trace");
	bool jumped = false, found = false;
	const char *at = trace;
	struct line line;

	while (next_line(&at, &line)) {
		found |= jumped && within(line.to, "asm_exc_page_fault") &&
			 !strcmp(line.from, target);
		jumped = within(line.from, "bts_crash_jump") && !strcmp(line.to, target);
	}
	free(trace);
	return found;
}

/* Through a pointer to @target, where no code is. The stack does not tell. */
static void test_jump(const char *kind, const char *target)
{
	char fault[64], jump[64];
	struct dump d;

	bad_address = strtoull(target, NULL, 16);
	snprintf(fault, sizeof(fault), " <- %s", target);
	snprintf(jump, sizeof(jump), "%s <- bts_crash_jump+", target);
	skip_log();
	ok(crash_once(kind, 1), "%s: survived", kind);
	d = read_dump();
	ok(d.first == 1 && d.nr == NR && d.traces == cpus() && !d.bad && d.since >= 0 &&
	   !strncmp(d.top, "asm_exc_page_fault+0x0", 22) && strstr(d.top, fault) &&
	   !strcmp(strstr(d.top, fault), fault), "%s: the fault: %s", kind, d.top);
	ok(!strncmp(d.next, jump, strlen(jump)) && (d.work >= 5 || d.interrupted),
	   "%s: and who jumped: %s", kind, d.next);
	ok(goes_on(), "%s: recording went on", kind);
	ok(kept(target), "%s: and both are there still", kind);
}

/* To switch clocks the kernel stops all CPUs: not while one of them waits. */
static void await_clock(void)
{
	bool there = false;
	int tries = 200;
	char *text;

	while (!there && tries--) {
		text = get("../../../devices/system/clocksource/clocksource0/current_clocksource");
		there = !strncmp(text, "tsc", 3) && text[3] != '-';
		free(text);
		usleep(50000);
	}
}

/*
 * Both are told of. Here CPUs run in turn: the NMI of the first finds the second
 * before it crashes, and there is no trace of that, which must be said.
 */
static void test_meet(void)
{
	int tops[2] = { }, cpu = -1, early = 0, oopses = 0;
	pid_t one, two;
	char line[1024];

	await_clock();
	skip_log();
	one = start_crash("meet", 0);
	two = start_crash("meet", 1);
	waitpid(one, NULL, 0);
	waitpid(two, NULL, 0);
	while (read_log(line, sizeof(line))) {
		if (sscanf(line, "Last branches of CPU %d,", &cpu) == 1)
			continue;
		oopses += !!strstr(line, "Oops:");
		early += !!strstr(line, "has not recorded its crash");
		if (line[0] == ' ' && strstr(line, "asm_exc_page_fault+0x0") &&
		    strstr(line, "<- bts_crash_fault+"))
			tops[cpu]++;
	}
	ok(oopses == 2 && tops[0] + tops[1] >= 1 && tops[0] + tops[1] + early >= 2,
	   "two CPUs at once: %d with the fault, %d stopped before", tops[0] + tops[1], early);
	ok(goes_on(), "two CPUs at once: recording went on");
}

/* Whoever has the recorder thaw, it is not a worker who waits for the dead one. */
static void test_work(void)
{
	char line[1024], *trace;
	int status, hits = 0;
	struct dump d;

	skip_log();
	waitpid(start_crash("work", 0), &status, 0);
	usleep(500000);
	d = read_dump();
	ok(good(&d, 0, cpus()), "work: its trace");
	ok(goes_on(), "work: recording went on");
	ok(crash_once("task", 1) && goes_on(), "work: and after the next crash");
	/* Nor is it one who prints what a mark has frozen. */
	pin_to(0);
	/* Which an oops switches off */
	if (try_text(TRACEFS "/tracing_on", "1") || try_text(MARK, "branches:all") ||
	    try_text(DEVICE, "mark"))
		give_up(MARK);
	ok(goes_on(), "work: and after a mark that froze all CPUs");
	trace = get("../trace");
	ok(strstr(trace, "hw_branch: cpu=1"), "work: whose branches are shown");
	free(trace);
	skip_log();
	must_set("watch", "bts_crash_global:4");
	try_text(DEVICE, "write");
	must_set("watch", "\n");
	ok(goes_on(), "work: and after a watchpoint that is taken away");
	while (read_log(line, sizeof(line)))
		hits += !!strstr(line, "watch hit on CPU 0");
	ok(hits == 1, "work: when it was hit: %d", hits);
}

static bool other_waits(void)
{
	int tries = 1000;
	bool waits = false;
	char *text;

	while (!waits && tries--) {
		usleep(10000);
		text = get("../../../module/bts_crash/parameters/waiting");
		waits = text[0] == 'Y';
		free(text);
	}
	return waits;
}

/* Another CPU's crash begins and ends between a BUG() and its oops. */
static void test_overtaken(void)
{
	struct dump d;
	pid_t pid;

	/* On PREEMPT_RT nobody who slept on the other CPU would wake while that waits. */
	pin_to(0);
	await_clock();
	pid = start_crash("overtaken", 1);
	ok(other_waits() && crash_once("task", 0), "overtaken: a crash in a BUG()");
	/* Whoever thaws has the time to. */
	usleep(300000);
	skip_log();
	try_text(DEVICE, "pass");
	waitpid(pid, NULL, 0);
	d = read_dump();
	ok(d.first == 1 && d.fault >= 0 && d.fault < NR && !d.bad,
	   "overtaken: the BUG() is among the last %d branches of CPU %d, place %d", NR, d.first,
	   d.fault);
	ok(goes_on(), "overtaken: recording went on");
}

/* A BUG() is looked up the same way when nothing is recorded. */
static void test_off(void)
{
	struct dump d;

	must_set("enable", "0");
	skip_log();
	ok(crash_once("bug", 0), "off: an oops");
	d = read_dump();
	ok(!d.traces, "off: without branches");
	must_set("enable", "1");
	ok(goes_on(), "off: and on again");
}

/* Lines that go to memory only give the other CPU no turn to stop in. */
static void test_quiet(int times)
{
	static const char loglevel[] = "/proc/sys/kernel/printk";

	if (try_text(loglevel, "0"))
		give_up(loglevel);
	test_task("task", times);
	if (try_text(loglevel, "7"))
		give_up(loglevel);
	test_task("task", 1);
}

static unsigned long long parameter(const char *name)
{
	char path[64], *text;
	unsigned long long val;

	snprintf(path, sizeof(path), "../../../module/bts_crash/parameters/%s", name);
	text = get(path);
	val = strtoull(text, NULL, 10);
	free(text);
	return val;
}

/* How long does another CPU go on recording? */
static void test_seen(int times)
{
	unsigned long long ns, most = 0;
	int i, stopped = 0;

	for (i = 0; i < times; i++) {
		pid_t look = start_crash("look", 1);

		crash_once("seen", 0);
		waitpid(look, NULL, 0);
		ns = parameter("stopped_at") - parameter("crashed_at");
		if (parameter("stopped_at") > parameter("crashed_at")) {
			stopped++;
			most = ns > most ? ns : most;
		}
		goes_on();
		/* messages are limited to 10 in 5 seconds */
		usleep(510000);
	}
	ok(stopped == times, "seen from another CPU, which stops: %d times", stopped);
	printf("# measure %llu\n", most);
	ok(most < 1000000, "within a millisecond");
}

/* The clock is that of instructions: all this takes less than five seconds. */
static void test_often(int times)
{
	struct dump d;
	int i;

	/* The log is to hold it. */
	must_set("nr", "4");
	skip_log();
	for (i = 0; i < times; i++) {
		crash_once("task", 0);
		if (!goes_on())
			break;
	}
	d = read_dump();
	ok(i == times, "often: %d crashes, and recording goes on after each", i);
	ok(d.traces == 10 * cpus(), "often: ten are printed, %d traces", d.traces);
}

/* From the keyboard's way in: nothing has crashed, and nothing stays frozen. */
enum { SYSRQS = 10 };

static pid_t press_sysrq(int cpu)
{
	pid_t pid = fork();
	int i;

	if (pid)
		return pid;
	pin_to(cpu);
	for (i = 0; i < SYSRQS; i++)
		try_text("/proc/sysrq-trigger", "B");
	_exit(0);
}

/* The log has all CPUs' branches of each that is shown, and a line of each other. */
static void test_sysrqs(void)
{
	int rounds = 0, traces = 0, refused = 0;
	char line[1024];

	must_set("nr", "4");
	while (!refused && rounds < 20) {
		pid_t one = press_sysrq(0), two = press_sysrq(1);

		waitpid(one, NULL, 0);
		waitpid(two, NULL, 0);
		rounds++;
		while (read_log(line, sizeof(line))) {
			traces += !strncmp(line, "Last branches of CPU", 20);
			refused += !!strstr(line, "somebody else has them shown");
		}
	}
	ok(refused && traces == cpus() * (2 * SYSRQS * rounds - refused),
	   "sysrq: two at a time: %d refused, %d traces, %d rounds", refused, traces, rounds);
	ok(goes_on(), "sysrq: and recording goes on");
}

static void test_sysrq(void)
{
	struct dump d;

	must_set("enable", "0");
	skip_log();
	try_text("/proc/sysrq-trigger", "B");
	d = read_dump();
	ok(!d.traces, "sysrq: off, nothing is printed");
	must_set("enable", "1");
	usleep(20000);
	must_set("nr", "100");
	try_text("/proc/sysrq-trigger", "B");
	d = read_dump();
	ok(d.traces == cpus() && d.nr == 100 && d.others == 100 * (cpus() - 1) && !d.running,
	   "sysrq: %d branches, %d of others", d.nr, d.others);
	ok(goes_on(), "sysrq: recording goes on");
	test_sysrqs();
	must_set("freeze", "1");
	try_text("/proc/sysrq-trigger", "B");
	usleep(100000);
	ok(!recording(0), "sysrq: who froze it before is not forgotten");
}

static void test_recursive(void)
{
	struct dump d;

	skip_log();
	ok(crash_once("recursive", 0), "recursive: survived");
	d = read_dump();
	ok(d.first == 0 && !d.fault && d.nr == NR && d.traces >= cpus(),
	   "recursive: the first fault");
	ok(goes_on(), "recursive: recording went on");
}

/* The freeze of a crash crashes three times if it can. */
static void test_freezing(void)
{
	unsigned long long left;
	struct dump d;

	skip_log();
	ok(crash_once("freezing", 0), "freezing: survived");
	left = parameter("freezes");
	ok(left == 2, "freezing: it is not tried again, %llu left", left);
	d = read_dump();
	ok(!d.first && !d.fault && d.nr == NR && d.work >= 5, "freezing: the first fault");
	ok(goes_on(), "freezing: recording went on");
}

/* Who is interrupted between freeze and trace may go on elsewhere, and print none. */
static void test_interrupted(void)
{
	struct dump d;

	skip_log();
	ok(crash_once("interrupted", 0), "interrupted: survived");
	ok(!parameter("early"), "interrupted: after the trace only");
	d = read_dump();
	ok(!d.first && d.nr == NR && strstr(d.top, "<- bts_crash_divide+"), "interrupted: %s",
	   d.top);
	ok(goes_on(), "interrupted: recording went on");
}

/*
 * Another CPU's crash is not over: who has looked meanwhile does not thaw. The
 * console tells, as that CPU takes no interrupts of other ports.
 */
static int linger(void)
{
	/* Or it may be caught there. */
	pin_to(1);
	/* To free what a module leaves when it is loaded takes all CPUs. */
	usleep(1000000);
	/*
	 * A child goes on, whose memory was never in use on CPU 0: to copy a page of
	 * this process waits for all CPUs that it has run on.
	 */
	if (fork()) {
		sleep(60);
		return 1;
	}
	start_crash("linger", 0);
	usleep(1500000);
	try_text("/proc/sysrq-trigger", "B");
	usleep(500000);
	try_text("/dev/kmsg", recording(1) ? "it records again" : "it stays frozen");
	try_text(DEVICE, "leave");
	sleep(10);
	printf("Bail out! still here\n");
	return 1;
}

static int die(const char *kind)
{
	pin_to(0);
	if (!strcmp(kind, "panics")) {
		await_clock();
		start_crash("panictoo", 1);
		if (!other_waits())
			give_up("the other CPU does not come");
		kind = "panic";
	}
	printf("# die\n");
	fflush(stdout);
	try_text(DEVICE, kind);
	sleep(5);
	printf("Bail out! still here\n");
	return 1;
}

static void *crash_here(void *unused)
{
	try_text(DEVICE, "task");
	return unused;
}

/* Of init, which outlives its thread: the console tells. */
static int crash_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, crash_here, NULL) || pthread_join(thread, NULL))
		give_up("thread");
	/* What a program writes to the console is lost in the panic to come. */
	try_text("/dev/kmsg", goes_on() ? "recording goes on" : "recording has ended");
	return 0;
}

/* What is on the console with the recorder on, and off. */
static int words(const char *on)
{
	if (strcmp(on, "none"))
		must_set("enable", strcmp(on, "on") ? "0" : "1");
	usleep(20000);
	if (try_text(TRACEFS "/trace_marker", "before the crash"))
		give_up("trace_marker");
	crash_once("task", 0);
	usleep(200000);
	return 0;
}

static void mount_as_init(void)
{
	mkdir("/dev", 0755);
	mkdir("/sys", 0755);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) || mount("sys", "/sys", "sysfs", 0, NULL) ||
	    mount("trace", TRACEFS, "tracefs", 0, NULL))
		give_up("mount");
}

int main(int argc, char **argv)
{
	if (getpid() == 1) {
		/* What the bench's own init would be given. */
		argv++;
		argc--;
		mount_as_init();
	}
	if (argc != 4) {
		fprintf(stderr,
			"usage: %s MODULE KIND|thread TIMES | MODULE die KIND | MODULE words on|off|none\n",
			argv[0]);
		return 2;
	}
	load_module(argv[1], "");
	if (!strcmp(argv[2], "words"))
		return words(argv[3]);
	must_set("enable", "1");
	usleep(20000);
	if (!strcmp(argv[2], "die"))
		return strcmp(argv[3], "linger") ? die(argv[3]) : linger();
	if (!strcmp(argv[2], "thread"))
		return crash_thread();
	open_log();
	if (!strcmp(argv[2], "meet"))
		test_meet();
	else if (!strcmp(argv[2], "off"))
		test_off();
	else if (!strcmp(argv[2], "quiet"))
		test_quiet(atoi(argv[3]));
	else if (!strcmp(argv[2], "overtaken"))
		test_overtaken();
	else if (!strcmp(argv[2], "work"))
		test_work();
	else if (!strcmp(argv[2], "recursive"))
		test_recursive();
	else if (!strcmp(argv[2], "sysrq"))
		test_sysrq();
	else if (!strcmp(argv[2], "jump"))
		test_jump("jump", "0xb75");
	else if (!strcmp(argv[2], "null"))
		test_jump("null", "0x0");
	else if (!strcmp(argv[2], "error"))
		test_jump("error", "0xffffffffffffffff");
	else if (!strcmp(argv[2], "freezing"))
		test_freezing();
	else if (!strcmp(argv[2], "interrupted"))
		test_interrupted();
	else if (!strcmp(argv[2], "often"))
		test_often(atoi(argv[3]));
	else if (!strcmp(argv[2], "seen"))
		test_seen(atoi(argv[3]));
	else
		test_task(argv[2], atoi(argv[3]));
	if (!strcmp(argv[2], "console"))
		try_text(DEVICE, "unlock");
	return finish();
}
