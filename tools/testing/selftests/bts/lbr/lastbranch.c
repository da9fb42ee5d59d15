// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the flight recorder with last branch records (LBRs), of which each CPU has DEPTH.
 *
 *   lastbranch files DEPTH			values of enable, contents of the registers
 *   lastbranch refused			without LBRs that the recorder can use
 *   lastbranch booted			started by the boot parameter
 *   lastbranch perf DEPTH			perf's events have priority
 *   lastbranch migrated			a task with an event of perf changes its CPU
 *   lastbranch around PROGRAM [ARG...]	PROGRAM passes before, during and after recording
 *   lastbranch offline			CPUs go offline and online
 *   lastbranch suspend			suspend to RAM and resume
 *   lastbranch reset			perf resets the PMU
 *   lastbranch MODULE crash KIND FUNCTION LEAST TIMES
 *					crash TIMES times: each crash prints at least LEAST
 *					branches, the newest of them from FUNCTION
 *   lastbranch MODULE die KIND [OUT]	a child crashes; the LBRs leave out the branches OUT, a
 *					word for lbr_leave_out(), or the branches are folded
 *					("folded")
 *   lastbranch MODULE fixup		an exception with a fixup
 *   lastbranch MODULE reborn victim|left	after a thaw, a task_struct is used again
 *   lastbranch MODULE given		a crash, and SysRq-B, while perf has the LBRs
 *   lastbranch MODULE watched		a watchpoint is hit
 *   lastbranch MODULE saved		see load_and_continue()
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "../guest/recorder.h"
#include "../guest/dump.h"
#include "../guest/lbrs.h"

#define GIVEN_UP	"lbr (given up to perf)"

static const char online[] = "/sys/devices/system/cpu/cpu1/online";

static int recording_cpus(void)
{
	int cpu, n = 0;

	for (cpu = 0; cpu < cpus(); cpu++)
		n += lbr_of_kernel(cpu);
	return n;
}

static int enabled_cpus(void)
{
	int cpu, n = 0;

	for (cpu = 0; cpu < cpus(); cpu++)
		n += lbr_enabled(cpu);
	return n;
}

static size_t branches(int cpu)
{
	char name[64], *trace;
	size_t n;

	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace", cpu);
	trace = get(name);
	n = count_lines(trace, cpu, NULL);
	free(trace);
	return n;
}

static size_t user_addresses(void)
{
	char *trace = get("trace");
	const char *at = trace;
	struct line line;
	size_t n = 0;

	/* Kernel code has symbols, and user mode must be hidden: count addresses without one. */
	while (next_line(&at, &line))
		n += !strncmp(line.from, "0x", 2) || !strncmp(line.to, "0x", 2);
	free(trace);
	return n;
}

static void must_write(const char *path, const char *text)
{
	if (try_text(path, text))
		give_up("%s to %s", text, path);
}

static bool log_says(const char *text)
{
	char line[1024];
	bool says = false;

	while (read_log(line, sizeof(line)))
		says |= !!strstr(line, text);
	return says;
}

static void test_words(void)
{
	static const char *const bad[] = { "2", "", "x", "lb", "lbrs", "LBR", "lbr bts", "on",
					   "auto1", "nothing", "averyveryverylongword" };
	size_t i, wrong = 0;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		wrong += set("enable", bad[i]) != -EINVAL;
	ok(!wrong && is("enable", "0"), "enable: %zu unknown words taken", wrong);
	if (set("enable", "bts") == -EOPNOTSUPP) {
		ok(!set("enable", "auto") && is("enable", "lbr"), "auto: lbr without bts");
		must_set("enable", "0");
		return;
	}
	ok(is("enable", "bts") && set("enable", "lbr") == -EBUSY && is("enable", "bts"),
	   "one source at a time");
	ok(!set("enable", "auto") && !set("enable", "1") && !set("enable", "bts"),
	   "what is on stays on");
	open_log();
	skip_log();
	ok(open_lbr(0, -1, NEVER, false) == -EBUSY, "bts: perf has to wait");
	ok(log_says("x86/bts: in use by the flight recorder of cpu 0 ("), "bts: the log tells why");
	must_set("enable", "0");
	must_set("enable", "auto");
	ok(is("enable", "bts"), "auto: bts where it can");
	must_set("enable", "0");
}

