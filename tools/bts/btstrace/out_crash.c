// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows how a thread got to where it ended: first the calls that have not returned, then
 * the last branches of the user's own code (see own.c). If there are several threads, it shows such
 * branches only of a thread that got a signal other than SIGKILL.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "crash_print.h"
#include "output.h"
#include "source.h"

/*
 * The limit of lines for calls is between CALLS_LEAST and CALLS_MAX. Headings and notes have at
 * most FRAMING lines.
 */
#define CALLS_LEAST	3
#define CALLS_MAX	10
#define NOTES_MAX	2
#define FRAMING		(3 + NOTES_MAX)

/*
 * struct crash - the data of a thread until it ends
 * @branch: its last records
 * @nr: the number of records
 * @ended_at: the address of the first instruction that it did not execute, or 0
 * @note: its last signal or other message, and how it has ended; to be printed behind the lines of
 *	the crash view
 * @nr_notes: the number of messages
 */
struct crash {
	struct bt_branch	*branch;
	size_t			nr;
	size_t			room;
	u64			ended_at;
	char			*note[NOTES_MAX];
	size_t			nr_notes;
};

static void crash_thread(struct bt_session *s, struct bt_thread *t)
{
	(void)s;
	if (!t->data)
		t->data = bt_alloc(1, sizeof(struct crash));
}

static void crash_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct crash *c = b->thread->data;

	(void)s;
	c->branch = bt_grow(c->branch, &c->room, c->nr + 1, sizeof(*b));
	c->branch[c->nr++] = *b;
}

static void crash_note(struct bt_session *s, struct bt_thread *t, const char *what)
{
	struct crash *c = t->data;

	(void)s;
	if (c->nr_notes < NOTES_MAX)
		c->note[c->nr_notes++] = bt_copy(what);
}

static void crash_ended_at(struct bt_session *s, struct bt_thread *t, u64 addr)
{
	struct crash *c = t->data;

	(void)s;
	c->ended_at = addr;
}

/*
 * Returns the place that the thread would have executed next. If that place is unknown, returns
 * the last known target of a branch. Returns NULL if no target is known.
 */
static struct bt_place *end_of(const struct bt_thread *t, const struct crash *c)
{
	size_t i;

	if (c->ended_at)
		return bt_space_place(t->process->space, c->ended_at);
	for (i = c->nr; i; i--)
		if (bt_is_branch(c->branch[i - 1].rec) && c->branch[i - 1].to)
			return c->branch[i - 1].to;
	return NULL;
}

static void say_none(struct bt_session *s, const struct crash *c)
{
	/* The advice is for live threads: -r does not allow -s. */
	text_print(&s->text, "  None of the last %zu branches is the program's own.%s\n", c->nr,
		   s->replayed ? "" : " Look further back: -s 16M");
}

static bool has_signal(const struct crash *c)
{
	size_t i;

	for (i = 0; i < c->nr_notes; i++)
		if (!strncmp(c->note[i], "--- SIG", 7))
			return true;
	return false;
}

static void show_thread(struct bt_session *s, struct bt_thread *t, struct crash *c)
{
	struct bt_text *text = &s->text;
	struct crash_lines calls = {}, code = {};
	size_t budget = s->lines > FRAMING + 2 ? s->lines - FRAMING : 2;
	struct bt_place *end = end_of(t, c);
	struct bt_items items;
	size_t most;
	bool brief;

	bt_collapse(&items, c->branch, 0, c->nr);
	/* If there are several threads: of a thread that got no signal, show only the calls. */
	brief = s->many && !has_signal(c);
	crash_calls(&calls, &items, end);
	most = budget / 2 < CALLS_MAX ? budget / 2 : CALLS_MAX;
	crash_shorten(&calls, most < CALLS_LEAST ? CALLS_LEAST : most);
	if (!brief)
		crash_own_code(&code, &items, c->branch, end,
			       budget > calls.nr ? budget - calls.nr : 1);
	free(items.item);
	text_safe(text, t->comm);
	text_print(text, " [%d]: calls that have not returned, the innermost first:\n", t->tid);
	crash_print(text, &calls, s->width, s->color);
	if (brief)
		goto out;
	text_str(text, "The way there, of the program's own code, the newest last:\n");
	crash_print(text, &code, s->width, s->color);
	if (!code.own)
		say_none(s, c);
out:
	crash_free(&calls);
	crash_free(&code);
}

static void put_note(struct bt_session *s, const char *note)
{
	text_color(&s->text, TEXT_RED, 1, s->color);
	text_safe(&s->text, note);
	text_color(&s->text, TEXT_NORMAL, 1, s->color);
	text_char(&s->text, '\n');
}

static void crash_exit(struct bt_session *s, struct bt_thread *t)
{
	struct crash *c = t->data;
	size_t i;

	if (!c)
		return;
	if (c->nr)
		show_thread(s, t, c);
	for (i = 0; i < c->nr_notes; i++) {
		put_note(s, c->note[i]);
		free(c->note[i]);
	}
	free(c->branch);
	free(c);
	t->data = NULL;
}

static void crash_end(struct bt_session *s)
{
	(void)s;
	bt_source_free();
}

const struct bt_output bt_out_crash = {
	.name = "crash",
	.flags = BT_OUT_PLACES | BT_OUT_LAST,
	.thread = crash_thread,
	.branch = crash_branch,
	.note = crash_note,
	.ended_at = crash_ended_at,
	.exit = crash_exit,
	.end = crash_end,
};
