// SPDX-License-Identifier: GPL-2.0
/*
 * This file finds which code was executed. A block begins at the target of a branch. It ends
 * behind the next instruction that branches, or where the thread enters the kernel. A long block
 * is stored in pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "coverage.h"

#define BLOCKS_BITS	12
/* About how many bytes of memory a block needs, with what out_lcov.c allocates for it */
#define BLOCK_BYTES	160
#define SIZE_MAX_16	0xffff
/*
 * struct point - the target of a branch: its address, its module, and its offset in the
 * module. @known is false if the target is not known, or if its module has no ID.
 */
struct point {
	bool known;
	u64 addr;
	u64 offset;
	u32 module;
};

/*
 * struct coverage_thread - a thread
 * @last:	the target of its last branch
 * @before:	@last when the kernel last returned to an unexpected address, such as a handler
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
		s->incomplete = "some code that was executed is missing";
	free(c->block);
	free(c);
}

/* Returns the slot of @b. If @b is not in the table, returns a free slot for it (size 0). */
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

/*
 * Count the code from @first to @length bytes behind @last as executed. Count nothing if @first is
 * not known, if @last is in another module or before @first, as after missing records, or if the
 * ID of the module or an offset is too large for struct bt_block.
 */
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
 * Decode the code from @p to @limit, or to an earlier system call or INT instruction. Returns
 * @limit, or the address behind the earlier instruction. Returns 0 if @p is not known, if the code
 * cannot be decoded, or if an unconditional branch, for example, is in between.
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

/*
 * The kernel returns to @to, or would do so if the trace of the thread went on. If the thread can
 * have run straight from @p until it entered the kernel, count this code as executed; else return
 * false.
 */
static bool cover_entry(struct coverage *c, struct bt_space *space, const struct point *p, u64 to)
{
	u64 end = leads_to(space, p, to);
	const struct bt_insn *next;

	if (!end)
		return false;
	/*
	 * After SYSENTER, the kernel returns to the address behind the INT 0x80 that follows
	 * it.
	 */
	next = bt_space_insn(space, bt_space_place(space, end));
	if (end != to && (next->kind != BT_SYSCALL || end + next->length != to))
		return false;
	cover(c, p, bt_space_place(space, end), 0);
	return true;
}

/* Count the code from @p to the next system call as executed: the thread has made this call. */
static void cover_to_call(struct coverage *c, struct bt_space *space, const struct point *p)
{
	u64 end = leads_to(space, p, p->addr + BT_STRAIGHT_MAX);

	if (end)
		cover(c, p, bt_space_place(space, end), 0);
}

/*
 * The kernel returns to @b->to. The record does not tell where the thread entered the kernel. If
 * that can have been at @b->to, or by a system call right before, count the code up to there as
 * executed. Otherwise, a signal handler may begin, or it may end, and the thread continues where it
 * was before the handler. For a handler with X86_BTS_SIGNAL and X86_BTS_SIGRETURN,
 * coverage_branch() counts the code instead.
 */
static void leave_kernel(struct coverage *c, struct coverage_thread *d, const struct bt_branch *b)
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
		leave_kernel(c, d, b);
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

/* Called after the last record of @t, which would have executed @addr next. */
void coverage_ended_at(struct coverage *c, struct bt_thread *t, u64 addr)
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
 * Returns an array of *@n modules, in which the ID of a module is its index. The caller frees
 * the array. All modules of one file have one ID: the first stands for all.
 */
const struct bt_module **coverage_modules(u32 *n)
{
	const struct bt_module **by_id = NULL, *m;
	size_t room = 0;

	*n = 0;
	/* bt_modules() are in the order in which they got their IDs, which count from 0. */
	for (m = bt_modules(); m; m = m->next) {
		if (m->id != *n)
			continue;
		by_id = bt_grow(by_id, &room, *n + 1, sizeof(*by_id));
		by_id[(*n)++] = m;
	}
	return by_id;
}
