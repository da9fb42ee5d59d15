// SPDX-License-Identifier: GPL-2.0
/*
 * A task traces itself while it runs a program whose branches are known. Most traces of
 * user mode are compared with these branches.
 *
 *   itself MODULE [RECORDS [mixed|late|out [OWN]]]
 *	RECORDS: number of branches of generated programs
 *	mixed: meanwhile, the kernel is traced on all CPUs
 *	late: run only run_late(), on a processor whose PMI comes after the buffer is full
 *	out: after learn_rule(), run only run_ways_out(): after each PMI, the kernel takes about a
 *	given number of branches. OWN of these (default: 0) it takes anyway, and the others in the
 *	NMI handler lab_nmi()
 */
#include "../guest/guest.h"
#include "../guest/system.h"
#include "common.h"

#define BLOCKS	500

static struct program *program;
static struct recs want;
static u64 seed;
static unsigned int passes;
static bool filter_drops_returns;	/* to user mode: see learn_rule() */
static u32 own_branches;		/* see OWN */

/* Make a program, set @passes for @nr branches and at most one pass more, list them in @want. */
static void prepare(u64 new_seed, size_t nr)
{
	struct recs one = { };

	if (program)
		program_free(program);
	program = program_new(new_seed, BLOCKS);
	if (!program)
		give_up("no program");
	seed = ~new_seed;
	program_replay(program, seed, 1, &one);
	passes = nr / one.nr + 1;
	recs_free(&one);
	recs_free(&want);
	program_replay(program, seed, passes, &want);
}

static void run(int fd, struct records *got)
{
	memset(got, 0, sizeof(*got));
	program_run(program, fd, seed, passes);
	lab_read(fd, got);
}

/*
 * Check that @got has the expected branches, without the first @skip. If @skip is 0, the
 * newest branches may be missing.
 */
static bool same_part(const struct records *got, size_t skip)
{
	struct recs have = { };
	struct recs part = { .rec = want.rec + skip, .nr = want.nr - skip };
	bool good;

	user_branches(got, &have);
	if (have.nr < part.nr && skip == 0)
		part.nr = have.nr;
	good = same_records(&have, &part);
	recs_free(&have);
	return good;
}

static bool same_branches(const struct records *got)
{
	struct recs have = { };
	bool good;

	user_branches(got, &have);
	good = same_records(&have, &want);
	recs_free(&have);
	return good;
}

static bool same_all(const struct records *got)
{
	return same_branches(got) && !count_of(got, Q_LOST);
}

static bool no_leak(const struct records *got)
{
	ssize_t at = find_leak(got);

	if (at >= 0)
		print_around(got, at);
	return at < 0;
}

static void run_sequence(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, 4096);
	const struct rec *rec = sequence_records;
	struct records got = { };

	recs_free(&want);
	recs_add(&want, (u64)traced_call_site, (u64)sequence);
	for (; rec != sequence_records_end; rec++)
		recs_add(&want, rec->from, rec->to);
	ok(!traced_call(fd, sequence, NULL), "trace of a known sequence");
	lab_read(fd, &got);
	ok(same_all(&got) && no_leak(&got), "every record of it");
	/* returns from LAB_START, from getpid(), and from interrupts */
	ok(count_of(&got, Q_LEAVE) >= 2 && count_of(&got, Q_LEAVE) < 1000,
	   "%zu ways back from the kernel", count_of(&got, Q_LEAVE));
	/* After the system call, two MOVs of 3 bytes precede the call. */
	if (!ok(got.nr && got.rec[0].type == Q_LEAVE &&
		got.rec[0].to + 6 == (u64)traced_call_site,
		"the first is that of the system call that began it"))
		print_around(&got, 0);
	records_free(&got);
	close(fd);
}

static void run_generated(size_t goal)
{
	size_t done = 0;
	bool good = true;
	u64 s;

	for (s = 1; done < goal && good; s++) {
		int fd = lab_open(LAB_SELF, 0, LAB_USER, 60000);
		struct records got;

		prepare(s, 30000);
		run(fd, &got);
		good = same_all(&got) && no_leak(&got);
		done += want.nr;
		records_free(&got);
		close(fd);
	}
	ok(good, "%zu generated branches", done);
}

