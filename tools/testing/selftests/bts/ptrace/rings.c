// SPDX-License-Identifier: GPL-2.0
/*
 * Run a tracee whose branches are known (chain()), and check the records in its ring: of a ring
 * that wraps, of a ring that stops when full (STOP_FULL), and of a ring that is exactly full.
 * Check PTRACE_BTS_GET, PTRACE_BTS_DRAIN and PTRACE_BTS_CLEAR, and the stop and the signal when a
 * ring is full.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "../guest/system.h"
#include "tracing.h"

#define ROOM	40000
/* The number of times to try a test that succeeds only if no interrupt comes */
#define TRIES	50
/* With STOP_FULL, a ring has room for this many more records: BTS_RING_SKID of the kernel */
#define SKID	320

static struct x86_bts_record records[ROOM];

FIXTURE(ring)
{
	pid_t pid;
};

FIXTURE_SETUP(ring)
{
	self->pid = start_chain();
}

FIXTURE_TEARDOWN(ring)
{
	end_chain(self->pid);
}

/* Returns whether the records are a return to user mode, and then all of run_chain(@passes). */
static bool is_whole_run(const struct x86_bts_record *rec, size_t nr, unsigned int passes)
{
	return nr && rec->type == X86_BTS_LEAVE && !rec->branch.from &&
	       rec->branch.to == (uintptr_t)chain_top && is_chain(rec, nr, passes, true);
}

TEST_F(ring, whole)
{
	struct ptrace_bts_status status;
	size_t nr;

	must_trace(self->pid, TRACE, ROOM, 0);
	run_chain(self->pid, 1000);
	status = bts_status(self->pid);
	nr = must_drain(self->pid, records, ROOM);
	EXPECT_EQ(nr, status.held);
	EXPECT_EQ(0, status.lost + status.overwritten + status.gaps);
	EXPECT_TRUE(is_whole_run(records, nr, 1000));
	EXPECT_EQ(0, must_drain(self->pid, records, ROOM));
}

/* GET counts from the newest record, DRAIN begins with the oldest: the records are the same. */
TEST_F(ring, get_against_drain)
{
	static struct x86_bts_record got[ROOM];
	unsigned int room, i;
	size_t nr;

	for (room = 1; room < 200; room += 33) {
		must_trace(self->pid, TRACE, room, 0);
		run_chain(self->pid, 4);
		nr = bts(PTRACE_BTS_SIZE, self->pid, NULL, 0);
		for (i = 0; i < nr; i++)
			ASSERT_EQ(0, bts(PTRACE_BTS_GET, self->pid, got + nr - 1 - i, i));
		ASSERT_EQ(nr, must_drain(self->pid, records, ROOM));
		EXPECT_EQ(0, memcmp(records, got, RECORDS(nr))) TH_LOG("ring of %u", room);
	}
}

/*
 * When the ring has wrapped, it holds the newest records, and the oldest of these may be anywhere
 * in the ring's memory. Draining in pieces must keep the order of the records.
 */
TEST_F(ring, wrap)
{
	static const unsigned int rooms[] = { 1, 2, 31, 32, 33, 64, 100, 127, 128, 1000, };
	struct ptrace_bts_status status;
	unsigned int i, piece;
	size_t nr;

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		for (piece = 1; piece < 200; piece *= 5) {
			must_trace(self->pid, TRACE, rooms[i], 0);
			run_chain(self->pid, 40);
			status = bts_status(self->pid);
			EXPECT_EQ(rooms[i], status.held);
			EXPECT_LE(40 * CHAIN_LENGTH + 1, status.held + status.overwritten);
			EXPECT_GT(45 * CHAIN_LENGTH, status.held + status.overwritten);
			EXPECT_EQ(0, status.lost + status.gaps);
			nr = 0;
			while (bts(PTRACE_BTS_SIZE, self->pid, NULL, 0) > 0)
				nr += must_drain(self->pid, records + nr, piece);
			EXPECT_EQ(rooms[i], nr);
			EXPECT_TRUE(is_chain(records, nr, 40, false))
				TH_LOG("ring of %u in pieces of %u", rooms[i], piece);
		}
	}
}

/* The ring wraps again and again. Each drain must return the newest records, in order. */
TEST_F(ring, wrap_again_and_again)
{
	unsigned int i;
	size_t nr, at;

	must_trace(self->pid, TRACE, 50, 0);
	for (i = 0; i < 50; i++) {
		run_chain(self->pid, 1);
		ASSERT_LE(CHAIN_LENGTH, bts(PTRACE_BTS_SIZE, self->pid, NULL, 0));
		if (!(i & 1))
			continue;
		nr = must_drain(self->pid, records, ROOM);
		ASSERT_EQ(50, nr);
		/* The ring has the end of the first run, and then all of the second run. */
		for (at = nr; at && !is_whole_run(records + at, nr - at, 1); at--)
			;
		ASSERT_LT(0, at);
		ASSERT_TRUE(is_chain(records, at, 1, false));
	}
}

