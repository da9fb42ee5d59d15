// SPDX-License-Identifier: GPL-2.0
/* The report in memory, the page that summarizes it, and the QR code of its short form. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "kit.h"
#include "qr.h"

/* A line of the report with the answer to a question begins so. */
#define ANSWER		"      answer "
#define MAX_ANSWERS	16	/* so many fit on the page */
#define MOST_COLUMNS	77	/* of an answer, or of the list of bad steps, on the page */
#define SHORT_NAME	3	/* most letters of the name of an answer in the short form */
#define MARGIN		2	/* light modules around the QR code */

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

/* Find the next answer behind *@at. Return its text, and set *@at to it. Return NULL if none. */
static const char *next_answer(const char **at)
{
	const char *found = strstr(*at, ANSWER);

	if (found) {
		found += strlen(ANSWER);
		*at = found;
	}
	return found;
}

static void print_answers(void)
{
	const char *at = report, *found;
	int n = 0, len;

	while ((found = next_answer(&at)) && n++ < MAX_ANSWERS) {
		len = strcspn(found, "\n");
		tell("  %.*s\n", len < MOST_COLUMNS ? len : MOST_COLUMNS, found);
	}
	if (!n)
		tell("  none\n");
}

/*
 * Print the steps that failed, did not end or took too long, as many as fit into one line: the page
 * must fit on a screen of 25 lines.
 */
static void print_bad_steps(void)
{
	char line[MOST_COLUMNS + 1] = "", item[48];
	size_t i, len = 0, n;

	for (i = 0; i < nr_steps; i++) {
		const struct step *s = &steps[i];

		if (s->outcome != FAILED && s->outcome != NOT_ENDED && s->outcome != TIMED_OUT)
			continue;
		n = snprintf(item, sizeof(item), "%s %s: %s", len ? "," : "", s->name,
			     outcome_names[s->outcome]);
		if (len + n > MOST_COLUMNS - 4) {
			len += snprintf(line + len, sizeof(line) - len, " ...");
			break;
		}
		memcpy(line + len, item, n + 1);
		len += n;
	}
	if (len)
		tell(" %s\n", line);
}

static int steps_with(enum outcome outcome)
{
	int n = 0;
	size_t i;

	for (i = 0; i < nr_steps; i++)
		n += steps[i].outcome == outcome;
	return n;
}

/*
 * Make the short form: the processor, its microcode, the kernel, the numbers of steps that passed,
 * failed, did not end and took too long, and then for each answer up to three letters of its name
 * and its first word. The first answer that does not fit into @size bytes is left out, and so are
 * all later ones. The short form has only characters that qr_make() accepts.
 */
static void make_short_form(char *text, size_t size)
{
	const char *at = report, *found;
	struct utsname uts = { };
	size_t i, n;

	uname(&uts);
	n = snprintf(text, size, "BTS1 %X %s %s %d/%d/%d/%d", machine.signature,
		     machine.microcode, uts.release, steps_with(PASSED), steps_with(FAILED),
		     steps_with(NOT_ENDED), steps_with(TIMED_OUT));
	while ((found = next_answer(&at))) {
		const char *word = strstr(found, ": ");
		char item[64];
		size_t len;

		if (!word)
			continue;
		len = snprintf(item, sizeof(item), " %.*s:%.*s",
			       (int)(word - found < SHORT_NAME ? word - found : SHORT_NAME), found,
			       (int)strcspn(word + 2, "\n, "), word + 2);
		if (len >= sizeof(item) || n + len >= size)
			break;
		memcpy(text + n, item, len + 1);
		n += len;
	}
	for (i = 0; text[i]; i++) {
		text[i] = toupper((unsigned char)text[i]);
		if (!isupper((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
		    !strchr(" .:/", text[i]))
			text[i] = '-';
	}
}

static bool is_light(const struct qr_code *code, int row, int column)
{
	return row < 0 || row >= QR_SIZE || column < 0 || column >= QR_SIZE ||
	       !code->dark[row][column];
}

void show_code(void)
{
	/*
	 * A character shows two modules. Bit 1 of the index is set if the upper one is light, bit 0
	 * if the lower one is light.
	 */
	static const char *const halves[] = { " ", "\u2584", "\u2580", "\u2588" };
	char text[QR_MAX_TEXT + 1], line[4 * (QR_SIZE + 2 * MARGIN)];
	struct qr_code code;
	int row, column;
	size_t n;

	make_short_form(text, sizeof(text));
	if (!qr_make(&code, text))
		return;
	for (row = -MARGIN; row < QR_SIZE + MARGIN; row += 2) {
		n = 0;
		for (column = -MARGIN; column < QR_SIZE + MARGIN; column++) {
			int light = is_light(&code, row, column) * 2 +
				    is_light(&code, row + 1, column);

			n += snprintf(line + n, sizeof(line) - n, "%s", halves[light]);
		}
		show("%s\n", line);
	}
}

void print_page(const char *image)
{
	char text[QR_MAX_TEXT + 1];
	int passed = 0, failed = 0, skipped = 0;
	size_t i;

	for (i = 0; i < nr_steps; i++) {
		passed += steps[i].passed;
		failed += steps[i].failed;
		skipped += steps[i].skipped;
	}
	screen_clear();
	note("\n");
	tell("bts-check %s: %s\n", image, machine.model);
	/* With a Debug Store, use one line: there may be many answers, and the page must fit. */
	tell("%sWhat the hardware does here:\n", machine.store ?
	     "This machine has a Debug Store. " :
	     "This machine has no Debug Store that the kernel can use. The report helps, too.\n");
	print_answers();
	tell("Steps: %d passed, %d failed, %d not ended, %d too long, %d skipped, %d left out\n",
	     steps_with(PASSED), steps_with(FAILED), steps_with(NOT_ENDED), steps_with(TIMED_OUT),
	     steps_with(SKIPPED), steps_with(LEFT_OUT));
	print_bad_steps();
	tell("Results: %d passed, %d failed, %d skipped (not for this machine or kernel)\n",
	     passed, failed, skipped);
	make_short_form(text, sizeof(text));
	note("Short form: %s\n", text);
	note("The short form has the processor's CPUID.1:EAX, its microcode, the kernel, the\n"
	     "numbers of steps that passed/failed/did not end/took too long, and of each\n"
	     "answer three letters of the name and the first word.\n");
}
