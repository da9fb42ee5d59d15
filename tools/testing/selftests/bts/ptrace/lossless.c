// SPDX-License-Identifier: GPL-2.0
/*
 * Record all branches of a program whose branches are known, with a small ring: the tracee stops
 * whenever the ring is full, and the tracer drains the ring. No branch may be missing.
 *
 *   lossless RECORDS BYTES [SIGNAL [sampled [CYCLES] | suspended | late | poor]]
 *
 * Run until the program has taken at least RECORDS branches, with a ring of BYTES. The tracee stops
 * by SIGNAL, or by PTRACE_EVENT_BTS if SIGNAL is 0 or absent. With `sampled`, perf samples all CPUs
 * every CYCLES cycles (1,000,000 by default). With `suspended`, the machine suspends to RAM
 * SUSPENDS times meanwhile. With `late`, the PMI of the processor comes so late that branches are
 * lost: each loss must have a mark, and all other branches must be there. With `poor`, the tracer
 * has no CAP_PERFMON, and the processor tests the level before the branch. So the filter by CPL
 * drops returns to user mode: there must be marks, but no known branch may be missing.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/wait.h>

#include "../guest/known.h"
#include "../guest/system.h"
#include "../guest/tracee.h"

#define SEED	20260
#define BLOCKS	500
#define PASSES	150
#define SUSPENDS	3

static size_t stops, early, late;

static void one_round(unsigned long round)
{
	known_run(SEED + round, PASSES);
}

static bool is_overflow(pid_t pid, int status, int signal)
{
	siginfo_t info;

	if (!signal)
		return stopped_by(status, SIGTRAP | PTRACE_EVENT_BTS << 8);
	if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info))
		give_up("PTRACE_GETSIGINFO");
	return info.si_signo == signal && info.si_code == SI_KERNEL && info.si_errno == ENOBUFS;
}

/*
 * Returns whether the tracee stopped because its ring is full. Counts these stops. @early counts
 * those where the ring was not full, @late those with more records than the ring has room for:
 * its size, and a reserve of 320 for branches before the stop.
 */
static bool stopped_full(pid_t pid, int status, int signal, unsigned int room)
{
	__u64 held;

	if (!is_overflow(pid, status, signal))
		return false;
	held = bts_status(pid).held;
	stops++;
	early += held < room;
	late += held > room + 320;
	return true;
}

static void trace_round(const struct tracee *t, unsigned long round, int signal,
			unsigned int room, struct trace *got)
{
	int status;

	tracee_begin(t, one_round, round);
	do {
		status = tracee_continue(t->pid, 0);
		if (!WIFSTOPPED(status))
			give_up("the tracee has status %#x", status);
		status = stopped_full(t->pid, status, signal, room);
		trace_drain(t->pid, got, room);
	} while (status);
}

/*
 * The hardware filter of kernel branches may also drop returns to user mode. The kernel notices
 * that in the first trace, which then has X86_BTS_LOST records. So make a trace before the test.
 */
static void warm_up(const struct tracee *t)
{
	if (bts_config(t->pid, TRACE | ALLOC, RECORDS(1000), 0))
		give_up("PTRACE_BTS_CONFIG");
	tracee_do(t, known_work, 10);
	tracee_do(t, known_work, 10);
}

/*
 * Append the known branches of @got from @*at on to @have, up to the next X86_BTS_LOST record or
 * the end. Set @*at to the record after that. Returns whether it was X86_BTS_LOST.
 */
static bool take_to_mark(const struct trace *got, size_t *at, struct recs *have)
{
	while (*at < got->nr) {
		const struct x86_bts_record *rec = &got->rec[(*at)++];

		if (rec->type == X86_BTS_LOST)
			return true;
		if (rec->type == X86_BTS_BRANCH && known_branch(rec->branch.from, rec->branch.to))
			recs_add(have, rec->branch.from, rec->branch.to);
	}
	return false;
}

static bool same(const struct trace *got, const struct recs *want)
{
	struct recs have = { };
	size_t at = 0;
	bool good;

	good = !take_to_mark(got, &at, &have) && same_records(&have, want);
	recs_free(&have);
	return good;
}

/*
 * Compare as same() does, but branches may be missing at each X86_BTS_LOST record. So the branches
 * between two of these records must be in @want, one after the other. If branches follow the last
 * of these records, they must be the last ones of @want. Adds the number of branches to @found.
 */