static bool is_given_up(void)
{
	char *state = get("enable");
	bool yes = !strncmp(state, GIVEN_UP, strlen(GIVEN_UP));

	free(state);
	return yes;
}

/*
 * Wait until all CPUs record, 10 s at most. The recorder takes the LBRs back a second after perf
 * has released them.
 */
static bool all_record(void)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (is("enable", "lbr") && recording_cpus() == cpus())
			return true;
		usleep(10000);
	}
	return false;
}

static int files(int depth)
{
	int fd;

	must_set("fold", "0");
	test_words();
	must_set("enable", "lbr");
	ok(is("enable", "lbr") && recording_cpus() == cpus(), "on: %d CPUs record",
	   recording_cpus());
	usleep(20000);
	ok(branches(0) <= (size_t)depth && branches(0) + 4 > (size_t)depth,
	   "%zu branches of CPU 0", branches(0));
	ok(!user_addresses(), "no address of user mode");
	must_set("freeze", "1");
	usleep(20000);
	ok(!enabled_cpus() && is("freeze", "1") && branches(0), "frozen: nothing is recorded");
	must_set("freeze", "0");
	ok(recording_cpus() == cpus(), "thawed");
	must_set("cpumask", "1");
	ok(enabled_cpus() == 1 && lbr_of_kernel(0) && lbr_wiped(1, depth), "cpumask: CPU 0 only");
	ok(lbr_filtered(1), "cpumask: the other CPU keeps the filter, which CPU 0 might share");
	must_set("cpumask", "3");
	ok(recording_cpus() == cpus(), "cpumask: all");
	must_set("freeze", "1");
	must_set("enable", "0");
	ok(!enabled_cpus() && lbr_wiped(0, depth) && lbr_wiped(1, depth) && !branches(0) &&
	   is("freeze", "0"), "off: nothing left");
	/* While there is this event of perf, BTS is refused, so 'auto' chooses LBRs. */
	fd = open_lbr(0, -1, NEVER, false);
	ok(fd >= 0 && set("enable", "bts") && !set("enable", "auto") &&
	   is("enable", GIVEN_UP), "auto: lbr where BTS is in use");
	close(fd);
	ok(all_record(), "which begins when perf is done");
	must_set("enable", "0");
	return finish();
}

static int refused(void)
{
	ok(set("enable", "lbr") == -EOPNOTSUPP && is("enable", "0"), "no LBRs");
	return finish();
}

static int booted(void)
{
	ok(is("enable", "lbr") && recording_cpus() == cpus(), "on since boot");
	return finish();
}

/* A user who opens and closes events in a loop must not interrupt all CPUs each time. */
static void check_loop(void)
{
	const int times = 100;
	long before;
	int i, fd;

	close(open_lbr(0, -1, NEVER, false));
	before = interrupts("CAL");
	for (i = 0; i < times; i++) {
		fd = open_lbr(0, -1, NEVER, false);
		if (fd < 0)
			give_up("perf's event: %d", fd);
		close(fd);
	}
	ok(interrupts("CAL") - before < times / 2, "%d events of perf: %ld IPIs", times,
	   interrupts("CAL") - before);
	ok(all_record(), "taken back after them");
}

