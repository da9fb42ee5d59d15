// SPDX-License-Identifier: GPL-2.0
/*
 * Single-step, block-step or continue a traced tracee, in some variants with a watchpoint. The
 * tracee must stop at the same places as without the trace. A trace of the whole walk must have all
 * branches of the walk.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "../guest/tracee.h"
#include "../guest/walk.h"

#define ROOM		4096

FIXTURE(steps)
{
	struct stops plain;
};

FIXTURE_VARIANT(steps)
{
	int request;
	bool watchpoint;
	uint32_t flags;
};

/*
 * No variant has both single-step and the watchpoint: QEMU 7.2 would raise the #DB of the
 * watchpoint in the kernel.
 */
FIXTURE_VARIANT_ADD(steps, single)
{
	.request = PTRACE_SINGLESTEP,
	.flags = TRACE,
};

FIXTURE_VARIANT_ADD(steps, single_entry)
{
	.request = PTRACE_SINGLESTEP,
	.flags = TRACE | ENTRY | SCHED,
};

FIXTURE_VARIANT_ADD(steps, block)
{
	.request = PTRACE_SINGLEBLOCK,
	.flags = TRACE,
};

FIXTURE_VARIANT_ADD(steps, block_watch)
{
	.request = PTRACE_SINGLEBLOCK,
	.watchpoint = true,
	.flags = TRACE,
};

FIXTURE_VARIANT_ADD(steps, block_entry)
{
	.request = PTRACE_SINGLEBLOCK,
	.watchpoint = true,
	.flags = TRACE | ENTRY | SCHED,
};

FIXTURE_VARIANT_ADD(steps, kernel)
{
	.request = PTRACE_SINGLEBLOCK,
	.watchpoint = true,
	.flags = TRACE | KERNEL,
};

FIXTURE_VARIANT_ADD(steps, run_watch)
{
	.request = PTRACE_CONT,
	.watchpoint = true,
	.flags = TRACE,
};

/* Set a watchpoint on writes of the 4 bytes of walk_result, which the walk writes near its end. */
static void set_watchpoint(pid_t pid)
{
	const size_t reg = sizeof(((struct user *)0)->u_debugreg[0]);
	size_t dr = offsetof(struct user, u_debugreg);

	if (ptrace(PTRACE_POKEUSER, pid, dr, &walk_result) ||
	    ptrace(PTRACE_POKEUSER, pid, dr + 7 * reg, 1ul | 0xdul << 16))
		give_up("watchpoint");
}

static bool same_stops(const struct stops *a, const struct stops *b)
{
	return a->n == b->n && !memcmp(a->ip, b->ip, a->n * sizeof(a->ip[0]));
}

FIXTURE_SETUP(steps)
{
	pid_t pid;

	/*
	 * Without the Debug Store, the kernel single-steps the tracee for the trace, whichever
	 * request the tracer uses. QEMU 7.2 cannot single-step an instruction that hits a
	 * watchpoint, so skip the variants with the watchpoint on all machines.
	 */
	if (variant->watchpoint && !bts_hardware())
		SKIP(return, "QEMU 7.2 cannot step into a watchpoint");
	pid = start_walk();
	if (variant->watchpoint)
		set_watchpoint(pid);
	step_through(pid, variant->request, &self->plain);
	EXPECT_TRUE(finish_walk(pid));
}

FIXTURE_TEARDOWN(steps)
{
}

/* Returns the number of branches in user mode, or -1u if one does not match walk_targets. */
static unsigned int follow(const struct trace *t)
{
	unsigned int want = 0;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		const struct x86_bts_record *rec = t->rec + i;

		if (rec->type != X86_BTS_BRANCH || rec->branch.to >= USER_END ||
		    rec->branch.from >= USER_END)
			continue;
		if (rec->branch.to != walk_targets[want]) {
			printf("# branch %u goes to %#llx\n", want, rec->branch.to);
			return -1u;
		}
		want++;
	}
	return want;
}

TEST_F(steps, as_without_a_trace)
{
	struct trace got = { };
	struct stops stops;
	pid_t pid;

	if (variant->flags & KERNEL && !bts_hardware())
		SKIP(return, "the trap flag does not record the kernel");
	pid = start_walk();
	ASSERT_EQ(0, bts_config(pid, variant->flags | ALLOC,
				RECORDS(variant->flags & KERNEL ? 2000000 : ROOM), 0));
	if (variant->watchpoint)
		set_watchpoint(pid);
	step_through(pid, variant->request, &stops);
	EXPECT_TRUE(same_stops(&stops, &self->plain))
		TH_LOG("%u stops, %u without the trace", stops.n, self->plain.n);
	EXPECT_EQ(0, bts_status(pid).lost + bts_status(pid).gaps + bts_status(pid).overwritten);
	trace_drain(pid, &got, 100000);
	EXPECT_EQ(nr_branches(), follow(&got));
	if (!(variant->flags & KERNEL)) {
		/* The tracee returned to user mode after the first INT3 and each of @stops. */
		EXPECT_LE(stops.n + 1, trace_count(&got, X86_BTS_LEAVE));
		EXPECT_EQ(-1, trace_leak(&got));
	}
	if (variant->flags & ENTRY)
		EXPECT_LE(stops.n, trace_count(&got, X86_BTS_ENTER));
	EXPECT_TRUE(finish_walk(pid));
	trace_free(&got);
}

/* Begin and end a trace between steps. The stops must be the same as without the trace. */
static void step_across(struct __test_metadata *_metadata, int request)
{
	struct stops plain, rest;
	pid_t pid = start_walk();
	unsigned int i;

	step_through(pid, request, &plain);
	EXPECT_TRUE(finish_walk(pid));
	pid = start_walk();
	for (i = 0; i < 6; i++) {
		if (i == 2)
			ASSERT_EQ(0, bts_config(pid, TRACE | ALLOC, RECORDS(ROOM), 0));
		if (i == 4)
			ASSERT_EQ(0, bts_end(pid));
		ASSERT_EQ(0, ptrace(request, pid, 0, 0));
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		EXPECT_EQ(plain.ip[i], tracee_ip(pid));
	}
	step_through(pid, request, &rest);
	EXPECT_EQ(plain.n, rest.n + 6);
	EXPECT_EQ(0, memcmp(plain.ip + 6, rest.ip, rest.n * sizeof(rest.ip[0])));
	EXPECT_TRUE(finish_walk(pid));
}

TEST(trace_comes_and_goes)
{
	step_across(_metadata, PTRACE_SINGLESTEP);
	step_across(_metadata, PTRACE_SINGLEBLOCK);
}

TEST_HARNESS_MAIN
