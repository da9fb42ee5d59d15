// SPDX-License-Identifier: GPL-2.0
/*
 * This file has three outputs: --plain, branches with their places, one a line; --raw, records as
 * numbers; and --summary, a table of kinds.
 */
#include <inttypes.h>
#include <string.h>

#include "output.h"

#define KIND_WIDTH	10

static void put_thread(struct bt_session *s, const struct bt_thread *t)
{
	if (!s->many)
		return;
	text_str(&s->text, "[pid ");
	text_dec(&s->text, t->tid);
	text_str(&s->text, "] ");
}

static void put_place(struct bt_text *t, struct bt_place *place)
{
	if (!place) {
		text_str(t, "[kernel]");
		return;
	}
	bt_place_text(place);
	text_put(t, place->text, place->text_len);
}

static void put_branch(struct bt_text *t, const struct bt_branch *b)
{
	static const char spaces[KIND_WIDTH + 1] = "          ";
	const char *kind = bt_kind_name(b->kind);
	size_t len = strlen(kind);

	text_put(t, kind, len);
	text_put(t, spaces, KIND_WIDTH - len);
	put_place(t, b->from);
	text_str(t, " -> ");
	put_place(t, b->to);
	text_char(t, '\n');
}

/*
 * Put the kind and the places of a branch. @b->from caches the text until a branch from
 * there has another target.
 */
static void put_cached(struct bt_text *t, const struct bt_branch *b)
{
	struct bt_place *from = b->from;
	struct bt_text words;

	if (!from->words) {
		text_open(&words, -1);
		put_branch(&words, b);
		from->words = words.buf;
		from->words_len = words.used;
	}
	text_put(t, from->words, from->words_len);
}

static void plain_signal(struct bt_session *s, const struct bt_branch *b)
{
	put_thread(s, b->thread);
	text_str(&s->text, b->rec->type == X86_BTS_SIGNAL ? "signal    " : "sigreturn ");
	put_place(&s->text, b->from);
	text_str(&s->text, " -> ");
	put_place(&s->text, b->to);
	text_char(&s->text, '\n');
}

static void plain_event(struct bt_session *s, const struct bt_branch *b)
{
	const struct x86_bts_record *rec = b->rec;
	u64 seconds = rec->event.clock / 1000000000, ns = rec->event.clock % 1000000000;

	switch (rec->type) {
	case X86_BTS_LOST:
		put_thread(s, b->thread);
		if (rec->lost.count)
			text_print(&s->text, "--- %" PRIu64 " records lost ---\n",
				   (u64)rec->lost.count);
		else
			text_str(&s->text, "--- records lost, not counted ---\n");
		break;
	case X86_BTS_EXEC:
		put_thread(s, b->thread);
		text_str(&s->text, "--- another program ---\n");
		break;
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
		put_thread(s, b->thread);
		text_print(&s->text, "--- %s CPU %u at %" PRIu64 ".%09" PRIu64 " ---\n",
			   rec->type == X86_BTS_TASK_ARRIVES ? "on" : "off", rec->event.cpu,
			   seconds, ns);
		break;
	case X86_BTS_SIGNAL:
	case X86_BTS_SIGRETURN:
		plain_signal(s, b);
	}
}

static void plain_branch(struct bt_session *s, const struct bt_branch *b)
{
	if (!bt_is_branch(b->rec)) {
		plain_event(s, b);
		return;
	}
	put_thread(s, b->thread);
	if (b->from && b->to && b->from->went_to == b->to)
		put_cached(&s->text, b);
	else
		put_branch(&s->text, b);
}

static void plain_note(struct bt_session *s, struct bt_thread *t, const char *what)
{
	put_thread(s, t);
	text_color(&s->text, TEXT_RED, 1, s->color);
	text_safe(&s->text, what);
	text_color(&s->text, TEXT_NORMAL, 1, s->color);
	text_char(&s->text, '\n');
}