/* A ring that is full to the last record has lost nothing, whether it wraps or stops. */
TEST_F(ring, exactly_full)
{
	struct ptrace_bts_status status;
	unsigned int flags, try;
	size_t nr;

	for (flags = TRACE; flags <= (TRACE | STOP_FULL); flags += STOP_FULL) {
		for (try = 0; try < TRIES; try++) {
			must_trace(self->pid, flags, CHAIN_LENGTH + 1, 0);
			run_chain(self->pid, 1);
			status = bts_status(self->pid);
			nr = must_drain(self->pid, records, ROOM);
			if (nr == CHAIN_LENGTH + 1 && !status.overwritten && !status.lost)
				break;
		}
		EXPECT_GT(TRIES, try);
		EXPECT_TRUE(is_whole_run(records, nr, 1));
	}
}

/* A ring that stops keeps the oldest records. X86_BTS_LOST counts later ones. */
TEST_F(ring, stop)
{
	static const unsigned int rooms[] = { 1, 2, 33, 100, 2000, };
	struct ptrace_bts_status status;
	unsigned int i, k;
	size_t nr;

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		must_trace(self->pid, TRACE | STOP_FULL, rooms[i], 0);
		run_chain(self->pid, 100);
		status = bts_status(self->pid);
		EXPECT_LE(rooms[i], status.held);
		EXPECT_GE(rooms[i] + SKID, status.held);
		EXPECT_LE(100 * CHAIN_LENGTH + 1, status.held + status.lost);
		EXPECT_EQ(0, status.overwritten + status.gaps);
		nr = must_drain(self->pid, records, ROOM);
		/* As a drain makes room, the kernel adds X86_BTS_LOST. This drain may return it. */
		EXPECT_LE(status.held, nr);
		for (k = 0; k < nr && records[k].type != X86_BTS_LOST; k++)
			;
		EXPECT_EQ(status.held, k);
		nr += must_drain(self->pid, records + nr, ROOM - nr);
		ASSERT_EQ(k + 1, nr);
		EXPECT_EQ(status.lost, records[k].lost.count);
		EXPECT_EQ((uintptr_t)chain_top, records[0].branch.to);
		/* Recording goes on after the drain. */
		run_chain(self->pid, 1);
		if (rooms[i] > 2 * CHAIN_LENGTH) {
			nr = must_drain(self->pid, records, ROOM);
			EXPECT_TRUE(is_whole_run(records, nr, 1));
		}
		EXPECT_EQ(status.lost, bts_status(self->pid).lost);
	}
}

