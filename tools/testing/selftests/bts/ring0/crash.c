// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what the branch flight recorder prints of a crash. The module bts_crash crashes the
 * kernel, which survives most of the crashes. KIND is the way of the crash, or the name of a test.
 *
 *   crash MODULE KIND TIMES	task, bug, console, recursive, freezing, interrupted, meet,
 *				seen, again, late, work, quiet, damaged, off, sysrq, jump,
 *				null, error, protection, alone, folded, offline, walk, cfi.
 *				Only task, bug, console, seen, again, quiet and damaged use TIMES.
 *   crash MODULE die KIND		a fatal crash; the host reads the console. If this program
 *				is PID 1, a crash that kills it is fatal
 *   crash MODULE end KIND		the same, with the recorder's default settings
 *   crash MODULE words on|off|none	an oops with the recorder on, off, or in a kernel
 *				without it; the host reads the console
 *   crash MODULE saved		see load_and_continue()
 */
#include <limits.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../guest/recorder.h"
#include "../guest/dump.h"

static bool good(const struct dump *d, int cpu, int traces)
{
	bool all = d->first == cpu && d->nr == NR && !d->fault &&
		   shows_way_to_crash(d) && d->traces == traces && d->others <= NR * (traces - 1) &&
		   (d->others || cpus() == 1) && !d->running && !d->bad;

	if (!all)
		printf("# CPU %d first of %d: %d, fault at %d, %d before; others %d, %d running\n",
		       d->first, d->traces, d->nr, d->fault, d->work, d->others, d->running);
	return all;
}

/*
 * Check that oops_enter() freezes the recorder before it calls any other function. After the thaw,
 * the trace still has the branches of the oops, newest first.
 */
static void test_order(const char *kind)
{
	char *trace = get("per_cpu/cpu0/trace");
	bool freezes = false, begun = false;
	const char *at = trace;
	struct line line;

	/* Between the start of oops_enter() and the freeze, only oops_enter() itself may run. */
	while (!begun && next_line(&at, &line)) {
		if (within(line.to, "hw_branches_crash_freeze"))
			freezes = within(line.from, "oops_enter");
		else if (enters(line.to, "oops_enter"))
			begun = freezes;
		else if (!within(line.from, "oops_enter"))
			freezes = false;
	}
	while (next_line(&at, &line) && !within(line.from, "bts_crash_fault"))
		;
	ok(begun && within(line.from, "bts_crash_fault"), "%s: the freeze comes first", kind);
	free(trace);
}

/* Crash @times times. At least @good_ones of the crashes must show the fault on top. */
static void test_crashes(const char *kind, int times, int good_ones)
{
	int i, found = 0, survived = 0, on = 0, said = 0, since = 0, least = INT_MAX;

	for (i = 0; i < times; i++) {
		int cpu = i % cpus();
		struct dump d;

		skip_log();
		survived += crash_once(kind, cpu);
		d = read_dump();
		said += d.traces && d.unreliable == (is_unreliable() ? d.traces : 0);
		on += thaws();
		if (!good(&d, cpu, cpus()))
			continue;
		found++;
		since = d.since > since ? d.since : since;
		least = d.since < least ? d.since : least;
	}
	ok(survived == times, "%s: %d oopses", kind, times);
	ok(found >= good_ones, "%s: at least %d of %d show the fault on top: %d", kind, good_ones,
	   times, found);
	ok(on == times, "%s: frozen until it is thawed", kind);
	ok(said == times && trace_names_source("trace"), "%s: %d headlines are right", kind, said);
	/* vm/measure.sh reads the largest number of branches between a fault and its freeze. */
	printf("# measure %d\n", since);
	/* A timer tick may come between fault and freeze: allow more branches in some crashes. */
	ok(least > 0 && least < 300 && since < 1000, "%s: soon frozen", kind);
}

static void test_task(const char *kind, int times)
{
	test_crashes(kind, times, times);
	crash_once("task", 0);
	thaws();
	test_order(kind);
}

/* Returns whether the trace of CPU 1 still shows the jump to @target and then the fault there. */
static bool kept(const char *target)
{
	char *trace = get("per_cpu/cpu1/trace");
	bool faulted = false, found = false;
	const char *at = trace;
	struct line line;

	while (next_line(&at, &line)) {
		found |= faulted && within(line.from, "bts_crash_jump") &&
			 !strcmp(line.to, target);
		faulted = within(line.to, "asm_exc_page_fault") && !strcmp(line.from, target);
	}
	free(trace);
	return found;
}

