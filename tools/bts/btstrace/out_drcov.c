// SPDX-License-Identifier: GPL-2.0
/* This file writes coverage in the format of DynamoRIO's drcov, version 2. */
#include <inttypes.h>
#include <stdlib.h>

#include "coverage.h"
#include "output.h"

static void drcov_begin(struct bt_session *s)
{
	s->data = coverage_new(s);
}

static void drcov_branch(struct bt_session *s, const struct bt_branch *b)
{
	coverage_branch(s->data, b);
}

static void drcov_ended_at(struct bt_session *s, struct bt_thread *t, u64 addr)
{
	coverage_ended_at(s->data, t, addr);
}

static void drcov_exit(struct bt_session *s, struct bt_thread *t)
{
	(void)s;
	coverage_exit(t);
}

static void put_modules(struct bt_text *t)
{
	const struct bt_module **by_id, *m;
	u32 id, n;

	by_id = coverage_modules(&n);
	text_print(t, "Module Table: version 2, count %u\n"
		   "Columns: id, base, end, entry, path\n", n);
	for (id = 0; id < n; id++) {
		m = by_id[id];
		text_print(t, "%u, 0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x%016" PRIx64 ", ", id,
			   m->base, m->end, (u64)0);
		text_safe(t, *m->path ? m->path : m->name);
		text_char(t, '\n');
	}
	free(by_id);
}

static void drcov_end(struct bt_session *s)
{
	struct coverage *c = s->data;
	struct bt_text *t = &s->text;
	const struct bt_block *b;
	size_t i;

	text_str(t, "DRCOV VERSION: 2\nDRCOV FLAVOR: btstrace\n");
	put_modules(t);
	text_print(t, "BB Table: %zu bbs\n", c->nr);
	for (i = 0; i < (size_t)1 << c->bits; i++) {
		b = &c->block[i];
		if (!b->size)
			continue;
		text_put(t, &b->start, sizeof(b->start));
		text_put(t, &b->size, sizeof(b->size));
		text_put(t, &b->module, sizeof(b->module));
	}
	coverage_free(s);
}

const struct bt_output bt_out_drcov = {
	.name = "drcov",
	.flags = BT_OUT_PLACES | BT_OUT_BINARY,
	.begin = drcov_begin,
	.branch = drcov_branch,
	.ended_at = drcov_ended_at,
	.exit = drcov_exit,
	.end = drcov_end,
};