TEST_F(ring, clear)
{
	struct ptrace_bts_status before, after;
	size_t nr;

	must_trace(self->pid, TRACE, 10, 0);
	run_chain(self->pid, 1);
	before = bts_status(self->pid);
	EXPECT_EQ(0, bts(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
	after = bts_status(self->pid);
	EXPECT_EQ(0, after.held);
	EXPECT_LT(0, before.overwritten);
	EXPECT_EQ(before.overwritten, after.overwritten);
	run_chain(self->pid, 1);
	nr = must_drain(self->pid, records, ROOM);
	EXPECT_EQ(10, nr);
	EXPECT_TRUE(is_chain(records, nr, 1, false));
}

TEST_F(ring, every_word_is_set)
{
	size_t nr, i;

	memset(records, 0xa5, sizeof(records));
	must_trace(self->pid, TRACE | ENTRY | SCHED, 1000, 0);
	run_chain(self->pid, 5);
	nr = must_drain(self->pid, records, ROOM);
	for (i = 0; i < nr; i++) {
		const struct x86_bts_record *rec = records + i;

		switch (rec->type) {
		case X86_BTS_ENTER:
			EXPECT_EQ(0, rec->branch.to);
			EXPECT_GT(USER_END, rec->branch.from);
			break;
		case X86_BTS_LEAVE:
			EXPECT_EQ(0, rec->branch.from);
			EXPECT_GT(USER_END, rec->branch.to);
			break;
		case X86_BTS_TASK_ARRIVES:
		case X86_BTS_TASK_DEPARTS:
			EXPECT_EQ(self->pid, rec->event.pid);
			EXPECT_GT(sysconf(_SC_NPROCESSORS_CONF), rec->event.cpu);
			EXPECT_LT(0, rec->event.clock);
			break;
		default:
			EXPECT_EQ(X86_BTS_BRANCH, rec->type);
			EXPECT_GT(USER_END, rec->branch.from | rec->branch.to);
		}
	}
}

/*
 * Returns whether @status is a stop at a full ring. If @signal is 0, this is a stop by
 * PTRACE_EVENT_BTS, otherwise by @signal.
 */
static bool is_full_stop(pid_t pid, int status, int signal)
{
	unsigned long msg = 1;
	siginfo_t info;

	if (!stopped_by(status, signal ?: SIGTRAP | PTRACE_EVENT_BTS << 8))
		return false;
	if (!signal)
		return !ptrace(PTRACE_GETEVENTMSG, pid, NULL, &msg) && !msg;
	return !ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) &&
	       info.si_code == SI_KERNEL && info.si_errno == ENOBUFS;
}

/*
 * Run @passes with a ring of @room records, and drain the ring at each stop. Stores in *@stops how
 * often the tracee stopped because the ring was full. Returns the number of records.
 */
static size_t run_with_signal(pid_t pid, unsigned int room, int signal, unsigned int passes,
			      unsigned int *stops)
{
	size_t nr = 0;
	int status;

	must_trace(pid, TRACE | STOP_FULL | SIGNAL, room, signal);
	if (ptrace(PTRACE_POKEDATA, pid, &chain_passes, (long)passes))
		give_up("PTRACE_POKEDATA");
	for (*stops = 0; ; ++*stops) {
		status = tracee_continue(pid, 0);
		if (WIFSTOPPED(status))
			nr += must_drain(pid, records + nr, ROOM - nr);
		if (is_full_stop(pid, status, signal))
			continue;
		if (!stopped_by(status, SIGTRAP))
			give_up("status %#x", status);
		return nr;
	}
}

/* The tracee must stop at each full ring, early enough that no record is lost. */
TEST_F(ring, stop_when_full)
{
	static const int signals[] = {
		0, SIGUSR1, SIGSTOP, SIGTRAP, SIGURG, SIGHUP, SIGCONT, 64,
	};
	static const unsigned int rooms[] = { 1, 2, 33, 1000, 5000, };
	struct ptrace_bts_status status;
	unsigned int i, k, stops;
	size_t nr;

	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		for (k = 0; k < ARRAY_SIZE(rooms); k++) {
			unsigned int passes = rooms[k] < 10 ? 10 : 500;

			nr = run_with_signal(self->pid, rooms[k], signals[i], passes, &stops);
			status = bts_status(self->pid);
			EXPECT_TRUE(is_whole_run(records, nr, passes))
				TH_LOG("ring of %u, signal %d", rooms[k], signals[i]);
			EXPECT_EQ(0, status.lost + status.overwritten + status.gaps);
			EXPECT_LE(passes * CHAIN_LENGTH / (rooms[k] + SKID), stops)
				TH_LOG("ring of %u, signal %d", rooms[k], signals[i]);
		}
	}
}

#define EVENTS		"/sys/kernel/tracing/"

static unsigned long offset_in_file(const void *what)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;

	while (f && fscanf(f, "%lx-%lx %*s %lx%*[^\n]", &start, &end, &offset) == 3) {
		if ((uintptr_t)what - start < end - start) {
			fclose(f);
			return (uintptr_t)what - start + offset;
		}
	}
	give_up("/proc/self/maps");
}

static int put_uprobe(const void *where)
{
	char program[100] = "", text[200];
	int err;

	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		give_up("/proc/self/exe");
	snprintf(text, sizeof(text), "p:bts/here %s:%#lx", program, offset_in_file(where));
	err = try_text(EVENTS "uprobe_events", text);
	return err ?: try_text(EVENTS "events/bts/here/enable", "1");
}

static int take_uprobe(void)
{
	return try_text(EVENTS "events/bts/here/enable", "0") ?:
	       try_text(EVENTS "uprobe_events", "");
}

/*
 * The ring may get full while the kernel single-steps a probed instruction, where the tracee
 * cannot stop. The tracee must stop before any record is lost.
 */
TEST_F(ring, stop_beside_uprobe)
{
	struct ptrace_bts_status status;
	unsigned int room, stops;
	int err = put_uprobe(chain_count);

	/* If there is no file uprobe_events (-ENOENT), test small rings without a uprobe. */
	ASSERT_TRUE(!err || err == -ENOENT) TH_LOG("%d", err);
	for (room = 1; room < 5; room++) {
		run_with_signal(self->pid, room, 0, 50, &stops);
		status = bts_status(self->pid);
		EXPECT_EQ(0, status.lost + status.overwritten + status.gaps)
			TH_LOG("ring of %u", room);
	}
	EXPECT_EQ(err, take_uprobe());
}

