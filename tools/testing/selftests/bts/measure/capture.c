// SPDX-License-Identifier: GPL-2.0
/*
 * capture perf_period1|intel_bts|singlestep|blockstep|call
 *
 * Measure the cost of recording and reading a branch of another process in user mode, in
 * instructions for each branch. With singlestep and blockstep, this includes the three instructions
 * that the process itself executes for each branch. call: measure a system call, without a trace.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/measure.h"

#define BRANCHES	100000UL	/* branches in a round, for events */
#define STOPS		2000UL		/* branches in a round, for stepping, which is slower */
#define SAMPLES		1000UL		/* values of which the median is taken */
#define CALLS		1000UL		/* system calls that are measured together */
#define ROUNDS		5

/* Execute a loop of three instructions, one of them a branch, @count times. */
static void branch(unsigned long count)
{
	asm volatile("1: nop; dec %0; jnz 1b" : "+r" (count) : : "cc");
}

static pid_t start(bool traced, unsigned long branches)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid) {
		if (traced && ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		for (;;) {
			raise(SIGSTOP);
			branch(branches);
		}
	}
	return pid;
}

static void wait_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		fail("the traced process died");
}

/*
 * Let the process run a round, and read its branches. Sets *@count to their number. Returns the
 * number of instructions that all this took.
 */
static uint64_t event_round(pid_t pid, struct peer *peer, unsigned long *count)
{
	uint64_t begin = instructions();

	kill(pid, SIGCONT);
	wait_stop(pid);
	*count = peer_read(peer);
	return instructions() - begin;
}

static double capture_event(const char *name)
{
	pid_t pid = start(false, BRANCHES);
	struct peer *peer = peer_open(name, pid);
	double values[ROUNDS];
	unsigned long count;
	uint64_t plain, traced;
	int i;

	wait_stop(pid);
	/* Round -1 does not count: the first accesses to memory cause page faults. */
	for (i = -1; i < ROUNDS; i++) {
		plain = event_round(pid, peer, &count);
		if (count)
			fail("%lu branches while the event is off", count);
		peer_enable(peer);
		traced = event_round(pid, peer, &count);
		peer_disable(peer);
		if (count < BRANCHES)
			fail("%lu of %lu branches", count, BRANCHES);
		if (i >= 0)
			values[i] = (double)(traced - plain) / count;
	}
	kill(pid, SIGKILL);
	return median(values, ROUNDS);
}

static unsigned long rip(pid_t pid)
{
	errno = 0;
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
}

/*
 * Step through the loop, and measure the instructions from one taken branch to the next. A step
 * that has taken the branch ends at a lower address than the step before, or at the same address
 * with PTRACE_SINGLEBLOCK. Other steps in the loop move forward by the length of an instruction.
 * The median leaves out values with a timer interrupt.
 */
static double capture_stops(enum __ptrace_request request)
{
	static double values[STOPS];
	pid_t pid = start(true, STOPS);
	uint64_t begin = 0, end;
	unsigned long last, now;
	size_t count = 0;

	wait_stop(pid);
	last = rip(pid);
	while (count < STOPS - 2) {
		if (ptrace(request, pid, 0, 0))
			fail("step: %s", strerror(errno));
		wait_stop(pid);
		now = rip(pid);
		if (now <= last && last - now <= 16) {
			end = instructions();
			if (begin)
				values[count++] = end - begin;
			begin = end;
		} else if (now < last || now - last > 16) {
			begin = 0;	/* not yet in the loop */
			count = 0;
		}
		last = now;
	}
	kill(pid, SIGKILL);
	return median(values, count);
}

/* The median leaves out values with a timer interrupt. */
static double measure_calls(void)
{
	static double values[SAMPLES];
	uint64_t begin;
	size_t i, n;

	for (i = 0; i < SAMPLES; i++) {
		begin = instructions();
		for (n = 0; n < CALLS; n++)
			syscall(SYS_getppid);
		values[i] = (double)(instructions() - begin) / CALLS;
	}
	return median(values, SAMPLES);
}

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";

	if (!strcmp(how, "singlestep"))
		report(capture_stops(PTRACE_SINGLESTEP));
	else if (!strcmp(how, "blockstep"))
		report(capture_stops(PTRACE_SINGLEBLOCK));
	else if (!strcmp(how, "call"))
		report(measure_calls());
	else
		report(capture_event(how));
	return 0;
}