static bool same_but_marked(const struct trace *got, const struct recs *want, size_t *found)
{
	size_t at = 0, first = 0;
	bool marked = false, more = true, good = true;

	while (more && good) {
		struct recs have = { };
		size_t size;

		more = take_to_mark(got, &at, &have);
		size = have.nr * sizeof(*have.rec);
		*found += have.nr;
		if (!more && marked && have.nr && have.nr <= want->nr)
			first = first + have.nr < want->nr ? want->nr - have.nr : first;
		while (more && marked && first + have.nr <= want->nr &&
		       memcmp(want->rec + first, have.rec, size))
			first++;
		good = first + have.nr <= want->nr &&
		       !memcmp(want->rec + first, have.rec, size);
		if (!good)
			printf("# %zu branches are not the generator's\n", have.nr);
		first += have.nr;
		if (!more && (have.nr || !marked))
			good &= first == want->nr;
		recs_free(&have);
		marked = true;
	}
	return good;
}

static pid_t suspend_often(void)
{
	pid_t pid = fork();
	int i, done = 0;

	if (pid)
		return pid;
	for (i = 0; i < SUSPENDS; i++) {
		usleep(100000);
		wake_later();
		done += !try_text("/sys/power/state", "mem");
	}
	_exit(done);
}

/* Returns whether the process of suspend_often() still runs. When it ends, report its result. */
static bool suspends(pid_t pid)
{
	int status;

	if (!pid || waitpid(pid, &status, WNOHANG) != pid)
		return pid;
	ok(WEXITSTATUS(status) == SUSPENDS, "%d times suspended", WEXITSTATUS(status));
	return false;
}

static void check_losses(pid_t pid, bool lossy)
{
	struct ptrace_bts_status status = bts_status(pid);

	if (lossy)
		ok((status.lost || status.gaps) && !status.overwritten,
		   "%llu lost and %u gaps, all marked", (unsigned long long)status.lost,
		   status.gaps);
	else
		ok(!status.lost && !status.gaps && !status.overwritten, "nothing lost");
}

/*
 * Call count_samples() before the test, and check_samples() after it. In the emulator, a cycle is a
 * nanosecond. The tracee executes on CPU 0 only.
 */
static long samples_before;
static uint64_t ns_before;

static void count_samples(pid_t pid)
{
	samples_before = interrupts_of_cpu("PMI", 0);
	ns_before = executed_ns(pid);
}

static void check_samples(pid_t pid, unsigned long cycles)
{
	long samples = interrupts_of_cpu("PMI", 0) - samples_before;
	uint64_t ns = executed_ns(pid) - ns_before;

	ok(enough_samples(samples, ns, cycles), "%ld samples in %llu ns", samples,
	   (unsigned long long)ns);
}

int main(int argc, char **argv)
{
	size_t records = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000, known = 0;
	unsigned int bytes = argc > 2 ? strtoul(argv[2], NULL, 0) : 65536;
	int signal = argc > 3 ? atoi(argv[3]) : 0;
	bool sampled = argc > 4 && !strcmp(argv[4], "sampled");
	unsigned long cycles = argc > 5 ? strtoul(argv[5], NULL, 0) : 1000000;
	unsigned int room = bytes / sizeof(struct x86_bts_record);
	bool poor = argc > 4 && !strcmp(argv[4], "poor");
	bool lossy = poor || (argc > 4 && !strcmp(argv[4], "late"));
	bool whole = poor || !lossy;
	size_t wrong = 0, found = 0;
	unsigned long round;
	pid_t suspender = 0;
	struct tracee t;

	if (poor)
		drop_perfmon();
	if (sampled) {
		sample_all(PERF_COUNT_HW_CPU_CYCLES, cycles);
		pin_to(0);
	}
	known_program(SEED, BLOCKS);
	t = tracee_new();
	if (sampled)
		pin_to(1);
	warm_up(&t);
	count_samples(t.pid);
	if (bts_config(t.pid, TRACE | ALLOC | STOP_FULL | SIGNAL, bytes, signal))
		give_up("PTRACE_BTS_CONFIG");
	if (argc > 4 && !strcmp(argv[4], "suspended"))
		suspender = suspend_often();
	for (round = 0; (known < records || suspender) && !wrong; round++) {
		struct trace got = { };
		struct recs want = { };

		trace_round(&t, round, signal, room, &got);
		known_want(SEED + round, PASSES, &want);
		wrong += !(lossy ? same_but_marked(&got, &want, &found) : same(&got, &want)) ||
			 trace_leak(&got) >= 0;
		known += want.nr;
		recs_free(&want);
		trace_free(&got);
		if (!suspends(suspender))
			suspender = 0;
	}
	ok(!wrong, "%zu branches through %u bytes in %lu rounds equal the generator's",
	   known, bytes, round);
	check_losses(t.pid, lossy);
	if (!lossy)
		found = known;
	ok(whole ? found == known : found > known / 10, "%zu of them are there", found);
	ok(stops && (!whole || stops >= known / (room + 320)), "%zu stops, signal %d", stops,
	   signal);
	ok(!early && !late, "%zu before it was full, %zu beyond its reserve", early, late);
	if (sampled)
		check_samples(t.pid, cycles);
	tracee_end(&t);
	return finish();
}