TEST_F(ring, signal_that_kills)
{
	int status;

	must_trace(self->pid, TRACE | STOP_FULL | SIGNAL, 100, SIGKILL);
	ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, self->pid, &chain_passes, -1l));
	status = tracee_continue(self->pid, 0);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
	self->pid = start_chain();
}

/* If nobody drains the ring, the signal is sent only once. */
TEST_F(ring, signal_once)
{
	int status;

	must_trace(self->pid, TRACE | STOP_FULL | SIGNAL, 100, SIGUSR1);
	ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, self->pid, &chain_passes, 1000l));
	status = tracee_continue(self->pid, 0);
	ASSERT_TRUE(stopped_by(status, SIGUSR1));
	EXPECT_LE(100, bts_status(self->pid).held);
	EXPECT_EQ(0, bts_status(self->pid).lost);
	status = tracee_continue(self->pid, 0);
	EXPECT_TRUE(stopped_by(status, SIGTRAP)) TH_LOG("status %#x", status);
	EXPECT_LT(0, bts_status(self->pid).lost);
	/* After a drain, the signal is sent when the ring is full again. */
	must_drain(self->pid, records, ROOM);
	ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, self->pid, &chain_passes, 1000l));
	status = tracee_continue(self->pid, 0);
	EXPECT_TRUE(stopped_by(status, SIGUSR1)) TH_LOG("status %#x", status);
}

TEST_F(ring, signal_of_a_ring_that_wraps)
{
	int status;

	must_trace(self->pid, TRACE | SIGNAL, 100, SIGUSR1);
	ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, self->pid, &chain_passes, 100000l));
	status = tracee_continue(self->pid, 0);
	EXPECT_TRUE(stopped_by(status, SIGUSR1)) TH_LOG("status %#x", status);
	EXPECT_EQ(100, bts_status(self->pid).held);
}

static pid_t start_chain_that(bool ignores)
{
	struct sigaction old, ign = { .sa_handler = SIG_IGN };
	sigset_t set, mask;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (ignores)
		sigaction(SIGUSR1, &ign, &old);
	else
		sigprocmask(SIG_BLOCK, &set, &mask);
	pid = start_chain();
	if (ignores)
		sigaction(SIGUSR1, &old, NULL);
	else
		sigprocmask(SIG_SETMASK, &mask, NULL);
	return pid;
}

/*
 * If the tracee ignores the signal, the tracer must get the stop nevertheless. A tracee that blocks
 * the signal does not stop by it, and records are lost. PTRACE_EVENT_BTS stops such a tracee.
 */
TEST_F(ring, signal_ignored_or_blocked)
{
	struct ptrace_bts_status status;
	unsigned int stops;
	pid_t pid;
	size_t nr;

	pid = start_chain_that(true);
	nr = run_with_signal(pid, 100, SIGUSR1, 100, &stops);
	EXPECT_LT(0, stops);
	EXPECT_TRUE(is_whole_run(records, nr, 100));
	end_chain(pid);

	pid = start_chain_that(false);
	nr = run_with_signal(pid, 100, 0, 100, &stops);
	EXPECT_LT(0, stops);
	EXPECT_TRUE(is_whole_run(records, nr, 100));
	must_trace(pid, TRACE | STOP_FULL | SIGNAL, 100, SIGUSR1);
	run_chain(pid, 100);
	status = bts_status(pid);
	EXPECT_LT(0, status.lost);
	EXPECT_LE(100, status.held);
	end_chain(pid);
}

/* The kernel sends the signal of the latest configuration, and none if that has no SIGNAL. */
TEST_F(ring, signal_changed)
{
	int status;

	must_trace(self->pid, TRACE | STOP_FULL | SIGNAL, 100, SIGUSR1);
	ASSERT_EQ(0, bts_config(self->pid, TRACE | STOP_FULL | SIGNAL, 0, SIGUSR2));
	ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, self->pid, &chain_passes, 1000l));
	status = tracee_continue(self->pid, 0);
	EXPECT_TRUE(stopped_by(status, SIGUSR2)) TH_LOG("status %#x", status);
	EXPECT_EQ(0, bts(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
	ASSERT_EQ(0, bts_config(self->pid, TRACE | STOP_FULL, 0, 0));
	status = tracee_continue(self->pid, 0);
	EXPECT_TRUE(stopped_by(status, SIGTRAP)) TH_LOG("status %#x", status);
}

TEST_HARNESS_MAIN
