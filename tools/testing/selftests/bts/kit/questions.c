// SPDX-License-Identifier: GPL-2.0
/*
 * Questions that the manuals leave open, or whose answers differ between processor models. An
 * experiment with this machine's Debug Store answers each question.
 *
 *   questions QUESTION
 *
 * prints a line "answer QUESTION: ANSWER". The short form of the report has only the first word of
 * ANSWER. The program fails if the experiment cannot be made, or finds what should be impossible.
 * Otherwise it passes, whatever ANSWER is. If the processor lacks what "filter" or "freeze" asks
 * about, it passes with the answer "none".
 */
#include <cpuid.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../guest/guest.h"
#include "lab/lab.h"

#define MSR_SMI_COUNT	0x34
#define CPUID_APIC	(1u << 9)	/* in EDX */
#define FEW		200
#define MOST		180	/* of FEW branches, at least so many must be recorded correctly */
#define MANY		1200	/* branches, so that an interrupt may come late */
#define FIRST		4	/* number of records up to the threshold */
#define LONG		40000	/* branches, so that many interrupts come */
#define INTERVAL	400	/* records up to the threshold of these interrupts */
#define NMI_RUNS	5
#define CALLS		20
#define MOST_CALLS	12	/* a kind of branch with so many records counts as recorded */
#define MOST_WRONG	(4 * CALLS)	/* most records with a wrong source in the kernel */
#define BUSY_TRIES	300

static int lab;

/* Retry on EBUSY: another user may keep the Debug Store for some seconds after its last use. */
static int ask(unsigned long request, void *arg)
{
	int i;

	for (i = 0; i < BUSY_TRIES; i++) {
		if (!ioctl(lab, request, arg))
			return 0;
		if (errno != EBUSY)
			return -errno;
		poll(NULL, 0, 100);
	}
	return -EBUSY;
}

static struct kit_run run(__u32 flags, __u32 branches)
{
	struct kit_run r = { .branches = branches, .threshold = FIRST, .flags = flags, };
	int err = ask(KIT_LAB_RUN, &r);

	if (err) {
		errno = -err;
		give_up("the experiment cannot be made");
	}
	return r;
}

