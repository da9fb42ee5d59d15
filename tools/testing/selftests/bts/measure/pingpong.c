// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong untraced|perf_period1|intel_bts
 *
 * Instructions of a round trip between two processes over pipes; with an
 * event on one of them: how many more.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure.h"

#define TRIPS	2000

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

/* The median leaves out the trips with a timer interrupt. */
static double round_trip(struct peer *peer)
{
	static double trips[TRIPS];
	uint64_t begin;
	char c = 0;
	int i;

	for (i = -TRIPS / 10; i < TRIPS; i++) {
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

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";
	pid_t pid = start();
	struct peer *peer;
	double plain;

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