/*
 * Check that @got, from the record @i on, begins with an exit from the kernel (Q_LEAVE), ends with
 * an entry (Q_ENTER), and that exits and entries alternate. Other records must be between an exit
 * and the next entry. If no record is left, return true.
 */
static bool turns(const struct records *got, size_t i)
{
	bool away = true;

	for (; i < got->nr; i++) {
		u64 q = got->rec[i].type;

		if (away != (q == Q_LEAVE)) {
			print_around(got, i);
			return false;
		}
		away = q == Q_ENTER;
	}
	return away;
}

static void run_entries(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER | LAB_ENTRY, 60000);
	struct records got;

	prepare(77, 20000);
	run(fd, &got);
	ok(same_all(&got) && no_leak(&got), "with entries: same branches");
	ok(turns(&got, 0), "with entries: in and out take turns, %zu times",
	   count_of(&got, Q_ENTER));
	records_free(&got);
	close(fd);
}

static void run_wrap(u32 nr)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, nr);
	struct records got;
	size_t branches;

	prepare(5, 20000);
	run(fd, &got);
	branches = got.nr - count_of(&got, Q_LEAVE);
	ok(got.nr == nr && !count_of(&got, Q_LOST) && same_part(&got, want.nr - branches),
	   "ring of %u: the newest, %zu", nr, got.nr);
	records_free(&got);
	close(fd);
}

static void run_stop(u32 nr)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER | LAB_STOP, nr);
	struct records got;
	size_t branches;
	u64 lost;

	prepare(6, 20000);
	run(fd, &got);
	branches = count_of(&got, Q_BRANCH);
	lost = got.nr && got.rec[got.nr - 1].type == Q_LOST ? got.rec[got.nr - 1].count : 0;
	ok(branches >= nr / 2 && same_part(&got, 0), "ring of %u that stops: the oldest, %zu",
	   nr, got.nr);
	/* the lost records include returns from the kernel */
	ok(count_of(&got, Q_LOST) == 1 && lost >= want.nr - branches &&
	   lost < want.nr - branches + 1000,
	   "ring of %u that stops: the mark at its end, of %llu", nr, (unsigned long long)lost);
	records_free(&got);
	close(fd);
}

static void run_saved(u32 nr, u32 flags)
{
	struct lab_config config = {
		.target = LAB_SELF,
		.flags = LAB_USER | LAB_STOP | flags,
		.nr = nr,
		.overflow = LAB_SAVE,
		/* also has room for the entries and exits of each timer tick */
		.room = kernel_records(100000),
	};
	int fd = lab_open(LAB_SELF, 0, LAB_USER, nr);
	struct records got;
	bool good;

	lab_config(fd, &config);
	prepare(7, nr < 8 ? 1000 : 20000);
	run(fd, &got);
	good = same_all(&got) && no_leak(&got);
	ok(good && lab_status(fd).calls, "all of it through a ring of %u, %u calls", nr,
	   lab_status(fd).calls);
	records_free(&got);
	close(fd);
}

/* Returns the number of records up to the last Q_LOST, or 0 if there is none. */
static size_t up_to_last_mark(const struct records *got)
{
	size_t nr = got->nr;

	while (nr && got->rec[nr - 1].type != Q_LOST)
		nr--;
	return nr;
}

/* Returns the index of the first branch of the program in @got, or the number of records. */
static size_t find_start(const struct records *got)
{
	size_t at;

	for (at = 0; at < got->nr; at++) {
		if (got->rec[at].from == want.rec[0].from && got->rec[at].to == want.rec[0].to)
			break;
	}
	return at;
}

/*
 * Advance @at to the next branch of user mode in @got. Returns how many records of @type are
 * passed, plus the counts of each Q_LOST, which is 0 for a gap.
 */
static size_t next_branch(const struct records *got, size_t *at, u64 type)
{
	size_t nr = 0;

	while (++*at < got->nr && got->rec[*at].type != Q_BRANCH) {
		nr += got->rec[*at].type == type;
		if (got->rec[*at].type == Q_LOST)
			nr += got->rec[*at].count;
	}
	return nr;
}