const struct bt_output bt_out_plain = {
	.name = "plain",
	.flags = BT_OUT_PLACES | BT_OUT_FILTER,
	.branch = plain_branch,
	.note = plain_note,
};

static const char *const types[] = {
	[X86_BTS_INVALID]		= "invalid",
	[X86_BTS_BRANCH]		= "branch",
	[X86_BTS_TASK_ARRIVES]	= "arrives",
	[X86_BTS_TASK_DEPARTS]	= "departs",
	[X86_BTS_ENTER]		= "enter",
	[X86_BTS_LEAVE]		= "leave",
	[X86_BTS_LOST]		= "lost",
	[X86_BTS_EXEC]		= "exec",
	[X86_BTS_SIGNAL]	= "signal",
	[X86_BTS_SIGRETURN]	= "sigreturn",
};

static void raw_flags(struct bt_text *t, const struct x86_bts_record *rec)
{
	if (rec->flags & X86_BTS_F_MISPREDICTED)
		text_str(t, " mispredicted");
	if (rec->flags & X86_BTS_F_UNRELIABLE)
		text_str(t, " unreliable");
	text_char(t, '\n');
}

static void raw_branch(struct bt_session *s, const struct bt_branch *b)
{
	const struct x86_bts_record *rec = b->rec;

	text_dec(&s->text, b->thread->tid);
	text_char(&s->text, ' ');
	if (rec->type < ARRAY_SIZE(types))
		text_str(&s->text, types[rec->type]);
	else
		text_hex(&s->text, rec->type);
	text_char(&s->text, ' ');
	switch (rec->type) {
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
	case X86_BTS_EXEC:
		text_print(&s->text, "%" PRIu64 " %d %u\n", (u64)rec->event.clock,
			   rec->event.pid, rec->event.cpu);
		break;
	case X86_BTS_LOST:
		text_print(&s->text, "%" PRIu64 " %" PRIu64 "\n", (u64)rec->lost.clock,
			   (u64)rec->lost.count);
		break;
	default:
		text_hex(&s->text, rec->branch.from);
		text_char(&s->text, ' ');
		text_hex(&s->text, rec->branch.to);
		if (rec->type == X86_BTS_SIGNAL)
			text_print(&s->text, " %u", rec->info);
		raw_flags(&s->text, rec);
	}
}

const struct bt_output bt_out_raw = {
	.name = "raw",
	.flags = BT_OUT_FILTER,
	.branch = raw_branch,
};

static void summary_end(struct bt_session *s)
{
	const struct bt_counts *c = &s->counts;
	int kind;

	text_str(&s->text, "% branches     branches kind\n"
		 "---------- ------------ ---------\n");
	for (kind = 0; kind < BT_KINDS; kind++)
		if (c->kinds[kind])
			text_print(&s->text, "%10.2f %12" PRIu64 " %s\n",
				   100.0 * c->kinds[kind] / c->branches, c->kinds[kind],
				   bt_kind_name(kind));
	text_print(&s->text, "---------- ------------ ---------\n"
		   "%10.2f %12" PRIu64 " total, %" PRIu64 " lost, %" PRIu64 " gap%s, %" PRIu64
		   " thread%s\n", c->branches ? 100.0 : 0.0, c->branches, c->lost, c->gaps,
		   c->gaps == 1 ? "" : "s", s->nr_threads, s->nr_threads == 1 ? "" : "s");
}

const struct bt_output bt_out_summary = {
	.name = "summary",
	.flags = BT_OUT_PLACES | BT_OUT_FILTER,
	.end = summary_end,
};

const struct bt_output *bt_output_find(const char *name)
{
	static const struct bt_output *const all[] = {
		&bt_out_crash, &bt_out_plain, &bt_out_raw, &bt_out_json, &bt_out_insn,
		&bt_out_calls, &bt_out_folded, &bt_out_flow, &bt_out_perfetto, &bt_out_drcov,
		&bt_out_lcov, &bt_out_profile, &bt_out_lines, &bt_out_loops, &bt_out_summary,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}
