// SPDX-License-Identifier: GPL-2.0
/*
 * Bugs of perf's BTS. right: the kernel must not have the bug; wrong: the kernel, a stock kernel,
 * must have the bug. MODULE is debugctl_lab.
 *
 * aux MODULE snapshot right|wrong	NMIs set the position in the AUX area back
 * aux MODULE reset right|wrong	so does a reset of the PMU, while intel_bts stops
 * aux MODULE memory right|wrong	without a Debug Store, intel_bts crashes the kernel
 * aux MODULE foreign right		if PEBS has a buffer and BTS has none, perf claims an
 *				unknown NMI, so that the kernel does not report it;
 *				the caller of this program looks for that report, and
 *				passes "right" for kernels with the bug, too
 * aux MODULE full right		if the AUX area is full, and the event is then disabled, the
 *				kernel must report an unknown NMI: perf has handled the PMI,
 *				so none is late. The caller of this program looks for that
 *				report
 * aux MODULE absent right|wrong	intel_bts exists on a Pentium 4, whose BTS it cannot use
 */
#include <sys/ioctl.h>

#include "store.h"

#define CALLS		300
/* Each call and each return is a record of 24 bytes. */
#define WORK_BYTES	(CALLS * 2 * 24)
#define BUFFER_ORDER	4

static bool right;

static __attribute__((noinline)) void leaf(void)
{
	__asm__ volatile("");
}

/* Record CALLS calls, and call @disturb. Returns the driver's position in the AUX area. */
static uint64_t recorded_until(void (*disturb)(void))
{
	const struct perf_event_mmap_page *page;
	struct trace trace;
	uint64_t head;
	int i;

	pin_to(0);
	if (trace_open(&trace, AUX_USER, -1, 0))
		give_up("intel_bts, is page-table isolation on?");
	for (i = 0; i < CALLS; i++)
		leaf();
	disturb();
	if (ioctl(trace.fd, PERF_EVENT_IOC_DISABLE, 0))
		give_up("PERF_EVENT_IOC_DISABLE");
	page = trace.ring;
	head = page->aux_head;
	trace_close(&trace);
	return head;
}

static void check_disturbed(const char *name, void (*disturb)(void))
{
	uint64_t head = recorded_until(disturb);

	ok((head >= WORK_BYTES) == right, "%s: the position is %s (%llu bytes)", name,
	   right ? "kept" : "set back", (unsigned long long)head);
}

static void some_nmis(void)
{
	struct lab_storm storm = { .nmi_us = 1000, };
	struct lab_report report;

	lab(LAB_STORM, &storm);
	usleep(20000);
	lab(LAB_REPORT, &report);
	if (!report.nmis)
		give_up("no NMI came");
}

/*
 * Make perf reset the PMU while intel_bts stops. At this time, the state of its struct bts_ctx is
 * BTS_STATE_STOPPED already, but the position in the AUX area does not include the newest records
 * yet.
 */
static void reset_in_stop(void)
{
	struct lab_window window = {
		.function = "intel_pmu_disable_bts",
		.action = LAB_RESETS_PMU,
	};

	lab(LAB_OPEN_WINDOW, &window);
}

static void reset(void)
{
	unsigned int hits;

	check_disturbed("a reset of the PMU", reset_in_stop);
	lab(LAB_WINDOW_HITS, &hits);
	ok(hits == 1, "intel_bts was about to stop");
}

static void do_nothing(void)
{
}

static void memory(void)
{
	unsigned int order = BUFFER_ORDER, none = 0;
	struct trace trace = { };

	lab(LAB_REFUSE, &order);
	ok(event_open(PERIOD1, 0, -1) == -EOPNOTSUPP, "branches:u is refused without a buffer");
	trace.fd = event_open(AUX_USER, 0, -1);
	lab(LAB_REFUSE, &none);
	if (right) {
		ok(trace.fd == -EOPNOTSUPP, "and so is intel_bts");
		ok(areas_are(false), "DS_AREA is 0 on each CPU");
		check_disturbed("with memory again", do_nothing);
		return;
	}
	ok(trace.fd >= 0, "intel_bts is allowed: here it crashes");
	trace_start(&trace);
}

static void foreign(void)
{
	unsigned int order = BUFFER_ORDER, none = 0;
	int fd;

	lab(LAB_REFUSE, &order);
	fd = event_open(CYCLES, 0, -1);
	lab(LAB_REFUSE, &none);
	ok(fd >= 0, "an event");
	ok(areas_are(true), "there is a Debug Store for PEBS");
	ok(event_open(PERIOD1, 0, -1) == -EOPNOTSUPP, "and none for BTS");
	ok(!hmp("nmi", NULL, 0), "an NMI that is nobody's");
	close(fd);
}

/*
 * The PMI has found no room in the AUX area, and so has stopped BTS. Then this function disables
 * the event. The kernel must not expect a late PMI because of that.
 */
static void full(void)
{
	const volatile struct perf_event_mmap_page *page;
	struct trace trace = { .stops = true };
	int i;

	pin_to(0);
	trace.fd = event_open(AUX_USER, -1, 0);
	if (trace.fd < 0 || !trace_start(&trace))
		give_up("intel_bts, is page-table isolation on?");
	for (i = 0; i < AUX_SIZE / 24; i++)
		leaf();
	page = trace.ring;
	ok(page->aux_head >= AUX_SIZE / 2, "of %u bytes, %llu are full", AUX_SIZE,
	   (unsigned long long)page->aux_head);
	ok(!ioctl(trace.fd, PERF_EVENT_IOC_DISABLE, 0), "it is disabled");
	ok(!hmp("nmi", NULL, 0), "an NMI that is nobody's");
	trace_close(&trace);
}

static void absent(void)
{
	ok(kind_exists(AUX) != right, "intel_bts is %s", right ? "not there" : "there");
}

int main(int argc, char *argv[])
{
	if (argc != 4 || (strcmp(argv[3], "right") && strcmp(argv[3], "wrong"))) {
		fprintf(stderr, "usage: %s MODULE %s right|wrong\n", argv[0],
			"snapshot|reset|memory|foreign|full|absent");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	right = !strcmp(argv[3], "right");
	load_lab(argv[1]);
	keep_perf_on();
	if (!strcmp(argv[2], "snapshot"))
		check_disturbed("NMIs", some_nmis);
	else if (!strcmp(argv[2], "reset"))
		reset();
	else if (!strcmp(argv[2], "memory"))
		memory();
	else if (!strcmp(argv[2], "foreign"))
		foreign();
	else if (!strcmp(argv[2], "full"))
		full();
	else if (!strcmp(argv[2], "absent"))
		absent();
	else
		give_up("no part %s", argv[2]);
	return finish();
}
