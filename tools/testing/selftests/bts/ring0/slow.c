// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of crashes that print for some seconds. The sysctl printk_delay stands for a slow console.
 * The guest needs four CPUs. MODULE is the module bts_crash.
 *
 *   slow MODULE stall	RCU must not report a stall. The host has set RCU's limit to three seconds
 *			(CONFIG_PROVE_RCU adds five), and looks for a report.
 *   slow MODULE thaw	root thaws the recorder while the branches are printed
 */
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/recorder.h"
#include "../guest/dump.h"

/* Each message takes at least @ms milliseconds. */
static void delay_messages(const char *ms)
{
	if (try_text("/proc/sys/kernel/printk_delay", ms))
		give_up("printk_delay");
}

/*
 * Start a child on CPU 1 that waits for one grace period of RCU after another, until it is killed.
 * Returns its pid.
 */
static pid_t wait_for_rcu(void)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
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
	ok(time(NULL) - begin > 3, "stall: printed for more than three seconds");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ok(thaws(), "stall: frozen until it is thawed");
}

/*
 * Parse what is new in the log. When the headline of CPU 1 is there, store the number of lines that
 * it announces, and thaw.
 */
static void take_log(struct dump *d, int *announced)
{
	static const char head[] =
		"Last branches of CPU 1, newest first, %*d more since then, %d follow";
	char line[1024];
	int nr;

	while (read_log(line, sizeof(line))) {
		take_line(d, line);
		if (sscanf(line, head, &nr) == 1 && !*announced) {
			*announced = nr;
			must_set("freeze", "0");
		}
	}
}

/*
 * Thaw as soon as the log has the headline of CPU 1. CPU 0 prints with interrupts off, so it thaws
 * last. The other CPUs record again, and must not be printed any more.
 */
static void test_thaw(void)
{
	struct dump d = NO_DUMP;
	int announced = 0;
	pid_t pid;

	skip_log();
	pin_to(2);
	pid = start_crash("task", 0);
	while (!waitpid(pid, NULL, WNOHANG)) {
		take_log(&d, &announced);
		usleep(1000);
	}
	take_log(&d, &announced);
	ok(d.traces == 2 && !d.first && !d.bad, "thaw: %d CPUs printed, CPU %d first", d.traces,
	   d.first);
	ok(d.others < announced && !d.running, "thaw: then %d lines of %d, %d said to record",
	   d.others, announced, d.running);
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
	await_clock();
	must_set("enable", "1");
	usleep(20000);
	must_set("fold", "0");
	must_set("crash_all", "1");
	/* On a busy host, the thaw may come seconds after the headline: print enough lines. */
	must_set("crash_nr", strcmp(argv[2], "thaw") ? "500" : "1000");
	open_log();
	delay_messages("2");
	if (!strcmp(argv[2], "stall"))
		test_stall();
	else
		test_thaw();
	delay_messages("0");
	return finish();
}