static int beside_perf(int depth)
{
	int one, two, cpu;

	pin_to(0);
	must_set("fold", "0");
	must_set("enable", "lbr");
	ok(recording_cpus() == cpus(), "before: all record");
	one = open_lbr(0, -1, NEVER, false);
	if (one < 0)
		give_up("perf's event: %d", one);
	ok(is("enable", GIVEN_UP), "perf has them");
	for (cpu = 1; cpu < cpus(); cpu++)
		ok(!lbr_enabled(cpu) && lbr_wiped(cpu, depth),
		   "CPU %d: no branch of the recorder's is left", cpu);
	ok(!branches(0), "nothing in the trace but its headline");
	ok(trace_names_source("trace"), "the headline names the source");
	two = open_lbr(0, -1, NEVER, false);
	close(one);
	ok(two >= 0 && is("enable", GIVEN_UP), "another event still has them");
	must_write(online, "0");
	must_write(online, "1");
	ok(!lbr_enabled(1), "a CPU comes online, and does not record");
	must_set("freeze", "1");
	must_set("freeze", "0");
	ok(!lbr_enabled(1), "thawed meanwhile, nothing records");
	must_set("enable", "0");
	must_set("enable", "lbr");
	ok(is("enable", GIVEN_UP), "off and on meanwhile");
	close(two);
	ok(is("enable", GIVEN_UP), "after: not taken back at once");
	ok(all_record(), "after: taken back");
	usleep(20000);
	ok(branches(0) > (size_t)depth / 2, "after: %zu branches", branches(0));
	/* This event keeps the PMU reserved. */
	sample_all(PERF_COUNT_HW_INSTRUCTIONS, NEVER);
	check_loop();
	two = open_lbr(0, -1, NEVER, false);
	must_set("enable", "0");
	close(two);
	ok(!enabled_cpus() && is("enable", "0"), "off meanwhile, it stays off");
	return finish();
}

/* Execute more branches than the period of perf's event. */
static void work(void)
{
	volatile int i;

	for (i = 0; i < 100000; i++)
		;
}

/*
 * A task opens an event of perf, migrates, and closes the event, so perf has used the LBRs of two
 * CPUs. The recorder must take both back.
 */
static int migrated(void)
{
	int i, fd, cpu, kept = 0, back = 0, empty = 0;

	must_set("fold", "0");
	must_set("enable", "lbr");
	allow_many_samples();
	for (i = 0; i < 8; i++) {
		pin_to(i % cpus());
		fd = open_lbr(0, -1, 1009, i & 1);
		if (fd < 0)
			give_up("perf's event: %d", fd);
		work();
		pin_to((i + 1) % cpus());
		work();
		kept += is("enable", GIVEN_UP) && enabled_cpus() < 2;
		close(fd);
		back += all_record();
		usleep(20000);
		for (cpu = 0; cpu < cpus(); cpu++)
			empty += branches(cpu) < 4;
	}
	ok(kept == 8, "perf had them %d times", kept);
	ok(back == 8, "taken back %d times", back);
	ok(!empty && !user_addresses(), "%d times without branches", empty);
	return finish();
}

/*
 * Run a program. It must exit with 0. If @when is "during", the recorder must give the LBRs up to
 * perf meanwhile, otherwise it must not. If the program fails, print its output.
 */
static bool passes(char **argv, const char *when)
{
	static const char said[] = "/tmp/said";
	char line[1024];
	bool given_up = false;
	int status;
	pid_t pid;
	FILE *f;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!freopen(said, "w", stdout) || dup2(1, 2) < 0)
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		given_up |= is_given_up();
		usleep(10000);
	}
	printf("# %s: %sgiven up\n", when, given_up ? "" : "not ");
	if (!status)
		return given_up == !strcmp(when, "during");
	f = fopen(said, "r");
	while (f && fgets(line, sizeof(line), f))
		printf("# %s", line);
	return false;
}

static int around(char **argv)
{
	ok(passes(argv, "before"), "before");
	must_set("enable", "lbr");
	ok(passes(argv, "during"), "during");
	ok(all_record(), "taken back");
	must_set("enable", "0");
	ok(passes(argv, "after"), "after");
	return finish();
}

