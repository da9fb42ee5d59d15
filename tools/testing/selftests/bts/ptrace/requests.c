// SPDX-License-Identifier: GPL-2.0
/*
 * Test the requests, in the ABI for which this program is compiled. refusals.c tests
 * PTRACE_BTS_READ. The records must show the branches that the tracee is known to have taken.
 *
 *   requests [kernel|gap]	kernel, the default: with ENTRY, a trace must have X86_BTS_ENTER;
 *				gap: sets left_out
 */
#include <signal.h>
#include <sys/wait.h>

#include "../guest/tracee.h"

#define ROOM	2000
#define WORK	700

/*
 * If true, expect a kernel that takes more branches after each PMI than its BTS_DS_LONG_EXIT. Such
 * a kernel soon stops recording its own branches, also those for ENTRY, and reports a gap.
 */
static bool left_out;

static void nothing(unsigned long unused)
{
	(void)unused;
}

static void must(int ret, const char *what)
{
	errno = -ret;
	if (ret < 0)
		give_up("%s", what);
}

static void start(const struct tracee *t, uint32_t flags, unsigned int records)
{
	must(bts_config(t->pid, flags | ALLOC, RECORDS(records), 0), "PTRACE_BTS_CONFIG");
}

static void check_status(const struct tracee *t)
{
	struct ptrace_bts_status status;

	start(t, TRACE, ROOM);
	status = bts_status(t->pid);
	ok(status.size == RECORDS(ROOM) && status.flags == TRACE && !status.signal &&
	   status.bts_size == sizeof(struct x86_bts_record), "STATUS: as configured");
	ok(!status.held && !status.lost && !status.overwritten && !status.gaps &&
	   !status.not_inherited && !status.state, "STATUS: nothing yet");
	ok(status.source == bts_info().source && status.clock == PTRACE_BTS_CLOCK_SCHED,
	   "STATUS: source %u, clock %u", status.source, status.clock);
	ok(bts(PTRACE_BTS_SIZE, t->pid, NULL, 0) == 0, "SIZE: nothing yet");
}

static void check_ways(const struct tracee *t, uint32_t flags, const struct trace *got)
{
	bool enter = trace_count(got, X86_BTS_ENTER);

	if (left_out && flags & ENTRY)
		ok(!enter && bts_status(t->pid).gaps,
		   "flags %#x: the kernel is left out, and that is told", flags);
	else
		/*
		 * The hardware's filter of kernel branches may also drop returns to user mode. Then
		 * X86_BTS_LOST stands for X86_BTS_LEAVE, until the kernel notices that and stops
		 * using the filter for traces of root.
		 */
		ok(!!(flags & ENTRY) == enter &&
		   trace_count(got, X86_BTS_LEAVE) + trace_count(got, X86_BTS_LOST),
		   "flags %#x: ways into the kernel and back", flags);
}

static void check_known(const struct tracee *t, uint32_t flags)
{
	struct trace got = { };
	long leak;

	start(t, flags, ROOM);
	tracee_do(t, known_work, WORK);
	trace_drain(t->pid, &got, ROOM);
	ok(count_known_in_row(&got) == WORK - 1, "flags %#x: %u branches, each once and in order",
	   flags, WORK - 1);
	leak = trace_leak(&got);
	ok(leak < 0, "flags %#x: nothing of the kernel", flags);
	if (leak >= 0)
		trace_print(&got, leak);
	check_ways(t, flags, &got);
	ok((flags & SCHED ? 1 : 0) <= trace_count(&got, X86_BTS_TASK_ARRIVES) &&
	   trace_count(&got, X86_BTS_TASK_ARRIVES) == trace_count(&got, X86_BTS_TASK_DEPARTS),
	   "flags %#x: comes and goes", flags);
	trace_free(&got);
}

/* Read all records with GET, whose index 0 is the newest record. Then drain them in pieces. */
static void check_get_and_drain(const struct tracee *t)
{
	struct trace got = { }, drained = { };
	int nr, i;

	start(t, TRACE, ROOM);
	tracee_do(t, known_work, WORK);
	nr = bts(PTRACE_BTS_SIZE, t->pid, NULL, 0);
	ok(nr >= WORK && (unsigned int)nr == bts_status(t->pid).held, "SIZE: %d records", nr);
	got.rec = calloc(nr, sizeof(*got.rec));
	for (i = 0; i < nr; i++)
		must(bts(PTRACE_BTS_GET, t->pid, &got.rec[nr - 1 - i], i), "PTRACE_BTS_GET");
	ok(bts(PTRACE_BTS_GET, t->pid, &got.rec[0], nr) == -EINVAL, "GET: none beyond the oldest");
	ok(bts(PTRACE_BTS_SIZE, t->pid, NULL, 0) == nr, "GET: takes nothing out");
	trace_drain(t->pid, &drained, 97);
	ok(drained.nr == (size_t)nr && !memcmp(got.rec, drained.rec, RECORDS(nr)),
	   "DRAIN: the same as GET, in pieces");
	ok(bts(PTRACE_BTS_SIZE, t->pid, NULL, 0) == 0 &&
	   bts(PTRACE_BTS_GET, t->pid, &got.rec[0], 0) == -EINVAL, "DRAIN: took all out");
	trace_free(&got);
	trace_free(&drained);
}