/*
 * Two traces of the same branches: @entries with entries and exits, @user of user mode alone. Check
 * that @user has an exit, or the mark of a lost one, for each entry between two branches. At least
 * one entry is required.
 */
static bool exits_counted(const struct records *entries, const struct records *user)
{
	size_t i = find_start(entries), j = find_start(user), nr = 0;

	while (i < entries->nr) {
		size_t in = next_branch(entries, &i, Q_ENTER);

		if (i >= entries->nr)
			break;
		nr += in;
		if (next_branch(user, &j, Q_LEAVE) < in) {
			print_around(user, j);
			return false;
		}
	}
	return nr > 0;
}

/*
 * When the PMI handler has emptied the buffer, recording goes on, and the kernel takes about
 * @branches branches, or own_branches if that is more, before the interrupted code continues. If it
 * takes more than BTS_DS_LONG_EXIT after each of several PMIs, the kernel stops recording its own
 * branches, until recording on the CPU is paused. Branches that do not fit into the buffer are
 * lost.
 * @stops: use LAB_STOP and LAB_SAVE: before the task returns to user mode, a full ring is read,
 *	which pauses recording
 * @fits: expect no gap
 * @cpl_filter: the kernel uses the filter by CPL, so that user mode is recorded even if the kernel
 *	is not
 */
static void run_way_out(u32 branches, bool stops, bool fits, bool cpl_filter)
{
	u32 others = branches > own_branches ? branches - own_branches : 0;
	struct lab_config config = {
		.target = LAB_SELF,
		.flags = LAB_USER | LAB_ENTRY | (stops ? LAB_STOP : 0),
		.nr = stops ? 100 : kernel_records(100000),
		.overflow = stops ? LAB_SAVE : LAB_NO_CALL,
		.room = kernel_records(100000),
	};
	int beside = lab_open(LAB_SELF, 0, LAB_USER, 60000);
	int fd = lab_open(LAB_SELF, 0, LAB_USER, config.nr);
	struct records got, alone = { };
	char text[12];

	snprintf(text, sizeof(text), "%u", others);
	if (try_text("/sys/module/bts_lab/parameters/nmi_branches", text))
		give_up("nmi_branches");
	lab_config(fd, &config);
	prepare(11, 20000);
	lab_must(beside, LAB_START, NULL);
	run(fd, &got);
	lab_read(beside, &alone);
	/* If recording of the kernel stops, user mode is recorded only with a filter. */
	ok(fits ? same_all(&got) && no_leak(&got) && !lab_status(fd).calls == !stops :
	   !cpl_filter || same_branches(&got),
	   "%u branches on the way out: all of it, %u calls", branches, lab_status(fd).calls);
	ok(!lab_status(fd).gaps == fits, "%u branches on the way out, a trace that %s: %u gaps",
	   branches, stops ? "stops" : "goes on", lab_status(fd).gaps);
	/* If the kernel is not recorded for a while, the last mark is at the end of that while. */
	ok(branches > 2000 || turns(&got, up_to_last_mark(&got)),
	   "%u branches on the way out: all of the kernel after the last mark", branches);
	/*
	 * The trace of user mode alone must have no gap, with two exceptions. If the buffer
	 * overflows, records of user mode may be lost. Without a filter, nothing is recorded while
	 * the kernel is not.
	 */
	ok(!cpl_filter || branches > 2000 || !lab_status(beside).gaps,
	   "%u branches on the way out: %u gaps of user mode alone", branches,
	   lab_status(beside).gaps);
	ok(cpl_filter || fits || lab_status(beside).gaps,
	   "%u branches on the way out: without a filter, user mode alone has a gap", branches);
	ok(!cpl_filter || branches > 2000 || exits_counted(&got, &alone),
	   "%u branches on the way out: user mode alone has each exit or its mark", branches);
	records_free(&alone);
	records_free(&got);
	close(fd);
	close(beside);
}

static int run_ways_out(void)
{
	bool filter = uses_cpl_filter();

	run_way_out(0, true, true, filter);
	run_way_out(500, true, true, filter);
	run_way_out(800, false, true, filter);
	/* With KASAN or KCSAN (OWN), the branches may not fit into the buffer. */
	if (!own_branches)
		run_way_out(1500, true, true, filter);
	run_way_out(1500, false, false, filter);
	run_way_out(10000, true, false, filter);
	run_way_out(0, true, true, filter);
	return finish();
}

