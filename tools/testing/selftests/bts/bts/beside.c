// SPDX-License-Identifier: GPL-2.0
/*
 * Use traces and perf at the same time. perf's counters must keep working. If an event of perf
 * needs the hardware of a trace, or other hardware that excludes it, whichever of the two comes
 * second must get -EBUSY.
 *
 *   beside MODULE [counters]
 *
 * counters: do not test such events. For a Pentium 4, where perf cannot record branches.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../guest/guest.h"
#include "common.h"

#define BLOCKS	300
#define PASSES	30
#define RING	100000

static const struct {
	const char *name;
	u32 type;
	u64 config;
	u64 period;
	u64 branches;
} rivals[] = {
	{ "perf's BTS, by the core PMU", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1, 0 },
	{ "intel_bts", ~0u, 0, 0, 0 },
	{ "a branch stack", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 100000,
	  PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY },
};

static int open_event(u32 type, u64 config, u64 period, u64 branches)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | (branches ? PERF_SAMPLE_BRANCH_STACK : 0),
		.branch_sample_type = branches,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_rival(size_t i)
{
	u32 type = rivals[i].type;

	if (type == ~0u) {
		int bts = intel_bts_type();

		if (bts < 0)
			return -ENOENT;
		type = bts;
	}
	return open_event(type, rivals[i].config, rivals[i].period, rivals[i].branches);
}

static void test_rival(size_t i)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, RING), rival = open_rival(i), err;

	if (rival < 0) {
		/* This kind may be missing. With page-table isolation, perf has no intel_bts. */
		ok(rival == -EOPNOTSUPP || rival == -ENOENT, "%s is not there: %s", rivals[i].name,
		   strerror(-rival));
		close(fd);
		return;
	}
	err = lab_do(fd, LAB_START, NULL);
	ok(err == -EBUSY, "%s before us: %s", rivals[i].name, strerror(-err));
	close(rival);
	lab_must(fd, LAB_START, NULL);
	err = open_rival(i);
	ok(err == -EBUSY, "%s after us: %s", rivals[i].name, strerror(-err));
	lab_must(fd, LAB_END, NULL);
	rival = open_rival(i);
	ok(rival >= 0, "%s again", rivals[i].name);
	close(rival);
	close(fd);
}

/*
 * Open, run and close perf's counters while a trace runs. Closing the last counter must not
 * disturb the trace.
 */
static void test_counters(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, RING), counter[3];
	struct records got = { };
	struct recs want = { };
	u64 seed, count;
	bool good = true;
	size_t i;

	for (seed = 0; seed < 10; seed++)
		known_want(seed, PASSES / 10, &want);
	lab_must(fd, LAB_START, NULL);
	for (seed = 0; seed < 10; seed++) {
		counter[0] = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 0);
		counter[1] = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000, 0);
		counter[2] = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0, 0);
		known_run(seed, PASSES / 10);
		for (i = 0; i < ARRAY_SIZE(counter); i++) {
			good &= counter[i] >= 0;
			if (counter[i] < 0)
				printf("# counter %zu: %s\n", i, strerror(-counter[i]));
		}
		good &= read(counter[2], &count, sizeof(count)) == sizeof(count) && count;
		for (i = 0; i < ARRAY_SIZE(counter); i++)
			close(counter[i]);
	}
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(good, "counters open and run");
	ok(known_same(&got, &want) && !count_of(&got, Q_LOST), "the trace beside them is complete");
	records_free(&got);
	recs_free(&want);
	close(fd);
}

int main(int argc, char **argv)
{
	bool counters = argc > 2 && !strcmp(argv[2], "counters");
	size_t i;

	load_lab(argv[1]);
	known_program(31, BLOCKS);
	for (i = 0; i < ARRAY_SIZE(rivals) && !counters; i++)
		test_rival(i);
	if (counters)
		ok(intel_bts_type() < 0, "without architectural counters, perf has no intel_bts");
	test_counters();
	ok(!bts_counter("faults") && !bts_counter("full"), "the machine lost none");
	return finish();
}
