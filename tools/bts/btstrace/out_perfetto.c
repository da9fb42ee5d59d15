// SPDX-License-Identifier: GPL-2.0
/*
 * Calls on a time axis, in the JSON that Perfetto and chrome://tracing open.
 *
 * Branches have no time. What is known is when a thread was scheduled in and
 * out: what it did in between is spread over that time evenly. Without such
 * marks, each branch takes a microsecond.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "output.h"

struct event {
	const char *name;	/* NULL where it ends */
	const struct bt_module *module;
	u64 at;		/* how many branches since the slice began */
};

/*
 * struct track - a thread's
 * @pid:	its process, when the track began: exec by a thread changes both
 * @tid:	its ID
 * @event:	since the last mark of time
 * @nr:		how many
 * @branches:	likewise
 * @clock:	when the slice began, in nanoseconds
 * @marked:	@clock comes from a mark
 */
struct track {
	pid_t		pid;
	pid_t		tid;
	struct event	*event;
	size_t		nr;
	size_t		room;
	u64		branches;
	u64		clock;
	bool		marked;
};

static void put_event(struct bt_session *s, const struct bt_thread *t, const char *phase, u64 ns)
{
	const struct track *track = t->data;
	struct bt_text *text = &s->text;

	if (s->data)
		text_str(text, ",\n");
	s->data = s;	/* not the first any more */
	text_print(text, "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64 ".%03" PRIu64,
		   phase, track->pid, track->tid, ns / 1000, ns % 1000);
}

static void flush_slice(struct bt_session *s, struct bt_thread *t, u64 until)
{
	struct track *track = t->data;
	u64 length = until > track->clock ? until - track->clock : 0;
	size_t i;

	for (i = 0; i < track->nr; i++) {
		const struct event *e = &track->event[i];
		double part = track->branches ? (double)e->at / track->branches : 0;

		put_event(s, t, e->name ? "B" : "E", track->clock + (u64)(part * length));
		if (e->name) {
			text_str(&s->text, ",\"name\":");
			text_json(&s->text, e->name);
			text_str(&s->text, ",\"cat\":");
			text_json(&s->text, e->module->name);
		}
		text_char(&s->text, '}');
	}
	track->nr = 0;
	track->branches = 0;
	track->clock += length;
}

static void add_event(struct bt_calls *c, const struct bt_frame *frame, const char *name)
{
	struct bt_thread *t = c->arg;
	struct track *track = t->data;

	track->event = bt_grow(track->event, &track->room, track->nr + 1, sizeof(*track->event));
	track->event[track->nr++] = (struct event){ name, frame->module, track->branches };
}

static void frame_begins(struct bt_calls *c, struct bt_frame *frame)
{
	add_event(c, frame, bt_frame_name(frame));
}

static void frame_ends(struct bt_calls *c, struct bt_frame *frame)
{
	add_event(c, frame, NULL);
}

static void perfetto_begin(struct bt_session *s)
{
	text_str(&s->text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
}

/* All that a thread did since the last mark, if no other mark will come. */
static u64 end_of(const struct track *track)
{
	return track->clock + track->branches * (track->marked ? 1 : 1000);
}

static void perfetto_exit(struct bt_session *s, struct bt_thread *t)
{
	struct track *track = t->data;

	if (!track)
		return;
	bt_calls_end(t->calls);
	flush_slice(s, t, end_of(track));
	bt_calls_free(t->calls);
	t->calls = NULL;
	free(track->event);
	free(track);
	t->data = NULL;
}

static void put_name(struct bt_session *s, const struct bt_thread *t, const char *what)
{
	const struct track *track = t->data;

	put_event(s, t, "M", track->clock);
	text_print(&s->text, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	text_json(&s->text, t->comm);
	text_str(&s->text, "}}");
}

static void perfetto_thread(struct bt_session *s, struct bt_thread *t)
{
	struct track *track = bt_alloc(1, sizeof(*track)), *before = t->data;

	/* After exec its time goes on. */
	if (before) {
		track->clock = end_of(before);
		track->marked = before->marked;
	}
	perfetto_exit(s, t);
	track->pid = t->process->tgid;
	track->tid = t->tid;
	t->data = track;
	t->calls = bt_calls_new();
	t->calls->enter = frame_begins;
	t->calls->leave = frame_ends;
	t->calls->arg = t;
	put_name(s, t, "thread_name");
	if (track->pid == track->tid)
		put_name(s, t, "process_name");
}

static void perfetto_lost(struct bt_session *s, const struct bt_branch *b)
{
	struct track *track = b->thread->data;

	flush_slice(s, b->thread, end_of(track));
	put_event(s, b->thread, "i", track->clock);
	text_print(&s->text, ",\"s\":\"t\",\"name\":\"%" PRIu64 " records lost\"}",
		   (u64)b->rec->lost.count);
}

/* Without marks the slices have to end somewhere, or all would be kept. */
#define SLICE_MAX	100000

/* Never back: the clocks of two CPUs may differ. */
static void go_to(struct track *track, u64 clock)
{
	if (clock > track->clock)
		track->clock = clock;
}

static void perfetto_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct track *track = b->thread->data;

	switch (b->rec->type) {
	case X86_BTS_TASK_ARRIVES:
		/* What came before the first of all has no time of its own. */
		if (!track->marked)
			go_to(track, b->rec->event.clock);
		flush_slice(s, b->thread, track->clock);
		go_to(track, b->rec->event.clock);
		track->marked = true;
		return;
	case X86_BTS_TASK_DEPARTS:
		flush_slice(s, b->thread, b->rec->event.clock);
		return;
	case X86_BTS_LOST:
		perfetto_lost(s, b);
		break;
	case X86_BTS_BRANCH:
	case X86_BTS_ENTER:
	case X86_BTS_LEAVE:
		track->branches++;
		break;
	}
	bt_calls_branch(b->thread->calls, b);
	if (track->nr > SLICE_MAX)
		flush_slice(s, b->thread, end_of(track));
}

static void perfetto_note(struct bt_session *s, struct bt_thread *t, const char *what)
{
	struct track *track = t->data;

	flush_slice(s, t, end_of(track));
	put_event(s, t, "i", track->clock);
	text_str(&s->text, ",\"s\":\"t\",\"name\":");
	text_json(&s->text, what);
	text_char(&s->text, '}');
}

static void perfetto_end(struct bt_session *s)
{
	text_str(&s->text, "\n]}\n");
}

const struct bt_output bt_out_perfetto = {
	.name = "perfetto",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE | BT_OUT_CLOCK,
	.begin = perfetto_begin,
	.thread = perfetto_thread,
	.branch = perfetto_branch,
	.note = perfetto_note,
	.exit = perfetto_exit,
	.end = perfetto_end,
};