static int hotplugged(void)
{
	must_set("fold", "0");
	must_set("enable", "lbr");
	must_write(online, "0");
	ok(lbr_of_kernel(0) && !branches(1), "a CPU is offline: nothing of it");
	must_write(online, "1");
	ok(recording_cpus() == cpus(), "online, it records");
	must_set("freeze", "1");
	usleep(20000);
	must_write(online, "0");
	must_write(online, "1");
	ok(!enabled_cpus(), "not while it is frozen");
	must_set("freeze", "0");
	ok(recording_cpus() == cpus(), "thawed");
	must_set("freeze", "1");
	usleep(20000);
	must_write(online, "0");
	must_set("freeze", "0");
	must_set("freeze", "1");
	ok(!branches(1), "nothing from before a thaw that it missed");
	must_write(online, "1");
	must_set("freeze", "0");
	ok(recording_cpus() == cpus(), "and goes on");
	must_write(online, "0");
	must_set("enable", "0");
	must_write(online, "1");
	ok(!enabled_cpus(), "switched off meanwhile, it is off");
	return finish();
}

static int asleep(void)
{
	must_set("enable", "lbr");
	pin_to(0);
	wake_later();
	ok(!try_text("/sys/power/state", "mem"), "suspend to RAM and back");
	ok(recording_cpus() == cpus() && branches(0), "%d CPUs record", recording_cpus());
	return finish();
}

/*
 * perf resets a stuck PMU in the first NMI of a counter. That clears the LBR bit, which must be set
 * again at the end of the NMI.
 */
static int reset(void)
{
	int tries = 100;

	must_set("enable", "lbr");
	sample_all(PERF_COUNT_HW_INSTRUCTIONS, 100000);
	/* An idle CPU has few instructions: wait until there are NMIs. */
	while (nmis() < cpus() && tries--)
		usleep(100000);
	ok(nmis() && recording_cpus() == cpus(), "%ld NMIs, %d CPUs record", nmis(),
	   recording_cpus());
	return finish();
}

static bool source_is_said(char *source, size_t size, struct dump *d)
{
	char line[1024], *at;

	while (read_log(line, sizeof(line))) {
		take_line(d, line);
		at = strstr(line, "source ");
		if (!strncmp(line, "Last branches", 13) && at && d->traces == 1)
			snprintf(source, size, "%s", at + 7);
	}
	return !strncmp(source, "lbr", 3) && (source[3] == ':' || source[3] == ',');
}

/* Returns whether the place @at is in @function. @function may be an address without a symbol. */
static bool is_from(const char *at, const char *function)
{
	return within(at, function) || !strcmp(at, function);
}

static void choose_address(const char *kind)
{
	if (!strcmp(kind, "null"))
		bad_address = 0;
	else if (!strcmp(kind, "error"))
		bad_address = -1;
	else if (!strcmp(kind, "kernel"))
		bad_address = 0xffffe90000001000;
}

/*
 * Crash, check the branches, and thaw. The newest branch must come from @function, and at least
 * @least branches must be printed.
 */
static void crash_and_thaw(const char *kind, const char *function, int least)
{
	char source[64] = "", *arrow;
	struct dump d = NO_DUMP;

	skip_log();
	ok(crash_once(kind, 0), "%s: survived", kind);
	ok(source_is_said(source, sizeof(source), &d), "%s: source %s", kind, source);
	arrow = strstr(d.top, " <- ");
	ok(d.first == 0 && arrow && is_from(arrow + 4, function), "%s: on top: %s", kind, d.top);
	printf("# %s: %d branches, %d more since then\n", kind, d.nr, d.since);
	ok(d.nr >= least, "%s: %d branches are left, at least %d", kind, d.nr, least);
	ok(d.traces == cpus() && d.others > 5, "%s: %d branches of others", kind, d.others);
	ok(stays_frozen() && !enabled_cpus(), "%s: frozen", kind);
	ok(is("enable", "lbr") && trace_names_source("per_cpu/cpu0/trace"),
	   "%s: the trace names lbr", kind);
	must_set("freeze", "0");
	ok(recording_cpus() == cpus(), "%s: thawed", kind);
}

static int crash(const char *kind, const char *function, int least, int times)
{
	choose_address(kind);
	must_set("fold", "0");
	must_set("crash_all", "1");
	must_set("enable", "lbr");
	usleep(20000);
	open_log();
	while (times-- > 0)
		crash_and_thaw(kind, function, least);
	return finish();
}

