// SPDX-License-Identifier: GPL-2.0
/*
 * The file LIST in debugfs must show which tasks use the hardware. If the kernel refuses the
 * hardware to somebody, the kernel log must name such a task. Starting and ending traces in a
 * loop must not interrupt other CPUs. The test uses intel_bts, which needs page-table isolation
 * to be off.
 *
 *   holders [NUMBER]	allow NUMBER (default: 0) function call interrupts of CPU 1, which may
 *			have other causes
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../guest/system.h"
#include "intelbts.h"
#include "../guest/nobody.h"

#define LIST		"/sys/kernel/debug/x86/bts"
/* The number of seconds for which the kernel keeps the hardware after the last trace */
#define LINGER		5
#define ROUNDS		1000
#define READ_ALL	3	/* command of klogctl() */

static bool list_has(const char *line)
{
	char text[4096] = "\n", want[256];
	int fd = open(LIST, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text + 1, sizeof(text) - 2);

	if (fd >= 0)
		close(fd);
	snprintf(want, sizeof(want), "\n%s\n", line);
	return n > 0 && strstr(text, want);
}

static int open_list(void *unused)
{
	int fd = open(LIST, O_RDONLY | O_CLOEXEC);

	(void)unused;
	return fd < 0 ? errno : 0;
}

static bool log_has(const char *text)
{
	static char log[1 << 18];

	return klogctl(READ_ALL, log, sizeof(log) - 1) > 0 && strstr(log, text);
}

static void rename_self(unsigned long name)
{
	prctl(PR_SET_NAME, name);
}

static void check_seen(const struct tracee *t)
{
	char line[100];

	ok(list_has("free traces 0"), "nobody has traced yet");
	ok(!bts_config(t->pid, TRACE | ALLOC, RECORDS(ROUNDS), 0), "a trace of root");
	snprintf(line, sizeof(line), "task %d holders records %d user soft_filter", t->pid, ROUNDS);
	ok(list_has("held traces 1") && list_has(line), "is in the list: %s", line);
	tracee_do(t, rename_self, (unsigned long)"a\ncpu 7");
	snprintf(line, sizeof(line), "task %d a\\ncpu 7 records %d user soft_filter", t->pid,
		 ROUNDS);
	ok(list_has(line), "a name cannot look like another line");
	tracee_do(t, rename_self, (unsigned long)"holders");
	ok(as_nobody(open_list, NULL) == EACCES, "which others cannot read");
	ok(as_nobody(intel_bts_errno, NULL) == EBUSY, "another user is refused intel_bts");
	snprintf(line, sizeof(line), "x86/bts: in use by a trace of task %d holders (1 ", t->pid);
	ok(log_has(line), "and the log says: %s", line);
	ok(!bts_config(t->pid, PTRACE_BTS_F_END, 0, 0) && list_has("kept traces 0"),
	   "when it has ended, the hardware is kept for the next");
	sleep(LINGER + 1);
	ok(list_has("free traces 0"), "but not for long");
}

/* Returns the number of function call interrupts of CPU 1 so far, or -1 if there is no CPU 1. */
static long calls_of_cpu1(void)
{
	char line[256];
	long cpu0, cpu1 = -1;
	FILE *f = fopen("/proc/interrupts", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " CAL: %ld %ld", &cpu0, &cpu1) == 2)
			break;
	}
	if (f)
		fclose(f);
	return cpu1;
}

static bool round_trip(const struct tracee *t)
{
	return !bts_config(t->pid, TRACE | ALLOC, RECORDS(ROUNDS), 0) &&
	       !bts_config(t->pid, PTRACE_BTS_F_END, 0, 0);
}

static void check_quiet(const struct tracee *t, long few)
{
	bool good = round_trip(t);
	long begin = calls_of_cpu1(), calls;
	int i;

	for (i = 0; i < ROUNDS && good; i++)
		good = round_trip(t);
	calls = calls_of_cpu1() - begin;
	ok(good && begin > 0 && calls <= few,
	   "%d traces made and ended: %ld calls of the other CPU", i, calls);
}

int main(int argc, char **argv)
{
	struct tracee t;

	intel_bts_for_all();
	nobody_pages = 8;
	pin_to(0);
	t = tracee_new();
	check_seen(&t);
	if (sysconf(_SC_NPROCESSORS_CONF) > 1)
		check_quiet(&t, argc > 1 ? atol(argv[1]) : 0);
	tracee_end(&t);
	return finish();
}
