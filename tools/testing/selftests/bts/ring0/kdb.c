// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the flight recorder in kdb, and of kdb's command 'branches', which prints the branches.
 *
 *   kdb CRASH_MODULE TERMINAL_MODULE break|oops|stop|panic|go
 */
#include <signal.h>
#include <sys/wait.h>

#include "../guest/tracee.h"
#include "../guest/recorder.h"
#include "../guest/dump.h"

#define TERMINAL	"/dev/bts_kdb"

/* Set the commands that kdb executes when it is entered next, before 'go'. */
static void type(const char *commands)
{
	errno = -try_text(TERMINAL, commands);
	if (errno)
		give_up("%s", TERMINAL);
}

/* Parse what kdb has printed since the last type(). */
static struct dump shown(void)
{
	static char text[1 << 16];
	struct dump d = NO_DUMP;
	char *line, *at = text;
	ssize_t n;
	int fd;

	fd = open(TERMINAL, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		give_up("%s", TERMINAL);
	close(fd);
	text[n] = '\0';
	while ((line = strsep(&at, "\r\n")))
		take_line(&d, line);
	return d;
}

static struct dump at_break(const char *commands)
{
	type(commands);
	try_text("/proc/sysrq-trigger", "g");
	return shown();
}

static bool complete(const struct dump *d)
{
	bool all = d->traces == cpus() && !d->first && d->nr == NR &&
		   d->others == NR * (cpus() - 1) && !d->running && !d->bad;

	if (!all)
		printf("# %d traces, %d first, %d branches, %d others, %d running\n", d->traces,
		       d->first, d->nr, d->others, d->running);
	return all;
}

/* While the recorder is off, the debugger must not stop traces of tasks. */
static void test_traces(void)
{
	struct tracee t;

	pin_to(1);
	t = tracee_new();
	pin_to(0);
	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(1000), 0))
		give_up("PTRACE_BTS_CONFIG");
	tracee_begin(&t, known_work, 2000000000);
	ptrace(PTRACE_CONT, t.pid, 0, 0);
	usleep(100000);
	at_break("branches\n");
	kill(t.pid, SIGSTOP);
	waitpid(t.pid, NULL, 0);
	ok(!bts_status(t.pid).gaps, "off: a trace of a task has %u gaps", bts_status(t.pid).gaps);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
}

static void test_break(void)
{
	struct dump d;

	must_set("enable", "0");
	ok(set("enable", "lbr") < 0, "off: this machine has no LBRs");
	d = at_break("branches\n");
	ok(!d.traces, "off: nothing is shown");
	test_traces();
	must_set("enable", "1");
	usleep(20000);
	d = at_break("branches\n");
	ok(complete(&d) && strstr(d.top, "asm_exc_int3+0x0") &&
	   strstr(d.top, "<- kgdb_breakpoint+"),
	   "break: %s", d.top);
	ok(goes_on(), "break: recording goes on");
	d = at_break("branches 1\n");
	ok(d.traces == 1 && d.first == 1 && d.nr == NR, "a CPU: %d traces, CPU %d", d.traces,
	   d.first);
	d = at_break("branches 0 7\n");
	ok(d.traces == 1 && !d.first && d.nr == 7, "a CPU and a number: %d", d.nr);
	d = at_break("branches 99\n");
	ok(!d.traces, "no such CPU");
	d = at_break("branches x\n");
	ok(!d.traces, "no number");
	d = at_break("branches 0 0\n");
	ok(!d.traces, "no lines");
	d = at_break("branches 0 10001\n");
	ok(!d.traces, "more lines than the maximum");
	must_set("freeze", "1");
	d = at_break("branches\n");
	usleep(100000);
	ok(complete(&d) && !recording(0), "a freeze by the user before kdb lasts");
	must_set("freeze", "0");
}

/* A crash enters kdb only if panic has no timeout. */
static void stop_at_crashes(void)
{
	if (try_text("/proc/sys/kernel/panic", "0"))
		give_up("panic");
}

static void test_oops(void)
{
	struct dump d;

	stop_at_crashes();
	type("branches\n");
	ok(crash_once("task", 0), "oops: survived");
	d = shown();
	ok(complete(&d) && !d.fault && shows_way_to_crash(&d), "oops: %s", d.top);
	ok(thaws(), "oops: frozen until it is thawed");
}

/* Enter kdb at a breakpoint in the code that prints an oops. That must not thaw the CPUs. */
static void test_stop(void)
{
	struct dump d;

	stop_at_crashes();
	at_break("bp show_regs\n");
	open_log();
	skip_log();
	ok(crash_once("task", 0), "stop: survived");
	d = read_dump();
	ok(d.traces == cpus() && d.fault >= 0 && !d.bad, "stop: %d traces, %s", d.traces, d.top);
	at_break("bc *\n");
	ok(thaws(), "stop: frozen until it is thawed");
}

/* Panic, with @keys as the commands for kdb. The host checks the console. */
static int test_panic(const char *keys)
{
	stop_at_crashes();
	type(keys);
	try_text(DEVICE, "panic");
	sleep(5);
	printf("Bail out! still here\n");
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s CRASH_MODULE TERMINAL_MODULE break|oops|stop|panic|go\n",
			argv[0]);
		return 2;
	}
	load_module(argv[1], "");
	load_module(argv[2], "");
	must_set("fold", "0");
	must_set("crash_all", "1");
	must_set("enable", "1");
	pin_to(0);
	/* Avoid kdb's pager, which waits for a key. */
	at_break("set LINES 10000\n");
	usleep(20000);
	if (!strcmp(argv[3], "panic"))
		return test_panic("dmesg 20\nbranches\nreboot\n");
	/* After 'go', the kernel reboots, as panic_timeout is -1. */
	if (!strcmp(argv[3], "go"))
		return test_panic("mm4 panic_timeout 0xffffffff\ngo\n");
	if (!strcmp(argv[3], "oops"))
		test_oops();
	else if (!strcmp(argv[3], "stop"))
		test_stop();
	else
		test_break();
	return finish();
}
