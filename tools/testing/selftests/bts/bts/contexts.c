// SPDX-License-Identifier: GPL-2.0
/*
 * Start two contexts of this task and two of CPUs. A context (struct bts_context) is one trace,
 * here of user mode, of the kernel, or of both. End the contexts in different orders. A context
 * must have all its records, in order. But if it records the kernel, its ring may overflow, and
 * then has the newest records. The hardware must record the union of what the remaining contexts
 * want.
 *
 *   contexts MODULE [ORDERS]	number of orders for each combination, 1 to 24 (default: 24)
 */
#include "../guest/guest.h"
#include "common.h"

#define NR		4
#define NR_COMBINATIONS	81	/* 3 modes to the power of 4 contexts */
#define NR_ORDERS	24
#define BLOCKS		100

static const u32 modes[] = { LAB_USER, LAB_KERNEL, LAB_USER | LAB_KERNEL };

struct context {
	int fd;
	int cpu;	/* -1 for a context of the task */
	u32 flags;
	bool there;
	struct recs want;
};

static struct context contexts[NR];
static int cpus;
static bool cpl_filter;
/* The size of a ring, in records: without and with the kernel's records */
static u32 user_ring, kernel_ring;

/*
 * The runs of the known program. @cpu tells where a run took place, @there which contexts existed
 * then. Of these contexts, the ones of the task and the ones of the CPU @cpu must have the run's
 * branches if they record user mode.
 */
static struct phase {
	u64 seed;
	int cpu;
	bool there[NR];
} phases[NR];
static unsigned int nr_phases;

static void run_phase(u64 seed, int cpu)
{
	struct phase *phase = &phases[nr_phases++];
	size_t c;

	phase->seed = seed;
	phase->cpu = cpu;
	for (c = 0; c < NR; c++)
		phase->there[c] = contexts[c].there;
	pin_to(cpu);
	known_run(seed, 1);
}

/*
 * If the kernel's branches have overrun a ring, the ring has the newest records only: compare
 * these with the end of @want. LAB_END has read the ring while the kernel was recorded. Where the
 * kernel's branches have overwritten records that were not yet read, there is a Q_LOST. So skip all
 * records up to the last Q_LOST.
 */
static bool same_end(const struct records *all, const struct recs *want)
{
	struct records part = *all, *got = &part;
	struct recs tail = *want;
	size_t i, nr;

	for (i = 0; i < all->nr; i++) {
		if (all->rec[i].type != Q_LOST)
			continue;
		part.rec = all->rec + i + 1;
		part.nr = all->nr - i - 1;
	}
	nr = known_count(got);
	/*
	 * With debugging options, the kernel's branches may have overwritten all of the
	 * program's.
	 */
	if (nr > tail.nr || (tail.nr && !nr && kernel_ring == user_ring))
		return false;
	tail.rec += tail.nr - nr;
	tail.nr = nr;
	return known_same(got, &tail);
}

static bool of_its_modes(const struct records *got, const struct context *ctx, bool overrun)
{
	ssize_t at = -1;
	size_t i;

	if (ctx->flags == LAB_USER)
		at = find_leak(got);
	else if (ctx->flags & LAB_USER && !overrun)
		at = find_break(got);
	for (i = 0; ctx->flags == LAB_KERNEL && i < got->nr && at < 0; i++) {
		if (overrun && got->rec[i].type == Q_LOST)
			continue;
		if (got->rec[i].type != Q_BRANCH || got->rec[i].to < USER_END)
			at = i;
	}
	if (at >= 0)
		print_around(got, at);
	return at < 0;
}

static void end_context(struct context *ctx)
{
	lab_must(ctx->fd, LAB_END, NULL);
	ctx->there = false;
}

