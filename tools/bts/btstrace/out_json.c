// SPDX-License-Identifier: GPL-2.0
/* An object of JSON for each record, one on a line */
#include <inttypes.h>

#include "output.h"

static void put_number(struct bt_text *t, const char *key, u64 v)
{
	text_str(t, ",\"");
	text_str(t, key);
	text_str(t, "\":");
	text_dec(t, v);
}

/* Addresses are strings: many readers keep numbers as floating point. */
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
		text_json(t, place->fn->name);
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

static void json_event(struct bt_session *s, const struct bt_branch *b)
{
	const struct bts_record *rec = b->rec;
	struct bt_text *t = &s->text;

	switch (rec->qualifier) {
	case BTS_LOST:
		put_head(s, b->thread, "lost");
		put_number(t, "clock", rec->lost.clock);
		if (rec->lost.count)
			put_number(t, "count", rec->lost.count);
		break;
	case BTS_EXEC:
		put_head(s, b->thread, "exec");
		put_number(t, "clock", rec->event.clock);
		break;
	case BTS_TASK_ARRIVES:
	case BTS_TASK_DEPARTS:
		put_head(s, b->thread, rec->qualifier == BTS_TASK_ARRIVES ? "arrives" : "departs");
		put_number(t, "clock", rec->event.clock);
		put_number(t, "cpu", rec->event.cpu);
		break;
	default:
		return;
	}
	text_str(t, "}\n");
}

static void json_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct bt_text *t = &s->text;

	if (!b->from && !b->to) {
		json_event(s, b);
		return;
	}
	put_head(s, b->thread, "branch");
	text_str(t, ",\"kind\":\"");
	text_str(t, bt_kind_name(b->kind));
	text_char(t, '"');
	put_place(t, "from", b->from);
	put_place(t, "to", b->to);
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