/* Jump to @target, where no code is. The branches must show where the jump was. */
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
	ok(!strncmp(d.next, jump, strlen(jump)) && shows_way_to_crash(&d),
	   "%s: and who jumped: %s", kind, d.next);
	ok(thaws(), "%s: frozen until it is thawed", kind);
	ok(kept(target), "%s: and both are there still", kind);
}

/* Tell whether @trace, newest first, has the fault, and no decoding of an instruction after it. */
static bool ends_before_decoder(const char *trace)
{
	const char *fault = strstr(trace, " <- bts_crash_at+"), *insn = strstr(trace, "insn_get_");

	return fault && (!insn || insn > fault);
}

/*
 * The kernel decodes the instruction that caused the fault, but only after the freeze. The handler
 * enables interrupts before the freeze. So timer ticks may add branches in some of the crashes.
 */
static void test_protection(void)
{
	int i, times = 3, survived = 0, right = 0, undecoded = 0, on = 0, least = INT_MAX;

	for (i = 0; i < times; i++) {
		struct dump d;
		char *trace;

		skip_log();
		survived += crash_once("protection", 1);
		d = read_dump();
		trace = get("per_cpu/cpu1/trace");
		undecoded += ends_before_decoder(trace);
		free(trace);
		on += thaws();
		if (d.since < 0 || !strstr(d.top, " <- bts_crash_at+"))
			break;
		right++;
		least = d.since < least ? d.since : least;
	}
	ok(survived == times, "protection: %d oopses", survived);
	ok(undecoded == times, "protection: %d end before the decoder", undecoded);
	ok(right == times && least < 700, "protection: %d frozen, after %d branches", right, least);
	ok(on == times, "protection: frozen until it is thawed");
}

/*
 * Crash on two CPUs at once: both crashes must be reported. The emulator runs CPUs in turn, so the
 * NMI of the first crash may freeze the second CPU before the second CPU crashes. Then the second
 * CPU has not recorded its crash, and a message must say so.
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
		early += strstr(line, "has not recorded its crash") ||
			 strstr(line, "frozen since an earlier crash: no branches of this one");
		if (line[0] == ' ' && strstr(line, "asm_exc_page_fault+0x0") &&
		    strstr(line, "<- bts_crash_fault+"))
			tops[cpu]++;
	}
	ok(oopses == 2 && tops[0] + tops[1] >= 1 && tops[0] + tops[1] + early >= 2,
	   "two CPUs at once: %d with the fault, %d stopped before", tops[0] + tops[1], early);
	ok(thaws(), "two CPUs at once: frozen until it is thawed");
}

/* After a crash in a kworker, works of its CPU may never run. The recorder must not need them. */
static void test_work(void)
{
	char line[1024], *trace;
	int status, hits = 0;
	struct dump d;

	skip_log();
	waitpid(start_crash("work", 0), &status, 0);
	d = read_oops();
	ok(good(&d, 0, cpus()), "work: its trace");
	ok(thaws(), "work: frozen until it is thawed");
	ok(crash_once("task", 1) && thaws(), "work: and after the next crash");
	/*
	 * The trigger 'branches:all' freezes all CPUs. A work writes the branches of the other CPUs
	 * to the trace, and another work thaws all CPUs. Neither may wait for the crashed kworker.
	 * The oops has switched tracing off.
	 */
	pin_to(0);
	if (try_text(TRACEFS "/tracing_on", "1") || try_text(MARK, "branches:all") ||
	    try_text(DEVICE, "mark"))
		give_up(MARK);
	ok(goes_on(), "work: and after a mark that froze all CPUs");
	trace = get("../trace");
	ok(strstr(trace, "hw_branch: cpu=1"), "work: the branches of CPU 1 are shown");
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

/* With the recorder off, a BUG() must still be an oops, without branches. */
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

/*
 * At a message on the console, the emulator may switch to another CPU. So test crashes without
 * messages on the console, and then with messages.
 */
static void test_quiet(int times)
{
	static const char loglevel[] = "/proc/sys/kernel/printk";

	if (try_text(loglevel, "0"))
		give_up(loglevel);
	test_task("task", times);
	if (try_text(loglevel, "7"))
		give_up(loglevel);
	test_task("task", times);
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

/* Measure how long another CPU goes on recording after a crash. */
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
		thaws();
	}
	ok(stopped == times, "seen from another CPU, which stops: %d times", stopped);
	printf("# measure %llu\n", most);
	ok(most < 1000000, "within a millisecond");
}

