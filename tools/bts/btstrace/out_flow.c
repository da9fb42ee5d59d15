// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows calls in the order in which they were made, each below its caller. What
 * one of several threads did between two switches of the scheduler is a piece; the pieces
 * are sorted by their clocks, or by thread.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "output.h"
#include "select.h"

/* Calls that are deeper than this are not shown further to the right. */
#define INDENT_MAX	40
/* A piece ends when its text exceeds this many bytes. The thread then begins another one. */
#define PIECE_MAX	4096

/*
 * struct piece - the lines of what a thread did until it was scheduled out, or a part of
 * them
 */
struct piece {
	u64	clock;
	u64	thread;
	u64	number;
	size_t	begin;
	size_t	len;
};

/*
 * struct flow - of all threads
 * @text: the pieces, one behind the other, until all of them are sorted
 * @nr_threads: that were seen
 */
struct flow {
	struct bt_text	text;
	struct piece	*piece;
	size_t		nr;
	size_t		room;
	u64		nr_threads;
};

/*
 * struct flow_thread - of one
 * @s: the session
 * @calls: that it is in
 * @text: lines that belong to the piece that is not at its end
 * @number: which thread it is
 * @clock: when it was scheduled in
 * @begun: the last function has not called another so far; its name was not written yet
 */
struct flow_thread {
	struct bt_calls		*calls;
	struct bt_session	*s;
	struct bt_thread	*thread;
	struct bt_text		text;
	u64			number;
	u64			clock;
	bool			begun;
};

static void flow_begin(struct bt_session *s)
{
	struct flow *f = bt_alloc(1, sizeof(*f));

	text_open(&f->text, -1);
	s->data = f;
	text_str(&s->text, "  branches  function\n");
}

