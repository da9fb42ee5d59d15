// SPDX-License-Identifier: GPL-2.0
/*
 * Trace five million branches: none may be lost, and single-stepping the program must take at
 * least AT_LEAST times as many instructions as tracing it. QEMU's -icount makes the time stamp
 * counter count instructions.
 *
 *   toolcost BTSTRACE RECORD
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "../guest/measure.h"
#include "run.h"

#define ROUNDS		1666667L	/* of walk loop, with three branches each */
#define STEPPED		2000L
#define AT_LEAST	50

/* Step through the program. Returns the number of instructions that this took. */
static double stepped(long rounds)
{
	uint64_t begin = instructions();
	char n[24];
	int status;
	pid_t pid;

	snprintf(n, sizeof(n), "%ld", rounds);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl("/bt/walk", "walk", "loop", n, NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	return instructions() - begin;
}

static double traced(const char *how, struct run *r)
{
	uint64_t begin = instructions();
	char line[128];

	snprintf(line, sizeof(line), "$b %s /bt/walk loop %ld", how, ROUNDS);
	*r = run(line);
	return instructions() - begin;
}

static void check(const char *how, double step)
{
	struct run r;
	double cost = traced(how, &r);
	const char *line = last_line(r.err, " branches, ");
	long branches = *line ? atol(line + strlen("btstrace: ")) : 0;

	if (!ok(exited(&r, 0) && branches >= 3 * ROUNDS && strstr(line, ", 0 lost, 0 gaps"),
		"%s: %ld branches, 0 lost", how, branches))
		explain(&r);
	if (strstr(how, "--calls"))
		ok(strstr(r.out, "   1666667 ") && strstr(r.out, "; balanced\n"),
		   "%s: the tree is balanced", how);
	ok(step / cost >= AT_LEAST, "%s: %.0f times fewer instructions than by steps", how,
	   step / cost);
	printf("# %s: %.1f instructions for each branch, by steps %.0f\n", how, cost / branches,
	       step / branches);
	run_free(&r);
}

int main(int argc, char **argv)
{
	double step;

	if (argc < 3)
		return 99;
	run_init(argc, argv);
	/* The cost of ROUNDS rounds in single steps, without the start and end of the program */
	step = (stepped(STEPPED * 2) - stepped(STEPPED)) / STEPPED * ROUNDS;
	check("--calls -o " OUT, step);
	check("-c -o " OUT, step);
	check("--full -o /dev/null", step);
	return finish();
}