/* With crash_all, only the first crash prints branches until a thaw: each CPU is printed once. */
static void test_again(int times)
{
	struct dump d;
	int i;

	skip_log();
	for (i = 0; i < times; i++)
		crash_once("task", 0);
	d = read_dump();
	ok(d.traces == cpus() && d.oopses == times && d.again == times - 1,
	   "again: one of %d is printed: %d traces, %d say that they were frozen", d.oopses,
	   d.traces, d.again);
	try_text("/proc/sysrq-trigger", "B");
	ok(thaws(), "again: a look does not thaw it");
	skip_log();
	ok(crash_once("task", 1), "again: a crash after the thaw");
	d = read_dump();
	ok(good(&d, 1, cpus()), "again: is the first");
	must_set("thaw_after", "2");
	sleep(3);
	ok(stays_frozen(), "again: a time that is set later does not thaw it");
	must_set("freeze", "0");
}

/*
 * thaw_after sets when the freeze of a crash ends. If root has frozen the CPUs, too, they stay
 * frozen.
 */
static void test_late(void)
{
	int tries = 100;

	must_set("thaw_after", "3");
	ok(crash_once("task", 0) && stays_frozen(), "late: frozen");
	while (!is("freeze", "0") && --tries)
		usleep(100000);
	ok(tries && goes_on(), "late: thawed after a time");
	ok(crash_once("task", 0) && stays_frozen(), "late: frozen again");
	must_set("freeze", "1");
	sleep(5);
	ok(stays_frozen(), "late: root keeps it");
	must_set("freeze", "0");
	must_set("freeze", "1");
	crash_once("task", 0);
	sleep(5);
	ok(stays_frozen(), "late: and keeps it if there is a crash meanwhile");
	must_set("freeze", "0");
	ok(set("thaw_after", "604801") == -EINVAL && !set("thaw_after", "0"),
	   "late: a week at most");
}

/* The default settings: print only the CPU that crashed. */
static void test_alone(void)
{
	struct dump d;

	skip_log();
	ok(crash_once("task", 0), "alone: survived");
	d = read_dump();
	ok(d.traces == 1 && d.first == 0 && d.fault == 0 && d.nr > 5 && d.nr <= NR && !d.bad,
	   "alone: the crashing CPU only, %d lines, the fault on top: %s", d.nr, d.top);
	ok(thaws(), "alone: frozen until it is thawed");
	must_set("nr", "1000");
	must_set("crash_nr", "8");
	skip_log();
	crash_once("task", 0);
	d = read_dump();
	ok(d.nr == 8, "alone: as many lines as crash_nr says: %d", d.nr);
	must_set("freeze", "0");
}

/* Folded, a trace shows the calls that led to the crash, and bts_crash_work() as one line. */
static void test_folded(void)
{
	int fault = -1, write = -1, work = -1, path = -1, at = 0, indent = 99, wrong = 0;
	char line[1024];

	skip_log();
	ok(crash_once("task", 0), "folded: survived");
	while (read_log(line, sizeof(line))) {
		const char *text = behind_cpu(line), *arrow = strstr(line, " <- ");
		int deep = text - line;

		if (line[0] != ' ' || !arrow)
			continue;
		if (within(arrow + 4, "bts_crash_fault") && fault < 0) {
			fault = at;
			indent = deep;
		}
		if (within(text, "bts_crash_work") && strstr(arrow, " branches"))
			work = at;
		if (within(text, "bts_crash_path") && within(arrow + 4, "crash_write"))
			path = at;
		if (within(arrow + 4, "do_syscall_64") || strstr(arrow, "user mode"))
			write = at;
		/*
		 * Lines after that of the fault are older: a caller is indented less. Those after
		 * the entry of the system call are not of callers.
		 */
		wrong += fault >= 0 && write < 0 && deep > indent + 1;
		at++;
	}
	ok(fault == 0 && work > fault && path > work && write > path,
	   "folded: fault %d, what had returned %d, the caller %d, the system call %d", fault, work,
	   path, write);
	ok(!wrong, "folded: indented by depth, %d are deeper than the fault", wrong);
	must_set("freeze", "0");
}

