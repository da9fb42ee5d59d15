// SPDX-License-Identifier: GPL-2.0
/*
 * This file finds out which code was executed. A block is all instructions between the
 * target of a branch and the next branch.
 */
#include <stdlib.h>
#include <string.h>

#include "coverage.h"

#define BLOCKS_BITS	12
/* A block needs so much memory, with the edges that out_lcov.c makes of it. */
#define BLOCK_BYTES	160
#define SIZE_MAX_16	0xffff
/* A point is the target of a branch. */
struct point {
	bool known;
	u64 addr;
	u64 offset;
	u32 module;
};

/*
 * struct coverage_thread - a thread
 * @last:	where its last branch went
 * @before:	likewise, before the kernel put in a signal's handler
 */
struct coverage_thread {
	struct point last;
	struct point before;
};

struct coverage *coverage_new(const struct bt_session *s)
{
	struct coverage *c = bt_alloc(1, sizeof(*c));

	c->bits = BLOCKS_BITS;
	c->max = s->memory / BLOCK_BYTES;
	c->block = bt_alloc((size_t)1 << c->bits, sizeof(*c->block));
	return c;
}

void coverage_free(struct bt_session *s)
{
	struct coverage *c = s->data;

	if (c->full)
		s->short_of = "some code that was executed is missing";
	free(c->block);
	free(c);
}

/* A slot of the table is free if its block has no size. */
static struct bt_block *find_block(struct coverage *c, const struct bt_block *b)
{
	size_t at = bt_hash((u64)b->start << 32 | (u32)b->size << 16 | b->module, c->bits);

	while (c->block[at].size && (c->block[at].start != b->start ||
				     c->block[at].size != b->size ||
				     c->block[at].module != b->module))
		at = (at + 1) & (((size_t)1 << c->bits) - 1);
	return &c->block[at];
}

static void add_block(struct coverage *c, const struct bt_block *b)
{
	struct bt_block *at = find_block(c, b), *old = c->block;
	size_t i, n = (size_t)1 << c->bits;

	if (at->size) {
		at->times++;
		return;
	}
	if (c->nr == c->max) {
		c->full = true;
		return;
	}
	*at = *b;
	at->times = 1;
	if (++c->nr <= n / 2)
		return;
	c->bits++;
	c->block = bt_alloc(n * 2, sizeof(*b));
	for (i = 0; i < n; i++)
		if (old[i].size)
			*find_block(c, &old[i]) = old[i];
	free(old);
}

/* Cover the code from @first to @length bytes behind @last. */
static void cover(struct coverage *c, const struct point *first, const struct bt_place *last,
		  u32 length)
{
	u64 start = first->offset, end = last->module_offset + length;
	struct bt_block b = { .module = first->module };

	if (!first->known || first->module != last->module->id || first->module >= UINT16_MAX ||
	    end <= start || end > UINT32_MAX)
		return;
	for (; start < end; start += b.size) {
		b.start = start;
		b.size = end - start < SIZE_MAX_16 ? end - start : SIZE_MAX_16;
		add_block(c, &b);
	}
}

/*
 * Follow the code at @p, without a branch that is always taken, up to @limit, or behind a
 * system call before it. Returns the address, or 0 if the code leads elsewhere.
 */
static u64 leads_to(struct bt_space *space, const struct point *p, u64 limit)
{
	const struct bt_insn *insn;
	u64 at = p->addr;

	if (!p->known || limit < at || limit - at > BT_STRAIGHT_MAX)
		return 0;
	for (; at < limit; at += insn->length) {
		insn = bt_space_insn(space, bt_space_place(space, at));
		if (insn->kind == BT_SYSCALL || insn->kind == BT_INTERRUPT)
			return at + insn->length;
		if (!insn->length || (insn->kind != BT_UNKNOWN && insn->kind != BT_JCC))
			return 0;
	}
	return at == limit ? at : 0;
}

/* Cover what was executed from @p on, if the kernel was entered there and returns to @to. */
static bool cover_entry(struct coverage *c, struct bt_space *space, const struct point *p, u64 to)
{
	u64 end = leads_to(space, p, to);
	const struct bt_insn *next;

	if (!end)
		return false;
	/* After SYSENTER the kernel returns behind the INT 0x80 that follows it. */
	next = bt_space_insn(space, bt_space_place(space, end));
	if (end != to && (next->kind != BT_SYSCALL || end + next->length != to))
		return false;
	cover(c, p, bt_space_place(space, end), 0);
	return true;
}

/* Cover what was executed from @p to the system call that the thread has made then. */
static void cover_to_call(struct coverage *c, struct bt_space *space, const struct point *p)
{
	u64 end = leads_to(space, p, p->addr + BT_STRAIGHT_MAX);

	if (end)
		cover(c, p, bt_space_place(space, end), 0);
}

/*
 * The thread returns from the kernel: to where it entered it, into a handler, or from the
 * end of a handler. The entry may be a system call.
 */
static void end_in_kernel(struct coverage *c, struct coverage_thread *d, const struct bt_branch *b)
{
	struct bt_space *space = b->thread->process->space;

	if (cover_entry(c, space, &d->last, b->to->addr))
		return;
	if (!cover_entry(c, space, &d->before, b->to->addr)) {
		d->before = d->last;
		return;
	}
	d->before.known = false;
	cover_to_call(c, space, &d->last);
}

void coverage_branch(struct coverage *c, const struct bt_branch *b)
{
	struct coverage_thread *d = b->thread->data;

	if (!d) {
		d = bt_alloc(1, sizeof(*d));
		b->thread->data = d;
	}
	if (bt_is_signal(b->rec)) {
		if (b->from)
			cover(c, &d->last, b->from, 0);
	} else if (b->from && b->from->insn.length) {
		cover(c, &d->last, b->from, b->from->insn.length);
	} else if (b->rec->type == X86_BTS_LEAVE) {
		end_in_kernel(c, d, b);
	}
	switch (b->rec->type) {
	case X86_BTS_BRANCH:
	case X86_BTS_LEAVE:
		d->last = (struct point){
			.known = b->to->module->id != UINT32_MAX, .addr = b->to->addr,
			.offset = b->to->module_offset, .module = b->to->module->id,
		};
		break;
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
		break;
	default:
		if (b->rec->type == X86_BTS_EXEC)
			cover_to_call(c, b->thread->process->space, &d->last);
		memset(d, 0, sizeof(*d));
	}
}

/* A thread that ends has executed all before @addr. */
void coverage_last(struct coverage *c, struct bt_thread *t, u64 addr)
{
	struct coverage_thread *d = t->data;

	if (d)
		cover_entry(c, t->process->space, &d->last, addr);
}

void coverage_exit(struct bt_thread *t)
{
	free(t->data);
	t->data = NULL;
}

/*
 * Returns the modules by the IDs that the blocks have; the caller frees the list. A file
 * that was mapped at several addresses has one ID: the first module stands for all.
 */
const struct bt_module **coverage_modules(u32 *n)
{
	const struct bt_module **by_id = NULL, *m;
	size_t room = 0;

	*n = 0;
	/* The list has the modules in the order of their IDs. */
	for (m = bt_modules(); m; m = m->next) {
		if (m->id != *n)
			continue;
		by_id = bt_grow(by_id, &room, *n + 1, sizeof(*by_id));
		by_id[(*n)++] = m;
	}
	return by_id;
}