static void run_kernel(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_KERNEL, kernel_records(200000));
	struct records got;
	size_t i;

	prepare(8, 5000);
	run(fd, &got);
	for (i = 0; i < got.nr; i++) {
		if (got.rec[i].type != Q_BRANCH || got.rec[i].to < USER_END)
			break;
	}
	if (!ok(i == got.nr && got.nr > 100, "the kernel's alone: %zu", got.nr))
		print_around(&got, i);
	records_free(&got);
	close(fd);
}

static void run_both(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER | LAB_KERNEL, kernel_records(400000));
	struct records got;
	ssize_t at;

	prepare(9, 20000);
	run(fd, &got);
	ok(same_all(&got) && got.nr > want.nr + 100, "user and kernel: the user's, %zu in all",
	   got.nr);
	at = find_break(&got);
	if (!ok(at < 0, "user and kernel: control flow has no hole"))
		print_around(&got, at);
	records_free(&got);
	close(fd);
}

/*
 * The processor's filter of kernel branches may also drop returns to user mode. For each dropped
 * return, the trace has a record Q_LOST. After a few dropped returns in a row, the kernel does not
 * use the filter any more for the traces of this program. That must happen in this first trace.
 */
static void learn_rule(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, 60000);
	struct recs have = { };
	struct records got;
	size_t i, lost = 0, back;

	prepare(4, 20000);
	run(fd, &got);
	user_branches(&got, &have);
	for (i = 0; i < got.nr; i++)
		lost += got.rec[i].type == Q_LOST ? got.rec[i].count : 0;
	filter_drops_returns = lost;
	back = count_of(&got, Q_LEAVE);
	/* Each pass of the program makes at least one system call. */
	ok(same_records(&have, &want) && lost == count_of(&got, Q_LOST) && back + lost >= passes,
	   "first trace: %zu ways back, %zu marks of such that are lost", back, lost);
	records_free(&got);
	recs_free(&have);
	close(fd);
}

/* Trace the kernel on every CPU until this program ends. */
static void trace_kernels(void)
{
	int cpu;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		int fd = lab_open(LAB_CPU, cpu, LAB_KERNEL | LAB_SCHED, 10000);

		lab_must(fd, LAB_START, NULL);
	}
}

static int run_late(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, 100000);
	struct records got;

	prepare(12, 20000);
	run(fd, &got);
	ok(lab_status(fd).gaps && bts_counter("full"), "a late PMI: %u gaps", lab_status(fd).gaps);
	ok(!lab_do(fd, LAB_STALE, NULL), "a late PMI: no old record is left");
	return finish();
}

int main(int argc, char **argv)
{
	bool mixed = argc > 3 && !strcmp(argv[3], "mixed");
	static const u32 sizes[] = { 1, 2, 7, 100, 2390, 2391, 10000 };
	size_t goal = argc > 2 ? strtoul(argv[2], NULL, 0) : 200000, i;

	load_lab(argv[1]);
	if (argc > 3 && !strcmp(argv[3], "late"))
		return run_late();
	learn_rule();
	own_branches = argc > 4 ? strtoul(argv[4], NULL, 0) : 0;
	if (argc > 3 && !strcmp(argv[3], "out"))
		return run_ways_out();
	if (mixed)
		trace_kernels();
	run_sequence();
	run_generated(goal);
	run_entries();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		run_wrap(sizes[i]);
		run_stop(sizes[i]);
		/* With mixed, a late PMI may make a ring lose records that stops when full. */
		if (!mixed)
			run_saved(sizes[i], 0);
	}
	if (!mixed)
		run_saved(100, LAB_ENTRY);
	run_kernel();
	run_both();
	printf("# machine: %lld records, %lld pmis, %lld masked, %lld full, %lld faults\n",
	       bts_counter("records"), bts_counter("pmis"), bts_counter("masked"),
	       bts_counter("full"), bts_counter("faults"));
	ok(!bts_counter("full") && !bts_counter("faults"), "the machine lost none");
	return finish();
}