static void print_trace(const char *head)
{
	char *trace = get("per_cpu/cpu0/trace"), *line, *at = trace;

	while ((line = strsep(&at, "\n"))) {
		if (*line == ' ')
			printf("# %s %s\n", head, line);
	}
	free(trace);
}

/* Print all branches of CPU 0 after a crash, unfolded and folded. walk.awk compares them. */
static void test_walk(void)
{
	ok(crash_once("recurse", 0), "walk: survived");
	must_set("fold", "0");
	print_trace("raw");
	must_set("fold", "1");
	print_trace("fold");
	must_set("freeze", "0");
}

static void set_online(const char *text)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";

	if (try_text(online, text))
		give_up("%s to %s", text, online);
}

/* A CPU goes offline while it records, and comes online in a freeze: it has kept its branches. */
static void test_away(void)
{
	struct dump d;

	goes_on();
	set_online("0");
	must_set("freeze", "1");
	must_set("freeze", "0");
	must_set("freeze", "1");
	set_online("1");
	usleep(200000);
	skip_log();
	try_text("/proc/sysrq-trigger", "B");
	d = read_dump();
	ok(d.traces == 2, "offline: what it recorded before is kept: %d traces", d.traces);
	must_set("freeze", "0");
	goes_on();
}

/* A CPU goes offline while frozen, and comes online in another freeze: it has nothing to show. */
static void test_second_freeze(void)
{
	struct dump d;

	goes_on();
	must_set("freeze", "1");
	usleep(50000);
	set_online("0");
	must_set("freeze", "0");
	must_set("freeze", "1");
	set_online("1");
	usleep(200000);
	skip_log();
	crash_once("task", 0);
	d = read_dump();
	ok(d.traces == 1 && !d.first && !d.running,
	   "offline: nothing old in a second freeze: %d traces, %d run", d.traces, d.running);
	try_text("/proc/sysrq-trigger", "B");
	d = read_dump();
	ok(d.traces == 1, "offline: nor by sysrq: %d traces", d.traces);
	must_set("freeze", "0");
	goes_on();
	skip_log();
	crash_once("task", 1);
	d = read_dump();
	ok(d.traces == 2 && d.first == 1, "offline: after the thaw all are printed: %d traces",
	   d.traces);
	must_set("freeze", "0");
}

/*
 * A CPU goes offline while it is frozen. Once the other CPUs have been thawed, its branches are
 * outdated, and must not be printed.
 */
static void test_offline(void)
{
	struct dump d;

	must_set("freeze", "1");
	usleep(50000);
	set_online("0");
	must_set("freeze", "0");
	usleep(200000);
	skip_log();
	ok(crash_once("task", 0), "offline: survived");
	d = read_dump();
	ok(d.traces == 1 && d.first == 0, "offline: nothing of the CPU that was away: %d traces",
	   d.traces);
	must_set("freeze", "0");
	set_online("1");
	usleep(200000);
	skip_log();
	crash_once("task", 0);
	d = read_dump();
	ok(d.traces == 2, "offline: when it is back, it is printed: %d traces", d.traces);
	must_set("freeze", "0");
	test_second_freeze();
	test_away();
}

enum { SYSRQS = 10 };

/* In a child on @cpu, request the branches by sysrq-B, SYSRQS times. */
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

/*
 * Each request must print the branches of all CPUs, or a line that says that it is refused. If a
 * CPU was not thawed since the last request, a line says so instead. Try until a request is
 * refused.
 */
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
			traces += !strncmp(line, "Last branches of CPU", 20) ||
				  strstr(line, "has missed a thaw");
			refused += !!strstr(line, "another CPU is printing the branches already");
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
	ok(!recording(0), "sysrq: a freeze by the user before it lasts");
}

static void test_recursive(void)
{
	struct dump d;

	skip_log();
	ok(crash_once("recursive", 0), "recursive: survived");
	d = read_dump();
	ok(d.first == 0 && !d.fault && d.nr == NR && d.traces >= cpus(),
	   "recursive: the first fault");
	ok(thaws(), "recursive: frozen until it is thawed");
}

/*
 * While a crash freezes the recorder, the module crashes again in branch_freeze_send(). The second
 * crash must not call this function again: that would decrement the module's parameter "freezes"
 * again.
 */
