// SPDX-License-Identifier: GPL-2.0
/* This file writes records and notes as JSON objects, one a line. */
#include <inttypes.h>

#include "output.h"

static void put_number(struct bt_text *t, const char *key, u64 v)
{
	text_str(t, ",\"");
	text_str(t, key);
	text_str(t, "\":");
	text_dec(t, v);
}

static void put_flag(struct bt_text *t, const char *key, bool set)
{
	if (set)
		text_print(t, ",\"%s\":true", key);
}

/* Addresses are strings: many readers store numbers as floating point, which is not exact. */
static void put_address(struct bt_text *t, const char *key, u64 v)
{
	text_char(t, '"');
	text_str(t, key);
	text_str(t, "\":\"");
	text_hex(t, v);
	text_char(t, '"');
}

static void put_place(struct bt_text *t, const char *key, struct bt_place *place)
{
	if (!place)
		return;
	bt_place_line(place);
	text_print(t, ",\"%s\":{", key);
	put_address(t, "address", place->addr);
	if (place->fn->named) {
		text_str(t, ",\"function\":");
		text_json(t, bt_function_name(place->fn));
		put_number(t, "offset", place->offset);
	}
	text_str(t, ",\"module\":");
	text_json(t, place->module->name);
	text_char(t, ',');
	put_address(t, "module_offset", place->module_offset);
	if (place->file) {
		text_str(t, ",\"file\":");
		text_json(t, place->file);
		put_number(t, "line", place->line);
	}
	text_char(t, '}');
}

static void put_head(struct bt_session *s, const struct bt_thread *thread, const char *type)
{
	struct bt_text *t = &s->text;

	text_str(t, "{\"type\":\"");
	text_str(t, type);
	text_char(t, '"');
	put_number(t, "pid", thread->process->tgid);
	put_number(t, "tid", thread->tid);
}

static void json_signal(struct bt_session *s, const struct bt_branch *b)
{
	bool begins = b->rec->type == X86_BTS_SIGNAL;
	struct bt_text *t = &s->text;

	put_head(s, b->thread, begins ? "signal" : "sigreturn");
	if (begins)
		put_number(t, "signal", b->rec->info);
	put_place(t, "from", b->from);
	put_place(t, "to", b->to);
}

static void json_event(struct bt_session *s, const struct bt_branch *b)
{
	const struct x86_bts_record *rec = b->rec;
	struct bt_text *t = &s->text;

	switch (rec->type) {
	case X86_BTS_LOST:
		put_head(s, b->thread, "lost");
		put_number(t, "clock", rec->lost.clock);
		if (rec->lost.count)
			put_number(t, "count", rec->lost.count);
		break;
	case X86_BTS_EXEC:
		put_head(s, b->thread, "exec");
		put_number(t, "clock", rec->event.clock);
		break;
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
		put_head(s, b->thread, rec->type == X86_BTS_TASK_ARRIVES ? "arrives" : "departs");
		put_number(t, "clock", rec->event.clock);
		put_number(t, "cpu", rec->event.cpu);
		break;
	case X86_BTS_SIGNAL:
	case X86_BTS_SIGRETURN:
		json_signal(s, b);
		break;
	default:
		return;
	}
	text_str(t, "}\n");
}

static void put_branch(struct bt_text *t, const struct bt_branch *b)
{
	text_str(t, ",\"kind\":\"");
	text_str(t, bt_kind_name(b->kind));
	text_char(t, '"');
	put_place(t, "from", b->from);
	put_place(t, "to", b->to);
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

static void json_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct bt_text *t = &s->text;

	if (!bt_is_branch(b->rec)) {
		json_event(s, b);
		return;
	}
	put_head(s, b->thread, "branch");
	if (b->from && b->to && b->from->went_to == b->to)
		put_cached(t, b);
	else
		put_branch(t, b);
	put_flag(t, "mispredicted", b->rec->flags & X86_BTS_F_MISPREDICTED);
	put_flag(t, "unreliable", b->rec->flags & X86_BTS_F_UNRELIABLE);
	text_str(t, "}\n");
}

static void json_note(struct bt_session *s, struct bt_thread *t, const char *what)
{
	put_head(s, t, "note");
	text_str(&s->text, ",\"text\":");
	text_json(&s->text, what);
	text_str(&s->text, "}\n");
}

const struct bt_output bt_out_json = {
	.name = "json",
	.flags = BT_OUT_PLACES | BT_OUT_FILTER,
	.branch = json_branch,
	.note = json_note,
};
