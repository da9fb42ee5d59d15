// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong untraced|perf_period1|intel_bts|blockstep
 *
 * Measure the cost of a round trip between two processes over pipes, in instructions. If one of the
 * processes is traced or block-stepped, measure the additional cost. With blockstep, a trip is one
 * page that a process writes and the other one reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/measure.h"

#define TRIPS	2000
#define WARM	(TRIPS / 10)	/* trips at the beginning that do not count */

static int there[2], back[2];

static pid_t start(void)
{
	pid_t pid;
	char c;

	if (pipe(there) || pipe(back))
		fail("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	return pid;
}

/* Returns the median of TRIPS trips, which leaves out those with a timer interrupt. */
static double round_trip(struct peer *peer)
{
	static double trips[TRIPS];
	uint64_t begin;
	char c = 0;
	int i;

	for (i = -WARM; i < TRIPS; i++) {
		begin = instructions();
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			fail("pipe: %s", strerror(errno));
		if (i >= 0)
			trips[i] = instructions() - begin;
		if (peer)
			peer_skip(peer);
	}
	return median(trips, TRIPS);
}

/*
 * A block-stepped process stops after each system call, but not within one. So use a single long
 * write to a pipe of one page: the process sleeps after each page.
 */
static pid_t start_writer(size_t page)
{
	size_t size = (TRIPS + WARM) * page;
	char *data = calloc(1, size);
	pid_t pid;

	if (!data || pipe(there) || fcntl(there[1], F_SETPIPE_SZ, (int)page) != (int)page)
		fail("no pipe of one page: %s", strerror(errno));
	/* Fault in all pages before anything is counted. */
	memset(data, 1, size);
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		for (;;) {
			raise(SIGSTOP);
			if (write(there[1], data, size) != (ssize_t)size)
				_exit(1);
		}
	}
	return pid;
}

static double page_trip(size_t page)
{
	static double trips[TRIPS];
	static char data[1 << 16];
	uint64_t begin;
	int i;

	for (i = -WARM; i < TRIPS; i++) {
		begin = instructions();
		if (read(there[0], data, page) != (ssize_t)page)
			fail("read: %s", strerror(errno));
		if (i >= 0)
			trips[i] = instructions() - begin;
	}
	return median(trips, TRIPS);
}

static void wait_stop(pid_t pid, int options)
{
	int status = 0;
	pid_t got = waitpid(pid, &status, options);

	if (got < 0 || (got && !WIFSTOPPED(status)))
		fail("the traced process died");
}

/* Block-step until the process is in its write, in which it sleeps after each page. */
static void step_into_write(pid_t pid)
{
	struct pollfd poll_in = { .fd = there[0], .events = POLLIN };

	while (!poll(&poll_in, 1, 1)) {
		wait_stop(pid, WNOHANG);
		if (ptrace(PTRACE_SINGLEBLOCK, pid, 0, 0) && errno != ESRCH)
			fail("block-step: %s", strerror(errno));
	}
}

static double block_stepped(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	pid_t pid = start_writer(page);
	double plain, stepped;

	wait_stop(pid, 0);
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		fail("continue: %s", strerror(errno));
	plain = page_trip(page);
	wait_stop(pid, 0);
	step_into_write(pid);
	stepped = page_trip(page);
	kill(pid, SIGKILL);
	return stepped - plain;
}

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";
	struct peer *peer;
	double plain;
	pid_t pid;

	if (!strcmp(how, "blockstep")) {
		report(block_stepped());
		return 0;
	}
	pid = start();
	plain = round_trip(NULL);
	if (!strcmp(how, "untraced")) {
		report(plain);
		return 0;
	}
	peer = peer_open(how, pid);
	peer_enable(peer);
	round_trip(peer);
	peer_read(peer);
	report(round_trip(peer) - plain);
	return 0;
}