static void test_freezing(void)
{
	unsigned long long left;
	struct dump d;

	skip_log();
	ok(crash_once("freezing", 0), "freezing: survived");
	left = parameter("freezes");
	ok(left == 2, "freezing: it is not tried again, %llu left", left);
	d = read_dump();
	ok(!d.first && !d.fault && d.nr == NR && shows_way_to_crash(&d),
	   "freezing: the first fault: CPU %d, fault at %d, %d branches, %d of the way",
	   d.first, d.fault, d.nr, d.work);
	/* The second crash came before the first one sent the NMIs that freeze the other CPUs. */
	ok(is("freeze", "1") && !recording(0) && !set("freeze", "0") && goes_on(),
	   "freezing: this CPU is frozen until it is thawed");
}

/* The handler of a divide error enables interrupts: one comes between freeze and printing. */
static void test_interrupted(void)
{
	struct dump d;

	skip_log();
	ok(crash_once("interrupted", 0), "interrupted: survived");
	d = read_dump();
	ok(!d.first && d.nr == NR && strstr(d.top, "<- bts_crash_divide+"), "interrupted: %s",
	   d.top);
	ok(thaws(), "interrupted: frozen until it is thawed");
}

/* If kCFI only warns, its trap is no crash. */
static void test_cfi(void)
{
	ok(!try_text(DEVICE, "cfi"), "cfi: survived");
	ok(is("freeze", "0") && goes_on(), "cfi: recording goes on");
}

static int die(const char *kind)
{
	pin_to(0);
	if (!strcmp(kind, "panics") || !strcmp(kind, "cut")) {
		bool cut = !strcmp(kind, "cut");

		await_clock();
		continue_on(0);
		start_crash(cut ? "cut" : "panictoo", 1);
		if (!other_waits())
			give_up("the other CPU does not come");
		kind = cut ? "task" : "panic";
	}
	printf("# die\n");
	fflush(stdout);
	try_text(DEVICE, kind);
	sleep(5);
	printf("Bail out! still here\n");
	return 1;
}

/*
 * Crash once, with the recorder on or off, or ("none") in a kernel without the recorder. The host
 * reads the messages on the console.
 */
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

static const struct {
	const char *kind;
	void (*test)(void);
} tests[] = {
	{ "protection", test_protection },
	{ "meet", test_meet },
	{ "off", test_off },
	{ "alone", test_alone },
	{ "folded", test_folded },
	{ "walk", test_walk },
	{ "offline", test_offline },
	{ "late", test_late },
	{ "work", test_work },
	{ "recursive", test_recursive },
	{ "sysrq", test_sysrq },
	{ "freezing", test_freezing },
	{ "interrupted", test_interrupted },
	{ "cfi", test_cfi },
};

static void run(const char *kind, int times)
{
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (!strcmp(kind, tests[i].kind)) {
			tests[i].test();
			return;
		}
	}
	if (!strcmp(kind, "quiet"))
		test_quiet(times);
	else if (!strcmp(kind, "damaged"))
		/* The processor damages or drops some records: that of the fault may be one. */
		test_crashes("task", times, times / 2);
	else if (!strcmp(kind, "jump"))
		test_jump("jump", "0xb75");
	else if (!strcmp(kind, "null"))
		test_jump("null", "0x0");
	else if (!strcmp(kind, "error"))
		test_jump("error", "0xffffffffffffffff");
	else if (!strcmp(kind, "again"))
		test_again(times);
	else if (!strcmp(kind, "seen"))
		test_seen(times);
	else
		test_task(kind, times);
}

int main(int argc, char **argv)
{
	/* PID 1 gets the arguments for guest/init.c. Skip the first: the name of this program. */
	if (getpid() == 1) {
		argv++;
		argc--;
		mount_as_init();
	}
	if (argc > 2)
		argv = load_and_continue(&argc, argv);
	if (argc != 4) {
		fprintf(stderr,
			"usage: %s MODULE KIND TIMES | MODULE die|end KIND | MODULE words on|off|none | MODULE saved\n",
			argv[0]);
		return 2;
	}
	if (!strcmp(argv[2], "words"))
		return words(argv[3]);
	must_set("enable", "1");
	usleep(20000);
	if (!strcmp(argv[2], "end"))
		return die(argv[3]);
	if (strcmp(argv[2], "alone") && strcmp(argv[2], "folded")) {
		must_set("fold", "0");
		must_set("crash_all", "1");
	}
	if (!strcmp(argv[2], "die"))
		return die(argv[3]);
	open_log();
	run(argv[2], atoi(argv[3]));
	if (!strcmp(argv[2], "console"))
		try_text(DEVICE, "unlock");
	return finish();
}
