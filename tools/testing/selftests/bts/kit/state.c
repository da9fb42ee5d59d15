// SPDX-License-Identifier: GPL-2.0
/*
 * The progress of the steps. The kit writes the state to the stick before and after it runs a step,
 * so the next boot knows the step during which the machine crashed or lost power. The state has the
 * signature of the processor. On a machine with another signature, the steps start anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#define STATE_FILE	"STATE.TXT"
#define HEADING		"bts-check notes here which steps it has run. This is not the report."
/* The file always has this size, so that rewriting it needs no other blocks of the stick. */
#define STATE_SIZE	4096

const struct step *state_not_ended;

static struct step *step_named(const char *name)
{
	size_t i;

	for (i = 0; i < nr_steps; i++) {
		if (!strcmp(steps[i].name, name))
			return &steps[i];
	}
	return NULL;
}

static enum outcome outcome_named(const char *name)
{
	int i;

	for (i = NOT_RUN; i <= LEFT_OUT; i++) {
		if (!strcmp(outcome_names[i], name))
			return i;
	}
	return NOT_RUN;
}

static void load_step(const char *line)
{
	char name[32], outcome[32];
	struct step *s;
	int p, f, k;

	if (sscanf(line, "step %31s %31s %d %d %d", name, outcome, &p, &f, &k) != 5)
		return;
	s = step_named(name);
	if (!s)
		return;
	s->outcome = outcome_named(outcome);
	if (s->outcome == RUNNING) {
		s->outcome = NOT_ENDED;
		state_not_ended = s;
	}
	s->passed = p;
	s->failed = f;
	s->skipped = k;
}

bool state_load(void)
{
	static char text[STATE_SIZE + 1];
	unsigned int signature;
	char end[8] = "";
	char *line;

	if (!stick_read(STATE_FILE, text, sizeof(text)) ||
	    sscanf(text, HEADING " processor %x %7s", &signature, end) != 2 ||
	    signature != machine.signature || !strcmp(end, "done"))
		return false;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		load_step(line);
	return true;
}

void state_save(bool done)
{
	static char text[STATE_SIZE + 1];
	size_t i, n;

	n = snprintf(text, sizeof(text), HEADING "\nprocessor %x %s\n", machine.signature,
		     done ? "done" : "open");
	for (i = 0; i < nr_steps && n < STATE_SIZE; i++)
		n += snprintf(text + n, sizeof(text) - n, "step %s %s %d %d %d\n",
			      steps[i].name, outcome_names[steps[i].outcome],
			      steps[i].passed, steps[i].failed, steps[i].skipped);
	if (n < STATE_SIZE)
		memset(text + n, '\n', STATE_SIZE - n);
	text[STATE_SIZE] = '\0';
	stick_write(STATE_FILE, text);
}
