// SPDX-License-Identifier: GPL-2.0
/*
 * What the hardware does not record is marked.
 *
 *   silicon late	the interrupt comes when the hardware's buffer has long been full
 *   silicon cleared	each #DB stops the recording
 *   silicon sampled	perf samples all CPUs meanwhile: nothing is lost
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"
#include "../debugctl/walk.h"
#include "../guest/system.h"

#define BRANCHES	100000
#define ROOM		200000

static size_t known_branches(const struct trace *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++)
		n += t->rec[i].type == X86_BTS_BRANCH &&
		     t->rec[i].branch.from == (uintptr_t)known_site &&
		     t->rec[i].branch.to == (uintptr_t)known_loop;
	return n;
}

static void check_late(void)
{
	struct ptrace_bts_status status;
	struct tracee t = tracee_new();
	struct trace got = { };
	size_t marks, known;

	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0))
		give_up("no trace");
	tracee_do(&t, known_work, BRANCHES);
	status = bts_status(t.pid);
	trace_drain(t.pid, &got, ROOM);
	marks = trace_count(&got, X86_BTS_LOST);
	known = known_branches(&got);
	ok(known && known < BRANCHES - 1, "%zu of %d branches are there", known, BRANCHES - 1);
	ok(marks && status.gaps == marks, "%zu marks, %u gaps", marks, status.gaps);
	ok(trace_leak(&got) < 0, "no address of the kernel");
	trace_free(&got);
	tracee_end(&t);
}

static size_t user_branches(const struct trace *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++)
		n += t->rec[i].type == X86_BTS_BRANCH && t->rec[i].branch.from < USER_END &&
		     t->rec[i].branch.to < USER_END;
	return n;
}

static void check_cleared(const char *name, int request, uint32_t flags)
{
	struct trace got = { };
	struct stops stops;
	pid_t pid = start_walk();
	size_t marks;

	if (bts_config(pid, flags | ALLOC, RECORDS(10 * ROOM), 0))
		give_up("no trace");
	step_through(pid, request, &stops);
	trace_drain(pid, &got, ROOM);
	marks = trace_count(&got, X86_BTS_LOST);
	ok(user_branches(&got) == nr_branches(), "%s: all %u branches of user mode", name,
	   nr_branches());
	if (flags & (ENTRY | KERNEL))
		ok(marks >= stops.n, "%s: %u stops, %zu marks", name, stops.n, marks);
	else
		ok(!marks, "%s: no mark", name);
	finish_walk(pid);
	trace_free(&got);
}

static void many_calls(unsigned long n)
{
	while (n--)
		syscall(SYS_getppid);
}

/* The PMI of a counter masks the vector, and its handler is the kernel's. */
static void check_sampled(void)
{
	struct ptrace_bts_status status;
	struct tracee t = tracee_new();
	struct trace got = { };
	long before;

	sample_all(1000000);
	if (bts_config(t.pid, TRACE | KERNEL | ALLOC, RECORDS(20 * ROOM), 0))
		give_up("no trace");
	before = nmis();
	tracee_do(&t, many_calls, BRANCHES / 5);
	status = bts_status(t.pid);
	ok(status.held > BRANCHES && !status.overwritten, "%u records", status.held);
	ok(nmis() - before > status.held / 2730 + 20, "%ld NMIs", nmis() - before);
	trace_drain(t.pid, &got, ROOM);
	ok(!status.gaps && !status.lost && !trace_count(&got, X86_BTS_LOST), "%u gaps",
	   status.gaps);
	trace_free(&got);
	tracee_end(&t);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "late")) {
		check_late();
	} else if (argc == 2 && !strcmp(argv[1], "cleared")) {
		check_cleared("step", PTRACE_SINGLESTEP, TRACE);
		check_cleared("step, ENTRY", PTRACE_SINGLESTEP, TRACE | ENTRY);
		check_cleared("step, KERNEL", PTRACE_SINGLESTEP, TRACE | KERNEL);
		check_cleared("block-step", PTRACE_SINGLEBLOCK, TRACE);
		check_cleared("block-step, ENTRY", PTRACE_SINGLEBLOCK, TRACE | ENTRY);
		check_cleared("block-step, KERNEL", PTRACE_SINGLEBLOCK, TRACE | KERNEL);
	} else if (argc == 2 && !strcmp(argv[1], "sampled")) {
		check_sampled();
	} else {
		give_up("silicon late|cleared|sampled");
	}
	return finish();
}
