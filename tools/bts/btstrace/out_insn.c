// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows the instructions from the target of a branch to the next branch, with their
 * source lines.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "output.h"
#include "source.h"

/*
 * struct insn_thread - the state of a thread
 * @at:		the target of its last branch; 0 if this is in the kernel or unknown, or if the
 *	thread may have gone elsewhere since
 * @fn:		the function of the source line that was printed last
 * @file:	the file of that line
 * @line:	the number of that line
 */
struct insn_thread {
	u64				at;
	const struct bt_function	*fn;
	const char			*file;
	int				line;
};

static void insn_thread(struct bt_session *s, struct bt_thread *t)
{
	(void)s;
	free(t->data);
	t->data = bt_alloc(1, sizeof(struct insn_thread));
}

static void put_thread(struct bt_session *s, const struct bt_thread *t)
{
	if (s->many)
		text_print(&s->text, "[pid %d] ", t->tid);
}

/* Put the function and the source line of @place, unless these were put last for this thread. */
static void put_line(struct bt_session *s, const struct bt_thread *t, struct bt_place *place)
{
	struct insn_thread *it = t->data;
	const char *source;

	bt_place_line(place);
	if (place->fn == it->fn && place->file == it->file && place->line == it->line)
		return;
	it->fn = place->fn;
	it->file = place->file;
	it->line = place->line;
	put_thread(s, t);
	text_safe(&s->text, bt_function_name(place->fn));
	text_str(&s->text, " (");
	text_safe(&s->text, place->file ? place->file : place->module->name);
	if (place->file)
		text_print(&s->text, ":%d", place->line);
	text_char(&s->text, ')');
	source = place->file ? bt_source_line(place->file, place->line) : NULL;
	if (source) {
		text_str(&s->text, " | ");
		text_safe(&s->text, source);
	}
	text_char(&s->text, '\n');
}

/*
 * Put an instruction as text. If @place->changeable is false, use the text that @place->words
 * caches.
 */
static void put_words(struct bt_text *out, struct bt_space *space, struct bt_place *place)
{
	char words[256];
	u8 bytes[BT_INSN_MAX];
	struct bt_text t;
	size_t n, len;

	if (place->words && !place->changeable) {
		text_put(out, place->words, place->words_len);
		return;
	}
	n = bt_space_read(space, place->addr, bytes, sizeof(bytes));
	len = bt_format(bytes, n, place->addr, bt_space_is64(space, place), words, sizeof(words));
	text_open(&t, -1);
	text_print(&t, "  0x%" PRIx64 "  %s\n", place->addr, len ? words : "(cannot be read)");
	free(place->words);
	place->words = t.buf;
	place->words_len = t.used;
	text_put(out, place->words, place->words_len);
}

/*
 * Put one instruction, if the filter passes its function. Returns its length, or 0 if it
 * cannot be decoded.
 */
static size_t put_insn(struct bt_session *s, const struct bt_thread *t, u64 addr)
{
	struct bt_space *space = t->process->space;
	struct bt_place *place = bt_space_place(space, addr);

	if (bt_filter_function(s->filter, place->fn, place->module)) {
		put_line(s, t, place);
		put_thread(s, t);
		put_words(&s->text, space, place);
	}
	return bt_space_insn(space, place)->length;
}

/*
 * Put the instructions from the target of the last branch to @end, without the one at @end.
 * If @branch is true, the instruction at @end is the next branch, or the thread has entered the
 * kernel there: put it, too. Stop at an instruction that cannot be decoded.
 */
static void put_block(struct bt_session *s, const struct bt_thread *t, u64 end, bool branch)
{
	const struct insn_thread *it = t->data;
	u64 at = it->at;
	size_t len;

	/* It is not known where the code that led to @end begins: do not guess. */
	if (!at || end < at || end - at > BT_STRAIGHT_MAX)
		at = end;
	while (at < end || (branch && at == end)) {
		len = put_insn(s, t, at);
		if (!len || at == end)
			break;
		at += len;
	}
}

/*
 * Does the code at @at lead to @end without a call, a return or an unconditional jump? Returns
 * false if @at is 0, or if the code is longer than BT_STRAIGHT_MAX or cannot be decoded.
 */
static bool leads_to(struct bt_space *space, u64 at, u64 end)
{
	const struct bt_insn *insn;

	if (!at || end < at || end - at > BT_STRAIGHT_MAX)
		return false;
	for (; at < end; at += insn->length) {
		insn = bt_space_insn(space, bt_space_place(space, at));
		if (!insn->length || insn->kind == BT_CALL || insn->kind == BT_RET ||
		    insn->kind == BT_JMP)
			return false;
	}
	return at == end;
}

static void insn_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct insn_thread *it = b->thread->data;

	/*
	 * If leads_to() returns true, assume that the kernel has returned to the instruction that
	 * was interrupted, or to the one after a system call. Then the thread has executed the
	 * instructions from @it->at to there.
	 */
	if (b->rec->type == X86_BTS_LEAVE &&
	    leads_to(b->thread->process->space, it->at, b->to->addr))
		put_block(s, b->thread, b->to->addr, false);
	if (b->rec->type == X86_BTS_SIGNAL && b->from)
		put_block(s, b->thread, b->from->addr, false);
	if (bt_is_branch(b->rec) && b->from && !BT_IS_KERNEL(b->from->addr))
		put_block(s, b->thread, b->from->addr, true);
	switch (b->rec->type) {
	case X86_BTS_BRANCH:
	case X86_BTS_LEAVE:
		it->at = b->to && !BT_IS_KERNEL(b->to->addr) ? b->to->addr : 0;
		break;
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
		break;
	case X86_BTS_LOST:
		put_thread(s, b->thread);
		text_str(&s->text, "--- records lost ---\n");
		it->at = 0;
		break;
	default:
		it->at = 0;
	}
}

/*
 * The thread ends, or is detached. If the target of its last branch is known, put the code from
 * there to @addr.
 */
static void insn_ended_at(struct bt_session *s, struct bt_thread *t, u64 addr)
{
	const struct insn_thread *it = t->data;

	if (it->at)
		put_block(s, t, addr, false);
}

static void insn_note(struct bt_session *s, struct bt_thread *t, const char *what)
{
	put_thread(s, t);
	text_safe(&s->text, what);
	text_char(&s->text, '\n');
}

static void insn_exit(struct bt_session *s, struct bt_thread *t)
{
	(void)s;
	free(t->data);
	t->data = NULL;
}

static void insn_end(struct bt_session *s)
{
	(void)s;
	bt_source_free();
}

const struct bt_output bt_out_insn = {
	.name = "insn",
	.flags = BT_OUT_PLACES | BT_OUT_FUNCTIONS,
	.thread = insn_thread,
	.branch = insn_branch,
	.ended_at = insn_ended_at,
	.note = insn_note,
	.exit = insn_exit,
	.end = insn_end,
};