static void check_full(const struct tracee *t)
{
	struct trace got = { };
	struct ptrace_bts_status status;

	start(t, TRACE, 10);
	tracee_do(t, known_work, WORK);
	status = bts_status(t->pid);
	trace_drain(t->pid, &got, 100);
	ok(got.nr == 10 && status.held == 10 && !status.lost && status.overwritten > WORK - 10,
	   "wrap: %zu records, %llu overwritten", got.nr, status.overwritten);
	trace_free(&got);

	start(t, TRACE | STOP_FULL, 100);
	tracee_do(t, known_work, WORK);
	status = bts_status(t->pid);
	ok(status.held >= 100 && status.held < WORK && status.lost &&
	   status.held + status.lost >= WORK && !status.overwritten,
	   "stop: %llu records, %llu lost", status.held, status.lost);
	trace_drain(t->pid, &got, 100);
	ok(trace_count(&got, X86_BTS_LOST) == 1 && got.rec[got.nr - 1].type == X86_BTS_LOST &&
	   got.rec[got.nr - 1].lost.count == status.lost, "stop: the loss is marked");
	trace_free(&got);
}

static void check_change(const struct tracee *t)
{
	struct ptrace_bts_status status;
	int nr;

	start(t, TRACE, ROOM);
	tracee_do(t, known_work, 10);
	nr = bts(PTRACE_BTS_SIZE, t->pid, NULL, 0);
	must(bts_config(t->pid, 0, 0, 0), "pause");
	tracee_do(t, known_work, WORK);
	ok(nr > 0 && bts(PTRACE_BTS_SIZE, t->pid, NULL, 0) == nr,
	   "paused: %d records as before", nr);
	must(bts_config(t->pid, TRACE | SCHED, 0, 0), "go on");
	tracee_do(t, known_work, WORK);
	status = bts_status(t->pid);
	ok(status.held >= nr + WORK - 1u && status.flags == (TRACE | SCHED) && !status.gaps &&
	   !status.lost, "went on: %llu records", status.held);
	ok(bts_config(t->pid, TRACE | STOP_FULL, 0, 0) == -EINVAL,
	   "STOP_FULL is not changed without ALLOC");
	ok(bts(PTRACE_BTS_CLEAR, t->pid, NULL, 0) == 0 &&
	   bts(PTRACE_BTS_SIZE, t->pid, NULL, 0) == 0, "CLEAR");
}

static void check_end(const struct tracee *t)
{
	struct ptrace_bts_status status;

	start(t, TRACE, ROOM);
	ok(bts_end(t->pid) == 0, "END ends the trace");
	ok(bts(PTRACE_BTS_SIZE, t->pid, NULL, 0) == -ENXIO &&
	   bts(PTRACE_BTS_STATUS, t->pid, &status, sizeof(status)) == -ENXIO &&
	   bts_config(t->pid, TRACE, 0, 0) == -ENXIO && bts_end(t->pid) == -ENXIO,
	   "then there is none");
	tracee_do(t, nothing, 0);
	start(t, TRACE, ROOM);
	kill(t->pid, SIGSTOP);
	ok(!ptrace(PTRACE_DETACH, t->pid, 0, 0) && !ptrace(PTRACE_ATTACH, t->pid, 0, 0) &&
	   waitpid(t->pid, NULL, 0) == t->pid, "detached and attached again");
	ok(bts(PTRACE_BTS_SIZE, t->pid, NULL, 0) == -ENXIO, "detaching ends the trace");
}

int main(int argc, char **argv)
{
	struct tracee t = tracee_new();

	left_out = argc > 1 && !strcmp(argv[1], "gap");
	ok(bts(PTRACE_BTS_SIZE, t.pid, NULL, 0) == -ENXIO, "no trace at first");
	check_status(&t);
	check_known(&t, TRACE);
	check_known(&t, TRACE | ENTRY | SCHED);
	check_get_and_drain(&t);
	check_full(&t);
	check_change(&t);
	check_end(&t);
	tracee_end(&t);
	return finish();
}