/* Crash in a child. The LBR filter leaves out the branches @out. The host checks the console. */
static int die(const char *kind, const char *out)
{
	bool folded = !strcmp(out, "folded");
	int status;
	pid_t pid;

	must_set("fold", folded ? "1" : "0");
	must_set("enable", "lbr");
	usleep(20000);
	if (!lbr_leave_out(out) && !folded && strcmp(out, "nothing"))
		give_up("%s", out);
	pin_to(0);
	printf("# die\n");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		try_text(DEVICE, kind);
		sleep(5);
		_exit(1);
	}
	ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "%s: the process is killed",
	   kind);
	return finish();
}

/* An exception with a fixup does not freeze the recorder. */
static int fixup(void)
{
	must_set("fold", "0");
	must_set("enable", "lbr");
	pin_to(0);
	must_write(DEVICE, "fixup");
	ok(recording_cpus() == cpus() && is("freeze", "0"), "recording goes on");
	return finish();
}

/*
 * Crash in a child, and return whether that killed it. More children follow it and stop: otherwise
 * the memory of its task_struct could be used for something else than a task_struct later. Half of
 * them end after the crash: a new kernel thread is more likely to get one of their task_structs.
 */
static bool crash_among_others(const char *kind)
{
	int status, crash;
	pid_t pid[30];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = fork();
		if (!pid[i]) {
			raise(SIGSTOP);
			must_write(DEVICE, kind);
			_exit(1);
		}
		if (waitpid(pid[i], &status, WUNTRACED) != pid[i] || !WIFSTOPPED(status))
			give_up("waitpid");
	}
	kill(pid[0], SIGCONT);
	if (waitpid(pid[0], &crash, 0) != pid[0])
		give_up("waitpid");
	for (i = 1; i < ARRAY_SIZE(pid); i += 2) {
		kill(pid[i], SIGKILL);
		if (waitpid(pid[i], &status, 0) != pid[i])
			give_up("waitpid");
	}
	return WIFSIGNALED(crash);
}

/*
 * Fork a child that freezes the recorder on CPU 0 and exits, if it has the task_struct of the task
 * that crashed. Otherwise it stops, and keeps its task_struct. Returns whether it froze.
 */
static bool fork_reborn(void)
{
	static const char path[] = "/sys/module/bts_crash/parameters/reborn";
	char is_reborn = 0;
	int fd, status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, &is_reborn, 1) != 1)
			give_up("%s", path);
		if (is_reborn != 'Y')
			raise(SIGSTOP);
		pin_to(0);
		must_set("freeze", "1");
		_exit(0);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || (WIFEXITED(status) && WEXITSTATUS(status)))
		give_up("waitpid");
	return WIFEXITED(status);
}

/*
 * victim: CPU 0 is frozen at the entry of an exception, which then kills the task. left: a task has
 * an exception on CPU 1 and migrates, CPU 1 goes offline, and the exception kills the task. After
 * the thaw, another task with the memory of that task_struct freezes CPU 0. The branches before the
 * exception must not be shown.
 */
static int reborn(const char *kind)
{
	bool is_reborn = false;
	int tries = 400;
	char *trace;

	must_set("fold", "0");
	must_set("enable", "lbr");
	pin_to(0);
	ok(crash_among_others(kind) && is("freeze", "1"), "%s: a task is killed", kind);
	must_set("freeze", "0");
	if (!strcmp(kind, "left") && get_nprocs() != 1)
		give_up("CPU 1 is online");
	/* The free task_struct may be in the allocator's cache of one CPU: fork on each CPU. */
	while (!is_reborn && tries--) {
		pin_to(tries % get_nprocs());
		is_reborn = fork_reborn();
	}
	ok(is_reborn && is("freeze", "1"), "its task_struct is used again");
	trace = get("per_cpu/cpu0/trace");
	ok(branches(0) && !strstr(trace, "bts_crash_"), "no branches from before the thaw");
	free(trace);
	return finish();
}

