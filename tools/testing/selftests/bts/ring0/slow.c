// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of crashes that print for a long time, as the console is slow. The guest needs four CPUs.
 * MODULE is the module bts_crash.
 *
 *   slow MODULE stall	RCU must not report a stall. The host checks that; it has set the time after
 *			which RCU reports one to three seconds.
 *   slow MODULE thaw	root thaws the recorder while the branches are printed
 */
#include <linux/membarrier.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "common.h"
#include "dump.h"

#define LINES	500	/* printed for each CPU */

/* Each message takes @ms milliseconds. */
static void delay_messages(const char *ms)
{
	if (try_text("/proc/sys/kernel/printk_delay", ms))
		give_up("printk_delay");
}

/* Wait for RCU's grace periods, one after another, on CPU 1. */
static pid_t wait_for_rcu(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pin_to(1);
	for (;;)
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static void test_stall(void)
{
	pid_t child = wait_for_rcu();
	time_t begin = time(NULL);

	ok(crash_once("task", 0), "stall: survived");
	ok(time(NULL) - begin > 3, "stall: printed for four seconds");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ok(thaws(), "stall: frozen until it is thawed");
}

/*
 * As soon as CPU 1 is printed, thaw. CPU 0 prints with interrupts off, so only the other CPUs
 * record again. They must not be printed any more.
 */
static void test_thaw(void)
{
	struct dump d = NO_DUMP;
	bool thawed = false;
	char line[1024];
	pid_t pid;

	skip_log();
	pin_to(2);
	pid = start_crash("task", 0);
	while (!waitpid(pid, NULL, WNOHANG)) {
		while (read_log(line, sizeof(line))) {
			take_line(&d, line);
			if (!thawed && strstr(line, "Last branches of CPU 1,")) {
				must_set("freeze", "0");
				thawed = true;
			}
		}
		usleep(1000);
	}
	ok(thawed && d.traces == 2 && d.first == 0 && d.nr == LINES,
	   "thaw: %d CPUs printed, %d lines of CPU %d", d.traces, d.nr, d.first);
	ok(d.others < LINES && !d.running, "thaw: then %d lines, %d said to record", d.others,
	   d.running);
	ok(goes_on(), "thaw: all record");
}

int main(int argc, char **argv)
{
	if (argc > 2)
		argv = load_and_continue(&argc, argv);
	if (argc != 3) {
		fprintf(stderr, "usage: %s MODULE stall|thaw\n", argv[0]);
		return 2;
	}
	must_set("enable", "1");
	must_set("fold", "0");
	must_set("crash_all", "1");
	must_set("crash_nr", "500");
	open_log();
	delay_messages("2");
	if (!strcmp(argv[2], "stall"))
		test_stall();
	else
		test_thaw();
	delay_messages("0");
	return finish();
}
