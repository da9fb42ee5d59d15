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

/* As it stands in the file */
struct block {
	u32 start;	/* from the beginning of the module */
	u16 size;
	u16 module;
};

/**
 * struct coverage - blocks, each once, in a hash table of 2^bits
 */
struct coverage {
	struct block	*block;
	int		bits;
	size_t		nr;
};

/* Where a thread's last branch went */
struct drcov_thread {
	bool known;
	u64 offset;
	u32 module;
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

/* From where the last branch went to the end of the instruction at @from. */
static void cover(struct coverage *c, const struct drcov_thread *d, struct bt_place *from)
{
	u64 start = d->offset, end = from->module_offset + from->insn.length;
	struct block b = { .module = d->module };

	if (!d->known || d->module != from->module->id || d->module >= UINT16_MAX ||
	    end <= start || end > UINT32_MAX || !from->insn.length)
		return;
	for (; start < end; start += b.size) {
		b.start = start;
		b.size = end - start < SIZE_MAX_16 ? end - start : SIZE_MAX_16;
		add_block(c, &b);
	}
}

static void drcov_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct drcov_thread *d = b->thread->data;

	if (!d) {
		d = bt_alloc(1, sizeof(*d));
		b->thread->data = d;
	}
	if (b->from)
		cover(s->data, d, b->from);
	switch (b->rec->qualifier) {
	case BTS_BRANCH:
	case BTS_LEAVE:
		d->known = b->to->module->id != UINT32_MAX;
		d->offset = b->to->module_offset;
		d->module = b->to->module->id;
		break;
	case BTS_TASK_ARRIVES:
	case BTS_TASK_DEPARTS:
		break;
	default:
		d->known = false;
	}
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
	.exit = drcov_exit,
	.end = drcov_end,
};
