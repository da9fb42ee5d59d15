// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage in the format of DynamoRIO's drcov, version 2. Between where a branch
 * went and the next branch all instructions were executed: that is a block.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define FIRST_BITS	12
#define SIZE_MAX_16	0xffff
/* Longer code without a branch is none. */
#define STRAIGHT_MAX	0x10000

/* As it stands in the file */
struct block {
	u32 start;	/* from the beginning of the module */
	u16 size;
	u16 module;
};

/*
 * struct coverage - blocks, each once, in a hash table of 2^bits
 */
struct coverage {
	struct block	*block;
	int		bits;
	size_t		nr;
};

/* Where a branch went */
struct point {
	bool known;
	u64 addr;
	u64 offset;
	u32 module;
};

/*
 * struct drcov_thread - a thread
 * @last:	where its last branch went
 * @before:	likewise, before the kernel put in a signal's handler
 */
struct drcov_thread {
	struct point last;
	struct point before;
};

static void drcov_begin(struct bt_session *s)
{
	struct coverage *c = bt_alloc(1, sizeof(*c));

	c->bits = FIRST_BITS;
	c->block = bt_alloc((size_t)1 << c->bits, sizeof(*c->block));
	s->data = c;
}

/* A block has a size, or the slot is free. */
static struct block *find_block(struct coverage *c, const struct block *b)
{
	size_t at = bt_hash((u64)b->start << 32 | (u32)b->size << 16 | b->module, c->bits);

	while (c->block[at].size && memcmp(&c->block[at], b, sizeof(*b)))
		at = (at + 1) & (((size_t)1 << c->bits) - 1);
	return &c->block[at];
}

static void add_block(struct coverage *c, const struct block *b)
{
	struct block *at = find_block(c, b), *old = c->block;
	size_t i, n = (size_t)1 << c->bits;

	if (at->size)
		return;
	*at = *b;
	if (++c->nr <= n / 2)
		return;
	c->bits++;
	c->block = bt_alloc(n * 2, sizeof(*b));
	for (i = 0; i < n; i++)
		if (old[i].size)
			*find_block(c, &old[i]) = old[i];
	free(old);
}

/* From @first to @length bytes behind @last. */
static void cover(struct coverage *c, const struct point *first, const struct bt_place *last,
		  u32 length)
{
	u64 start = first->offset, end = last->module_offset + length;
	struct block b = { .module = first->module };

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
 * Where the code at @p leads to without a branch that is always taken: to @limit,
 * or behind a system call before it; or nowhere, 0.
 */
static u64 leads_to(struct bt_space *space, const struct point *p, u64 limit)
{
	const struct bt_insn *insn;
	u64 at = p->addr;

	if (!p->known || limit < at || limit - at > STRAIGHT_MAX)
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
	u64 end = leads_to(space, p, p->addr + STRAIGHT_MAX);

	if (end)
		cover(c, p, bt_space_place(space, end), 0);
}

/*
 * The kernel returns to where it was entered, if it does not go to a signal's
 * handler, or comes from its end: a system call, too.
 */
static void end_in_kernel(struct coverage *c, struct drcov_thread *d, const struct bt_branch *b)
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

static void drcov_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct drcov_thread *d = b->thread->data;

	if (!d) {
		d = bt_alloc(1, sizeof(*d));
		b->thread->data = d;
	}
	if (bt_is_signal(b->rec)) {
		if (b->from)
			cover(s->data, &d->last, b->from, 0);
	} else if (b->from && b->from->insn.length) {
		cover(s->data, &d->last, b->from, b->from->insn.length);
	} else if (b->rec->type == X86_BTS_LEAVE) {
		end_in_kernel(s->data, d, b);
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
			cover_to_call(s->data, b->thread->process->space, &d->last);
		memset(d, 0, sizeof(*d));
	}
}

/* A thread that ends has executed all before @addr. */
static void drcov_last(struct bt_session *s, struct bt_thread *t, u64 addr)
{
	struct drcov_thread *d = t->data;

	if (d)
		cover_entry(s->data, t->process->space, &d->last, addr);
}

static void drcov_exit(struct bt_session *s, struct bt_thread *t)
{
	(void)s;
	free(t->data);
	t->data = NULL;
}

/* The same file may have been mapped at several places: the first will do. */
static const struct bt_module *module_by_id(u32 id)
{
	const struct bt_module *m = bt_modules();

	while (m && m->id != id)
		m = m->next;
	return m;
}

static void drcov_end(struct bt_session *s)
{
	struct coverage *c = s->data;
	struct bt_text *t = &s->text;
	const struct bt_module *m;
	u32 id, n = 0;
	size_t i;

	while (module_by_id(n))
		n++;
	text_print(t, "DRCOV VERSION: 2\nDRCOV FLAVOR: btstrace\n"
		   "Module Table: version 2, count %u\n"
		   "Columns: id, base, end, entry, path\n", n);
	for (id = 0; id < n; id++) {
		m = module_by_id(id);
		text_print(t, "%u, 0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x%016" PRIx64 ", ", id,
			   m->base, m->end, (u64)0);
		text_safe(t, *m->path ? m->path : m->name);
		text_char(t, '\n');
	}
	text_print(t, "BB Table: %zu bbs\n", c->nr);
	for (i = 0; i < (size_t)1 << c->bits; i++)
		if (c->block[i].size)
			text_put(t, &c->block[i], sizeof(c->block[i]));
	free(c->block);
	free(c);
}

const struct bt_output bt_out_drcov = {
	.name = "drcov",
	.flags = BT_OUT_PLACES | BT_OUT_WHOLE,
	.begin = drcov_begin,
	.branch = drcov_branch,
	.last = drcov_last,
	.exit = drcov_exit,
	.end = drcov_end,
};