static int by_clock(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static int by_thread(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/* Write all pieces in order. */
static void flush_pieces(struct bt_session *s)
{
	struct flow *f = s->data;
	size_t i;

	if (f->nr)
		qsort(f->piece, f->nr, sizeof(*f->piece), s->by_thread ? by_thread : by_clock);
	for (i = 0; i < f->nr; i++)
		text_put(&s->text, f->text.buf + f->piece[i].begin, f->piece[i].len);
	f->text.used = 0;
	f->nr = 0;
}

/* If the pieces need too much memory, write them. A later piece may belong before them. */
static void limit_pieces(struct bt_session *s)
{
	static const char said[] =
		"--- no more memory: what follows is sorted anew ---\n";
	struct flow *f = s->data;

	/* bt_grow() may have made room for twice as much. */
	if (f->text.used + f->nr * sizeof(*f->piece) < s->memory / 2)
		return;
	flush_pieces(s);
	text_str(&s->text, said);
	s->short_of = "what the threads did is sorted in parts";
}

/*
 * End the piece of a thread. As long as only one thread was seen, write the piece at once:
 * nothing has to be sorted.
 */
static void end_piece(struct bt_session *s, struct flow_thread *ft)
{
	struct flow *f = s->data;

	if (!ft->text.used)
		return;
	if (f->nr_threads == 1) {
		text_put(&s->text, ft->text.buf, ft->text.used);
		ft->text.used = 0;
		return;
	}
	f->piece = bt_grow(f->piece, &f->room, f->nr + 1, sizeof(*f->piece));
	f->piece[f->nr] = (struct piece){
		.clock = ft->clock, .thread = ft->number, .number = f->nr,
		.begin = f->text.used, .len = ft->text.used,
	};
	f->nr++;
	text_put(&f->text, ft->text.buf, ft->text.used);
	ft->text.used = 0;
	limit_pieces(s);
}

static void put_thread(struct flow_thread *ft)
{
	if (ft->s->many)
		text_print(&ft->text, "[pid %d] ", ft->thread->tid);
}

static void put_head(struct flow_thread *ft, const struct bt_frame *frame, u64 branches)
{
	u32 i;

	put_thread(ft);
	if (branches)
		text_print(&ft->text, "%10" PRIu64 "  ", branches);
	else
		text_str(&ft->text, "            ");
	for (i = 1; i < frame->level && i < INDENT_MAX; i++)
		text_str(&ft->text, "  ");
}

static void put_function(struct flow_thread *ft, const struct bt_frame *frame)
{
	text_safe(&ft->text, bt_frame_name(frame));
	if (frame->fn->named && (frame->level == 1 || frame[-1].module != frame->module)) {
		text_str(&ft->text, " (");
		text_safe(&ft->text, frame->module->name);
		text_char(&ft->text, ')');
	}
}

/* The last function that was begun calls another: write its name. */
static void open_last(struct flow_thread *ft, const struct bt_frame *frame)
{
	if (!ft->begun)
		return;
	put_head(ft, frame, 0);
	put_function(ft, frame);
	text_str(&ft->text, " {\n");
	ft->begun = false;
}

static void enter(struct bt_calls *c, struct bt_frame *frame)
{
	struct flow_thread *ft = c->arg;
	struct bt_frame *below = bt_frame_below(c, frame);

	bt_select_frame(ft->s, c, frame);
	frame->mark = c->branches - 1;
	while (below && !below->shown)
		below = bt_frame_below(c, below);
	if (!frame->shown)
		return;
	if (below)
		open_last(ft, below);
	ft->begun = true;
}

static void leave(struct bt_calls *c, struct bt_frame *frame)
{
	struct flow_thread *ft = c->arg;

	if (!frame->shown)
		return;
	put_head(ft, frame, c->branches - frame->mark);
	if (ft->begun)
		put_function(ft, frame);
	else
		text_char(&ft->text, '}');
	text_char(&ft->text, '\n');
	ft->begun = false;
}

/* End the line of a function that has not returned: the next line comes after its name. */
static void open_top(struct flow_thread *ft)
{
	struct bt_frame *top;

	top = ft->calls->nr ? &ft->calls->frame[ft->calls->nr] : NULL;
	top = top ? bt_frame_below(ft->calls, top) : NULL;
	while (top && !top->shown)
		top = bt_frame_below(ft->calls, top);
	if (top)
		open_last(ft, top);
}

static void flow_exit(struct bt_session *s, struct bt_thread *t)
{
	struct flow_thread *ft = t->data;

	if (!ft)
		return;
	open_top(ft);
	end_piece(s, ft);
	bt_calls_free(ft->calls);
	text_close(&ft->text);
	free(ft);
	t->data = NULL;
}

static void flow_thread(struct bt_session *s, struct bt_thread *t)
{
	struct flow_thread *ft = bt_alloc(1, sizeof(*ft)), *before = t->data;
	struct flow *f = s->data;

	ft->clock = before ? before->clock : t->clock;
	ft->number = before ? before->number : f->nr_threads++;
	flow_exit(s, t);
	ft->s = s;
	ft->thread = t;
	text_open(&ft->text, -1);
	t->data = ft;
	ft->calls = bt_calls_new();
	ft->calls->enter = enter;
	ft->calls->leave = leave;
	ft->calls->arg = ft;
}

static void flow_lost(struct flow_thread *ft, u64 count)
{
	open_top(ft);
	put_thread(ft);
	if (count)
		text_print(&ft->text, "--- %" PRIu64 " records lost ---\n", count);
	else
		text_str(&ft->text, "--- records lost, not counted ---\n");
}

static void flow_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct flow_thread *ft = b->thread->data;

	switch (b->rec->type) {
	case X86_BTS_TASK_ARRIVES:
		ft->clock = b->rec->event.clock;
		return;
	case X86_BTS_TASK_DEPARTS:
		end_piece(s, ft);
		return;
	case X86_BTS_LOST:
		flow_lost(ft, b->rec->lost.count);
		break;
	}
	bt_calls_branch(ft->calls, b);
	if (ft->text.used > PIECE_MAX)
		end_piece(s, ft);
}

static void flow_note(struct bt_session *s, struct bt_thread *t, const char *what)
{
	struct flow_thread *ft = t->data;

	(void)s;
	open_top(ft);
	put_thread(ft);
	text_safe(&ft->text, what);
	text_char(&ft->text, '\n');
}

static void flow_end(struct bt_session *s)
{
	struct flow *f = s->data;

	flush_pieces(s);
	text_close(&f->text);
	free(f->piece);
	free(f);
}

const struct bt_output bt_out_flow = {
	.name = "flow",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE | BT_OUT_CLOCK | BT_OUT_FUNCTIONS | BT_OUT_CALLS,
	.begin = flow_begin,
	.thread = flow_thread,
	.branch = flow_branch,
	.note = flow_note,
	.exit = flow_exit,
	.end = flow_end,
};
