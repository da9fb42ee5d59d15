// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows calls in the order in which they were made, each below its caller. If
 * there are several threads, their lines are sorted in pieces. A piece has the lines of a
 * thread from the time when it was scheduled in until it was scheduled out, or a part of these
 * lines. The pieces are sorted by time or, with --by-thread, by thread.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "output.h"
#include "select.h"

/* Deeper calls are indented like calls of this depth. */
#define INDENT_MAX	40
/* A piece ends when its text has more bytes than this. The thread then begins another piece. */
#define PIECE_MAX	4096

/*
 * struct piece - the lines of a thread until it was scheduled out, or a part of these lines
 * @clock: the time when the thread was scheduled in before these lines, as far as is known
 * @thread: the number of the thread, counted from 0
 * @number: the index of the piece before the pieces are sorted
 * @begin: where its text begins in struct flow.text
 * @len: the length of its text
 */
struct piece {
	u64	clock;
	u64	thread;
	u64	number;
	size_t	begin;
	size_t	len;
};

/*
 * struct flow - the data of the output
 * @text: the texts of all pieces that were not written yet
 * @piece: these pieces
 * @nr: the number of pieces
 * @nr_threads: the number of threads so far
 */
struct flow {
	struct bt_text	text;
	struct piece	*piece;
	size_t		nr;
	size_t		room;
	u64		nr_threads;
};

/*
 * struct flow_thread - a thread
 * @calls: the calls that it is in
 * @s: the session
 * @thread: the thread
 * @text: the lines of its current piece
 * @number: the number of the thread, counted from 0
 * @clock: the time when it was last scheduled in, as far as is known
 * @line_pending: the line of the innermost shown function was not written yet, as it is unknown
 *	whether this function calls others
 */
struct flow_thread {
	struct bt_calls		*calls;
	struct bt_session	*s;
	struct bt_thread	*thread;
	struct bt_text		text;
	u64			number;
	u64			clock;
	bool			line_pending;
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

/* Sort and write all pieces. */
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

/*
 * If the pieces take too much memory, write them now. Pieces that come later are not sorted
 * among them.
 */
static void limit_pieces(struct bt_session *s)
{
	static const char said[] =
		"--- no more memory: what follows is sorted anew ---\n";
	struct flow *f = s->data;

	/* Use only half of the memory: bt_grow() may have made room for twice as much. */
	if (f->text.used + f->nr * sizeof(*f->piece) < s->memory / 2)
		return;
	flush_pieces(s);
	text_str(&s->text, said);
	s->incomplete = "what the threads did is sorted in parts";
}

/*
 * End the current piece of a thread. If there was only one thread so far, write the piece at
 * once: there is nothing to sort.
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

/*
 * If the line of the innermost shown function is still pending, write it. @frame is the frame of
 * this function.
 */
static void open_last(struct flow_thread *ft, const struct bt_frame *frame)
{
	if (!ft->line_pending)
		return;
	put_head(ft, frame, 0);
	put_function(ft, frame);
	text_str(&ft->text, " {\n");
	ft->line_pending = false;
}

static void enter(struct bt_calls *c, struct bt_frame *frame)
{
	struct flow_thread *ft = c->arg;
	struct bt_frame *below = bt_frame_caller(c, frame);

	bt_select_frame(ft->s, c, frame);
	frame->mark = c->branches - 1;
	while (below && !below->shown)
		below = bt_frame_caller(c, below);
	if (!frame->shown)
		return;
	if (below)
		open_last(ft, below);
	ft->line_pending = true;
}

static void leave(struct bt_calls *c, struct bt_frame *frame)
{
	struct flow_thread *ft = c->arg;

	if (!frame->shown)
		return;
	put_head(ft, frame, c->branches - frame->mark);
	if (ft->line_pending)
		put_function(ft, frame);
	else
		text_char(&ft->text, '}');
	text_char(&ft->text, '\n');
	ft->line_pending = false;
}

/* If the line of the innermost shown function is still pending, write it. */
static void open_top(struct flow_thread *ft)
{
	struct bt_frame *top;

	top = ft->calls->nr ? &ft->calls->frame[ft->calls->nr] : NULL;
	top = top ? bt_frame_caller(ft->calls, top) : NULL;
	while (top && !top->shown)
		top = bt_frame_caller(ft->calls, top);
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
	.flags = BT_OUT_PLACES | BT_OUT_CLOCK | BT_OUT_FUNCTIONS | BT_OUT_CALLS,
	.begin = flow_begin,
	.thread = flow_thread,
	.branch = flow_branch,
	.note = flow_note,
	.exit = flow_exit,
	.end = flow_end,
};