__attribute__((format(printf, 1, 2)))
static void answer(const char *fmt, ...)
{
	va_list ap;

	printf("answer ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* Answer a question about the interrupt, which does not come. */
static void never(const char *question)
{
	unsigned int a, b, c, d = 0;

	__get_cpuid(1, &a, &b, &c, &d);
	answer("%s: %s", question, d & CPUID_APIC ? "never, the interrupt does not come" :
	       "unknown, the firmware has switched the local APIC off");
}

static void ask_layout(void)
{
	struct kit_run r = run(0, FEW);

	ok(r.known >= MOST, "%u of %u branches are recorded", r.known, FEW - 1);
	ok(r.bytes && !(r.bytes % r.record_size), "%u bytes for records of %u", r.bytes,
	   r.record_size);
	answer("layout: %u bytes a record", r.record_size);
}

/* Returns the number of SMIs since a reset, or 0 if it cannot be read. */
static uint64_t smis(void)
{
	int fd = open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC);
	uint64_t n = 0;

	if (fd >= 0 && pread(fd, &n, sizeof(n), MSR_SMI_COUNT) != sizeof(n))
		n = 0;
	close(fd);
	return (uint32_t)n;
}

/* Check whether all records are right. Wrong ones may be rare, so make many records. */
static void ask_exact(void)
{
	unsigned int rounds = 100, i, strange = 0;
	uint64_t before = smis();
	int missing = 0;

	for (i = 0; i < rounds; i++) {
		struct kit_run r = run(0, MANY);

		strange += r.strange;
		missing += (int)(MANY - 1 - r.known - r.strange);
	}
	ok(missing >= 0, "no record is there twice");
	if (!strange && !missing)
		answer("exact: yes, all of %u records", rounds * (MANY - 1));
	else
		answer("exact: no, of %u records %u are wrong, %d are missing; %u SMIs came",
		       rounds * (MANY - 1), strange, missing, (unsigned int)(smis() - before));
}

static void ask_flags(void)
{
	struct kit_run r = run(0, MANY);

	ok(r.known, "%u known branches are recorded", r.known);
	if (!r.flags_or)
		answer("flags: none are ever set");
	else
		answer("flags: %#llx at times, %#llx always", (unsigned long long)r.flags_or,
		       (unsigned long long)r.flags_and);
}

extern const char kit_after_call[];

/* A system call, which returns to kit_after_call. */
__attribute__((noinline, noclone))
static void call_kernel(void)
{
	long nr = SYS_getppid;

#ifdef __x86_64__
	asm volatile("syscall\nkit_after_call:" : "+a" (nr) : : "rcx", "r11", "memory");
#else
	asm volatile("int $0x80\nkit_after_call:" : "+a" (nr) : : "memory");
#endif
}

static int look_once(__u32 off, struct kit_filter *found)
{
	int i, err = ask(KIT_LAB_FILTER, &off);

	if (err)
		return err;
	for (i = 0; i < CALLS; i++)
		call_kernel();
	*found = (struct kit_filter) { .after = (unsigned long)kit_after_call, };
	return ask(KIT_LAB_LOOK, found);
}

/*
 * Repeat look_once() if branches of interrupts have filled the buffer before those of the system
 * calls. With the filter, branches into and out of the kernel may be missing: count the branches of
 * user mode.
 */
static int look(__u32 off, struct kit_filter *found)
{
	int i, err = 0;

	for (i = 0; i < 10; i++) {
		err = look_once(off, found);
		if (err)
			break;
		if (off ? found->user >= 2 * CALLS :
		    found->enters >= MOST_CALLS && found->leaves >= MOST_CALLS)
			break;
	}
	return err;
}

/*
 * Describe the rule of the filter by privilege level, from records that were made while the filter
 * left out the kernel: does the level before or after a branch decide? The source of a record may
 * be wrong, but its target is right. So tell a return from the kernel by its target.
 */
static const char *filter_rule(const struct kit_filter *f)
{
	bool enters = f->enters >= MOST_CALLS, leaves = f->returns >= MOST_CALLS;

	if (f->kernel > MOST_WRONG)
		return "none, branches of the kernel are recorded";
	if ((leaves && f->good < MOST_CALLS) || f->kernel >= MOST_CALLS)
		return "wrong-from, the source of a branch is wrong where the level changes";

	if (enters && leaves)
		return "either, the level before or after a branch";
	if (leaves)
		return "after, the level that a branch leads to";
	if (enters)
		return "before, the level that a branch comes from";
	return "neither, no branch that changes the level is recorded";
}

static void ask_filter(void)
{
	struct kit_filter all = { }, some = { };
	int err;

	err = look(0, &all);
	ok(!err && all.enters >= MOST_CALLS && all.leaves >= MOST_CALLS,
	   "without a filter, %u ways in and %u ways out are recorded", all.enters, all.leaves);
	err = look(1, &some);
	if (err == -EOPNOTSUPP) {
		answer("filter: none, this processor has no filter by privilege level");
		return;
	}
	/* If a record shows a branch within the kernel, this must be due to a wrong source. */
	ok(!err && some.user &&
	   (!some.kernel || (some.good < some.returns && some.kernel <= MOST_WRONG)),
	   "with it, %u branches of user mode, %u of the kernel", some.user, some.kernel);
	answer("filter: %s", filter_rule(&some));
	printf("with it, %u branches of user mode, %u ways in, %u ways out, %u of the kernel,\n"
	       "%u returns of calls, of which %u have their source in the kernel, another has %#llx\n",
	       some.user, some.enters, some.leaves, some.kernel, some.returns, some.good,
	       (unsigned long long)some.wrong);
}

/*
 * Find out which record raises the interrupt: each one past the threshold, the one that crosses
 * the threshold, or only one that ends exactly at the threshold. Models may differ.
 */
static void ask_pmi(void)
{
	struct kit_run first = run(KIT_BTINT, MANY);
	struct kit_run past, half;

	if (!first.nmis) {
		never("pmi");
		return;
	}
	ok(first.bytes >= FIRST * first.record_size, "it comes at the threshold, not before");
	past = run(KIT_BTINT | KIT_PAST, MANY);
	half = run(KIT_BTINT | KIT_HALF, MANY);
	if (past.nmis)
		answer("pmi: each, every record behind the threshold asks for it");
	else if (half.nmis)
		answer("pmi: crossed, the record that crosses the threshold asks for it");
	else
		answer("pmi: equal, the record that ends at the threshold asks for it");
}

static void ask_delay(void)
{
	struct kit_run r = run(KIT_BTINT, MANY);

	ok(r.bytes >= FIRST * r.record_size, "the branches up to the threshold are recorded");
	if (!r.nmis)
		never("delay");
	else if (!r.nmi_at)
		answer("delay: more than %u branches", MANY);
	else
		answer("delay: %d branches", (int)r.nmi_at - 1 - FIRST);
}

static void ask_kept(void)
{
	struct kit_run r = run(KIT_BTINT | KIT_MASKED, MANY);

	ok(!r.nmis, "no interrupt comes while its vector is masked");
	if (!run(KIT_BTINT, MANY).nmis) {
		never("kept");
		return;
	}
	answer("kept: %s", r.nmis_unmasked ? "yes, it comes when the vector is unmasked" :
	       "no, an interrupt is lost while its vector is masked");
}

static void ask_db(void)
{
	struct kit_run r = run(KIT_STEP, FEW);

	ok(r.known >= MOST, "%u of %u branches before it are recorded", r.known, FEW - 1);
	answer("db: %s", r.step_at ? "keeps, a debug exception is recorded, and recording goes on" :
	       "clears, a debug exception stops recording");
}

static void ask_freeze(void)
{
	struct kit_run r = {
		.branches = MANY,
		.threshold = FIRST,
		.flags = KIT_BTINT | KIT_FREEZE,
	};
	int err = ask(KIT_LAB_RUN, &r);

	if (err == -EOPNOTSUPP) {
		skip("freeze", "this processor cannot freeze its LBRs");
		answer("freeze: none, this processor cannot freeze its LBRs");
		return;
	}
	ok(!err, "the experiment was made");
	if (!r.nmis)
		answer("freeze: the interrupt does not come");
	else
		answer("freeze: %s", r.nmi_at ? "keeps, the interrupt is recorded" :
		       "clears, the interrupt stops recording");
}

static void ask_cost(void)
{
	unsigned int n = 2000, i;
	double off = 0, on = 0;

	for (i = 0; i < 20; i++) {
		off += run(KIT_OFF, n).ticks;
		on += run(0, n).ticks;
	}
	ok(on > 0 && off > 0, "the clock moves");
	answer("cost: %.1f ticks of the TSC a branch, %.1f without recording", on / n / i,
	       off / n / i);
}

/* Returns the fastest of NMI_RUNS runs: an SMI may slow a run down. */
static struct kit_run fastest(__u32 flags)
{
	struct kit_run least = { };
	int i;

	for (i = 0; i < NMI_RUNS; i++) {
		struct kit_run r = {
			.branches = LONG,
			.threshold = INTERVAL,
			.flags = KIT_GO_ON | flags,
		};
		int err = ask(KIT_LAB_RUN, &r);

		if (err) {
			errno = -err;
			give_up("the experiment cannot be made");
		}
		if (!i || r.ticks < least.ticks)
			least = r;
	}
	return least;
}

/*
 * Let an interrupt come whenever the buffer has INTERVAL records, and compare the time with that
 * without interrupts. The end of the handler is recorded as well, which is a part of the cost.
 */
static void ask_nmi(void)
{
	struct kit_run without = fastest(0), with = fastest(KIT_BTINT);

	ok(!without.nmis, "no interrupt comes unless it is asked for");
	if (!with.nmis)
		never("nmi");
	else if (with.nmis < LONG / INTERVAL / 2 || with.ticks <= without.ticks)
		answer("nmi: unclear, %u came in %llu ticks, none in %llu", with.nmis,
		       (unsigned long long)with.ticks, (unsigned long long)without.ticks);
	else
		answer("nmi: %.0f ticks of the TSC, the mean of %u",
		       ((double)with.ticks - without.ticks) / with.nmis, with.nmis);
}

static const struct {
	const char *name;
	void (*ask)(void);
} questions[] = {
	{ "layout", ask_layout, },
	{ "exact", ask_exact, },
	{ "flags", ask_flags, },
	{ "filter", ask_filter, },
	{ "pmi", ask_pmi, },
	{ "delay", ask_delay, },
	{ "kept", ask_kept, },
	{ "db", ask_db, },
	{ "freeze", ask_freeze, },
	{ "cost", ask_cost, },
	{ "nmi", ask_nmi, },
};

int main(int argc, char *argv[])
{
	cpu_set_t first;
	size_t i;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	lab = open(KIT_LAB_DEVICE, O_RDWR | O_CLOEXEC);
	if (lab < 0)
		give_up("%s", KIT_LAB_DEVICE);
	for (i = 0; i < ARRAY_SIZE(questions); i++) {
		if (argc == 2 && !strcmp(questions[i].name, argv[1])) {
			questions[i].ask();
			return finish();
		}
	}
	fprintf(stderr, "usage: questions QUESTION\n");
	return 2;
}
