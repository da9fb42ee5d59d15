// SPDX-License-Identifier: GPL-2.0
/*
 * A trigger has an event put together in a page of its CPU's, which is freed with
 * the last trigger. A CPU that comes or goes then is not to use it, and uses the
 * next one.
 *
 *   pages SECONDS
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/guest.h"
#include "../guest/system.h"

#define TRIGGER	"/sys/kernel/tracing/events/sched/sched_switch/trigger"
#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static void must(const char *path, const char *text)
{
	int err = try_text(path, text);

	if (err) {
		errno = -err;
		give_up("'%s' to %s", text, path);
	}
}

/* So long each that any part of taking back a trigger may fall into it */
static void come_and_go(void)
{
	for (;;) {
		must(ONLINE, "0");
		usleep(rand() % 50000);
		must(ONLINE, "1");
		usleep(rand() % 50000);
	}
}

/* What the monitor prints of guest memory: "ADDRESS: VALUE" */
static long long peek(uint64_t addr, char size)
{
	char command[64], text[256], *at;

	snprintf(command, sizeof(command), "x /1%c%c %#llx", size == 'g' ? 'x' : 'd', size,
		 (unsigned long long)addr);
	if (hmp(command, text, sizeof(text)))
		give_up("the monitor's %s", command);
	at = strchr(text, ':');
	if (!at)
		give_up("the monitor's %s: '%s'", command, text);
	return strtoull(at + 1, NULL, 0);
}

/* How many have CPU 1's page in use, or hold it off. */
static int users(void)
{
	static const char *const names[] = { "__per_cpu_offset", "trace_buffered_event_cnt" };
	struct range at[ARRAY_SIZE(names)] = { };

	find_symbols(names, at, ARRAY_SIZE(names));
	return peek(peek(at[0].start + 8, 'g') + at[1].start, 'w');
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	int times = 0, status, nr;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (!pid)
		come_and_go();
	while (time(NULL) < end) {
		must(TRIGGER, "traceoff if prev_pid == -7");
		must(TRIGGER, "!traceoff");
		times++;
	}
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid");
	must(ONLINE, "1");
	ok(WIFSIGNALED(status), "a CPU came and went all the time");
	ok(times > 10, "a trigger was set and taken back: %d times", times);
	nr = users();
	ok(!nr, "nobody has the CPU's page in use: %d", nr);
	return finish();
}
