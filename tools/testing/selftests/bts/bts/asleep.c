// SPDX-License-Identifier: GPL-2.0
/*
 * This program makes the kernel suspend and resume, without putting the machine to sleep, while a
 * trace of this program records the kernel. The trace must have one mark (Q_LOST), and branches
 * into syscore_resume() only behind that mark.
 *
 *   asleep MODULE
 */
#include "../guest/guest.h"
#include "common.h"

#define RING		1500000
#define PM_TEST		"/sys/power/pm_test"
#define PM_TEST_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

/* A function that the kernel runs in a resume, and at no other time during this test. */
static const char * const wakeup = "syscore_resume";
static struct range wakeup_at;

static bool wakes_up(const struct lab_record *rec)
{
	return rec->to >= wakeup_at.start && rec->to < wakeup_at.end;
}

static void test_mark(u32 flags)
{
	int fd = lab_open(LAB_SELF, 0, flags, RING);
	size_t i, before = 0, after = 0;
	struct records got = { };
	bool slept;

	lab_must(fd, LAB_START, NULL);
	slept = !try_text("/sys/power/state", "mem");
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(slept, "flags %#x: asleep and awake", flags);
	for (i = 0; i < got.nr && got.rec[i].type != Q_LOST; i++)
		before += wakes_up(&got.rec[i]);
	for (; i < got.nr; i++)
		after += wakes_up(&got.rec[i]);
	ok(lab_status(fd).gaps == 1 && count_of(&got, Q_LOST) == 1 && !before && after,
	   "flags %#x: of waking up %zu before the mark, %zu behind it, of %zu", flags,
	   before, after, got.nr);
	records_free(&got);
	close(fd);
}

int main(int argc, char **argv)
{
	(void)argc;
	load_lab(argv[1]);
	pin_to(0);
	find_symbols(&wakeup, &wakeup_at, 1);
	/* With `core`, the kernel resumes where it would otherwise put the machine to sleep. */
	if (try_text(PM_TEST_DELAY, "0") || try_text(PM_TEST, "core"))
		give_up(PM_TEST);
	test_mark(LAB_KERNEL);
	test_mark(LAB_USER | LAB_KERNEL);
	ok(!bts_counter("faults") && !bts_counter("full"), "the machine lost none");
	return finish();
}
