// SPDX-License-Identifier: GPL-2.0
/* The report, in memory until it is written, and the page that summarizes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

/* The beginning of each line of the report that has the answer to a question. */
#define ANSWER		"      answer "
#define MAX_ANSWERS	12	/* so many fit on the page */

static char report[1 << 17];
static size_t used;

void report_add(const char *text, size_t len)
{
	if (len > sizeof(report) - 1 - used)
		len = sizeof(report) - 1 - used;
	memcpy(report + used, text, len);
	used += len;
	report[used] = '\0';
}

const char *report_text(void)
{
	return report;
}

void report_set(const char *text)
{
	used = 0;
	report_add(text, strlen(text));
}

static void print_answers(void)
{
	const char *at = report;
	int n = 0;

	while ((at = strstr(at, ANSWER)) && n++ < MAX_ANSWERS) {
		at += strlen(ANSWER);
		tell("  %.*s\n", (int)strcspn(at, "\n"), at);
	}
	if (!n)
		tell("  none: these questions are about the Debug Store\n");
}

static void print_bad_steps(void)
{
	size_t i;

	for (i = 0; i < nr_steps; i++) {
		const struct step *s = &steps[i];

		if (s->outcome == FAILED || s->outcome == CRASHED || s->outcome == TIMED_OUT)
			tell("  %-12s %s: %s, %d passed, %d failed\n", s->name, s->what,
			     outcome_names[s->outcome], s->passed, s->failed);
	}
}

void print_page(void)
{
	int count[NO_HARDWARE + 1] = { }, passed = 0, failed = 0, skipped = 0;
	size_t i;

	for (i = 0; i < nr_steps; i++) {
		count[steps[i].outcome]++;
		passed += steps[i].passed;
		failed += steps[i].failed;
		skipped += steps[i].skipped;
	}
	screen_clear();
	tell("\nbts-check: %s\n", machine.model);
	tell("%s\n", machine.store ? "This machine has a Debug Store." :
	     "This machine has no Debug Store that the kernel can use.");
	tell("What the Debug Store does here:\n");
	print_answers();
	tell("Steps: %d passed, %d failed, %d crashed, %d took too long, %d left out\n",
	     count[PASSED], count[FAILED], count[CRASHED], count[TIMED_OUT],
	     count[NO_HARDWARE]);
	print_bad_steps();
	tell("Results: %d passed, %d failed, %d skipped\n", passed, failed, skipped);
}