/* Count the lines of the log that say that perf has the hardware, or that a crash was missed. */
static void count_reasons(int *given, int *missed)
{
	char line[1024];

	*given = *missed = 0;
	while (read_log(line, sizeof(line))) {
		*given += !!strstr(line, "perf has the hardware: no branches are recorded");
		*missed += !!strstr(line, "has not recorded its crash");
	}
}

/* Count the lines of branches in the log, and the headlines that name the source. */
static int count_log(int *named)
{
	char line[1024];
	int n = 0;

	*named = 0;
	while (read_log(line, sizeof(line))) {
		if (!strncmp(line, "Last branches of CPU", 20))
			*named += strstr(line, " source lbr:") || strstr(line, " source lbr,");
		else
			n += !!strstr(line, " <- ");
	}
	return n;
}

static int given(void)
{
	int event, given, missed, n, named;

	must_set("enable", "lbr");
	open_log();
	skip_log();
	try_text("/proc/sysrq-trigger", "B");
	n = count_log(&named);
	ok(n > 1 && n <= 32 * cpus() && named == cpus(), "sysrq: %d branches of %d CPUs from lbr",
	   n, named);
	try_text("/proc/sysrq-trigger", "B");
	count_reasons(&given, &missed);
	ok(!given, "sysrq: nothing is said of perf");
	event = open_lbr(0, -1, NEVER, false);
	if (event < 0)
		give_up("perf's event: %d", event);
	try_text("/proc/sysrq-trigger", "B");
	count_reasons(&given, &missed);
	ok(given == 1, "sysrq: %d lines say that perf has the LBRs", given);
	ok(crash_once("task", 0), "a crash");
	count_reasons(&given, &missed);
	ok(given == 1 && !missed, "crash: %d lines say that perf has the LBRs, %d something else",
	   given, missed);
	return finish();
}

/*
 * A #DB stops model-specific LBRs. The watchpoint's handler must freeze the recorder before they
 * record again: then it prints the branches before the write.
 */
static int watched(void)
{
	char line[1024];
	int traces = 0, work = 0, tries = 50;

	must_set("fold", "0");
	must_set("enable", "lbr");
	must_set("watch", "bts_crash_global:4");
	pin_to(0);
	open_log();
	skip_log();
	must_write(DEVICE, "write");
	/* CPU 0 is printed first, and completely when the headline of CPU 1 is there. */
	while (traces < 2 && tries--) {
		usleep(100000);
		while (read_log(line, sizeof(line))) {
			traces += !strncmp(line, "Last branches of CPU", 20);
			work += !!strstr(line, "bts_crash_work+");
		}
	}
	ok(work >= 5, "%d branches of the code that writes", work);
	ok(all_record() && is("freeze", "0"), "recording goes on");
	return finish();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "files"))
		return files(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "refused"))
		return refused();
	if (argc == 2 && !strcmp(argv[1], "booted"))
		return booted();
	if (argc == 3 && !strcmp(argv[1], "perf"))
		return beside_perf(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "migrated"))
		return migrated();
	if (argc > 2 && !strcmp(argv[1], "around"))
		return around(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "offline"))
		return hotplugged();
	if (argc == 2 && !strcmp(argv[1], "suspend"))
		return asleep();
	if (argc == 2 && !strcmp(argv[1], "reset"))
		return reset();
	if (argc < 3) {
		fprintf(stderr, "usage: %s COMMAND [ARG...]\n", argv[0]);
		return 2;
	}
	/* The other commands come after the name of the module. */
	argv = load_and_continue(&argc, argv);
	if (argc == 7 && !strcmp(argv[2], "crash"))
		return crash(argv[3], argv[4], atoi(argv[5]), atoi(argv[6]));
	if (argc >= 4 && !strcmp(argv[2], "die"))
		return die(argv[3], argc > 4 ? argv[4] : "nothing");
	if (argc == 4 && !strcmp(argv[2], "reborn"))
		return reborn(argv[3]);
	if (argc == 3 && !strcmp(argv[2], "watched"))
		return watched();
	return strcmp(argv[2], "given") ? fixup() : given();
}