static bool check_context(size_t c)
{
	struct context *ctx = &contexts[c];
	struct lab_status status = lab_status(ctx->fd);
	struct records got = { };
	bool good;
	size_t i;

	for (i = 0; i < nr_phases; i++) {
		if (phases[i].there[c] && ctx->flags & LAB_USER &&
		    (ctx->cpu < 0 || ctx->cpu == phases[i].cpu))
			known_want(phases[i].seed, 1, &ctx->want);
	}
	lab_read(ctx->fd, &got);
	good = !status.lost && !status.gaps && of_its_modes(&got, ctx, status.overwritten);
	if (status.overwritten && ctx->flags & LAB_KERNEL)
		good = good && same_end(&got, &ctx->want);
	else
		good = good && !status.overwritten && known_same(&got, &ctx->want);
	if (!good)
		printf("# context of %s, flags %#x, lost %llu, overwritten %llu, gaps %u\n",
		       ctx->cpu < 0 ? "the task" : "a CPU", ctx->flags,
		       (unsigned long long)status.lost,
		       (unsigned long long)status.overwritten, status.gaps);
	for (i = 0; !good && i < got.nr; i++) {
		if (got.rec[i].type != Q_LOST)
			continue;
		print_around(&got, i);
		break;
	}
	records_free(&got);
	recs_free(&ctx->want);
	close(ctx->fd);
	return good;
}

/* Returns the bits of BTS that DEBUGCTL of @cpu must have. */
static u64 wanted(int cpu)
{
	u64 val = DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT;
	u32 flags = 0;
	size_t c;

	for (c = 0; c < NR; c++) {
		if (contexts[c].there && (contexts[c].cpu < 0 || contexts[c].cpu == cpu))
			flags |= contexts[c].flags;
	}
	if (!flags)
		return 0;
	if (!cpl_filter)
		return val;
	if (!(flags & LAB_KERNEL))
		val |= DEBUGCTL_OFF_OS;
	if (!(flags & LAB_USER))
		val |= DEBUGCTL_OFF_USR;
	return val;
}

static bool hardware_is_union(int cpu)
{
	const u64 all = DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT | DEBUGCTL_OFF_OS |
			DEBUGCTL_OFF_USR;
	u64 is = lab_debugctl() & all, want = wanted(cpu);

	if (is != want)
		printf("# DEBUGCTL %#llx, expected %#llx\n", (unsigned long long)is,
		       (unsigned long long)want);
	return is == want;
}

static void start_contexts(unsigned int combination)
{
	size_t c;

	for (c = 0; c < NR; c++) {
		struct context *ctx = &contexts[c];

		ctx->cpu = c < 2 ? -1 : c == 2 ? 0 : cpus - 1;
		ctx->flags = modes[combination % 3];
		combination /= 3;
		ctx->fd = lab_open(c < 2 ? LAB_SELF : LAB_CPU, ctx->cpu, ctx->flags,
				   ctx->flags & LAB_KERNEL ? kernel_ring : user_ring);
		lab_must(ctx->fd, LAB_START, NULL);
		ctx->there = true;
	}
}

static bool one_order(unsigned int combination, unsigned int order)
{
	unsigned int left, pick, c;
	bool good = true;

	nr_phases = 0;
	start_contexts(combination);
	for (left = NR; left; left--) {
		int cpu = left % cpus;

		run_phase(combination * NR_ORDERS + order + left, cpu);
		good &= hardware_is_union(cpu);
		pick = order % left;
		order /= left;
		for (c = 0; !contexts[c].there || pick; c++)
			pick -= contexts[c].there;
		end_context(&contexts[c]);
	}
	good &= hardware_is_union(0);
	for (c = 0; c < NR; c++)
		good &= check_context(c);
	return good;
}

int main(int argc, char **argv)
{
	unsigned int orders = argc > 2 ? atoi(argv[2]) : NR_ORDERS, combination, i;
	unsigned int bad = 0, done = 0;

	load_lab(argv[1]);
	cpus = nr_cpus();
	cpl_filter = uses_cpl_filter();
	/* With several CPUs, contexts of CPUs may have more records of other tasks. */
	user_ring = cpus > 1 ? 60000 : 20000;
	kernel_ring = kernel_records(user_ring);
	known_program(42, BLOCKS);
	for (combination = 0; combination < NR_COMBINATIONS && bad < 5; combination++) {
		for (i = 0; i < orders && bad < 5; i++) {
			/* If fewer orders are asked for, vary them with the combination. */
			unsigned int order = (i + combination * 5) % NR_ORDERS;

			if (!one_order(combination, order)) {
				printf("# combination %u, order %u\n", combination, order);
				bad++;
			}
			done++;
		}
	}
	ok(!bad && done == NR_COMBINATIONS * orders, "%u combinations and orders on %d CPUs",
	   done, cpus);
	ok(!bts_counter("faults") && !bts_counter("full"), "the machine lost none");
	return finish();
}
