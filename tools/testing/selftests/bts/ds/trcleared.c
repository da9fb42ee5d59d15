// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own BTS, on a processor where each #DB clears DEBUGCTL.TR: the kernel sets TR again. A
 * child runs into a breakpoint of perf, again and again, which does not stop it.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store.h"

#define TR	0x40
#define READS	20

static __attribute__((noinline)) void come_by(void)
{
	__asm__ volatile("");
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	if (pid)
		return pid;
	pin_to(0);
	for (;;)
		come_by();
}

static int open_breakpoint(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)come_by,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
	};
	int fd = perf_open(&attr, pid, -1);

	if (fd < 0)
		give_up("breakpoint");
	return fd;
}

int main(void)
{
	unsigned int i, with_tr = 0;
	uint64_t hits = 0;
	struct trace t;
	pid_t pid;
	int fd;

	pin_to(1);
	pid = start_child();
	fd = open_breakpoint(pid);
	if (trace_open(&t, PERIOD1, pid, -1))
		give_up("branches:u");
	for (i = 0; i < READS; i++) {
		usleep(20000);
		with_tr += !!(read_debugctl(0) & TR);
	}
	if (read(fd, &hits, sizeof(hits)) != sizeof(hits))
		give_up("read the breakpoint's event");
	ok(hits > READS, "%llu breakpoints", (unsigned long long)hits);
	/* Now and then, another task may run on CPU 0. */
	ok(with_tr > READS / 2, "TR is set in %u of %u reads", with_tr, READS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	trace_close(&t);
	return finish();
}
