// SPDX-License-Identifier: GPL-2.0
/* Compare taken branches with records, and report the first difference. */
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define BEFORE		8
#define BEHIND		4096
#define SHOWN		8

struct record {
	u64 from;
	u64 to;
};

struct compare {
	struct decoder *d;
	const struct blob *records;
	const struct options *opt;
	FILE *out;
	size_t size;		/* of a record */
	size_t pos;		/* of the next record, in bytes */
	u64 nr;			/* records that were equal to their branch */
	u64 skip;		/* branches still to be skipped before the first record */
	u64 padding;		/* records passed over by next_record() */
	u64 open_taken;
	bool differs;
	u64 nr_before;
	struct branch before[BEFORE];
	unsigned int nr_behind;
	struct branch behind[BEHIND];
};

static u64 record_field(const struct compare *c, size_t pos, unsigned int field)
{
	const u8 *p = c->records->data + pos;
	u64 val = 0;

	memcpy(&val, p + field * c->size / 3, c->size / 3);
	return val;
}

/*
 * Find the first record at *@pos or behind. Skip records of zeroes, with which perf pads buffers,
 * and with --user-addresses those with kernel addresses. Returns false at the end.
 */
static bool next_record(struct compare *c, size_t *pos, struct record *rec)
{
	while (c->records->size - *pos >= c->size) {
		rec->from = record_field(c, *pos, 0);
		rec->to = record_field(c, *pos, 1);
		if (rec->from || rec->to || record_field(c, *pos, 2)) {
			if (!c->opt->user_addresses ||
			    !((rec->from | rec->to) >> 63))
				return true;
		}
		*pos += c->size;
		c->padding++;
	}
	return false;
}

static bool same(const struct compare *c, const struct record *rec,
		 const struct branch *br)
{
	u64 mask = c->size == 12 ? UINT32_MAX : UINT64_MAX;

	if (c->opt->last && !rec->from && is_user_address(br->from))
		return rec->to == (br->to & mask);
	return rec->from == (br->from & mask) && rec->to == (br->to & mask);
}

static void list_branch(const struct compare *c, const char *mark,
			const struct branch *br)
{
	char text[64];

	if (br->vector >= 0)
		snprintf(text, sizeof(text), "vector %#x", br->vector);
	else
		disassemble(c->d, br->from, br->mode, text, sizeof(text));
	fprintf(c->out, "%s %#18llx -> %#18llx  cpl %d->%d  line %llu: %s%s\n",
		mark, (unsigned long long)br->from, (unsigned long long)br->to,
		br->cpl_from, br->cpl_to, (unsigned long long)br->line, text,
		br->open ? " (taken or not: open)" : "");
}

static bool on_branch(void *arg, const struct branch *br)
{
	struct compare *c = arg;
	struct record rec;

	if (c->opt->list) {
		list_branch(c, " ", br);
		return true;
	}
	if (c->skip) {
		c->skip--;
		return true;
	}
	if (c->differs) {
		c->behind[c->nr_behind++] = *br;
		return c->nr_behind < BEHIND;
	}
	if (c->opt->last && c->pos == c->records->size)
		return false;
	if (next_record(c, &c->pos, &rec) && same(c, &rec, br)) {
		c->pos += c->size;
		c->nr++;
		c->open_taken += br->open;
		c->before[c->nr_before++ % BEFORE] = *br;
		return true;
	}
	if (br->open)
		return true;
	c->differs = true;
	c->behind[c->nr_behind++] = *br;
	return true;
}

/*
 * Returns how many records are missing: the number of branches to skip from the first difference
 * on, until the next two records match, or the next one if no second record or branch is left.
 * Returns -1 if they match nowhere, or if no record is left.
 */
static int branches_missing(const struct compare *c)
{
	struct record one, two;
	size_t pos = c->pos;
	unsigned int i;
	bool more;

	if (!next_record((struct compare *)c, &pos, &one))
		return -1;
	pos += c->size;
	more = next_record((struct compare *)c, &pos, &two);
	for (i = 0; i < c->nr_behind; i++) {
		if (!same(c, &one, &c->behind[i]))
			continue;
		if (!more || i + 1 == c->nr_behind ||
		    same(c, &two, &c->behind[i + 1]))
			return i;
	}
	return -1;
}

static int records_extra(const struct compare *c)
{
	size_t pos = c->pos;
	struct record rec;
	int i;

	for (i = 0; i < BEHIND; i++) {
		if (!next_record((struct compare *)c, &pos, &rec))
			return c->nr_behind ? -1 : i;
		if (c->nr_behind && same(c, &rec, &c->behind[0]))
			return i;
		pos += c->size;
	}
	return c->nr_behind ? -1 : i;
}

static void name_difference(const struct compare *c)
{
	size_t pos = c->pos;
	struct record rec;
	int missing, extra;

	fprintf(c->out, "oracle: first difference at record %llu: ",
		(unsigned long long)c->nr);
	if (!next_record((struct compare *)c, &pos, &rec)) {
		fprintf(c->out, "%s%u missing, the records end here\n",
			c->nr_behind == BEHIND ? "at least " : "", c->nr_behind);
		return;
	}
	missing = branches_missing(c);
	extra = records_extra(c);
	if (!c->nr_behind)
		fprintf(c->out, "%d extra, no branch is left\n", extra);
	else if (missing > 0 && (extra < 0 || missing <= extra))
		fprintf(c->out, "%d missing\n", missing);
	else if (extra > 0)
		fprintf(c->out, "%d extra\n", extra);
	else
		fprintf(c->out, "wrong\n");
}

static void show_difference(const struct compare *c)
{
	u64 first = c->nr_before < BEFORE ? 0 : c->nr_before - BEFORE;
	size_t pos = c->pos;
	struct record rec;
	unsigned int i;

	name_difference(c);
	fprintf(c->out, "equal before it:\n");
	for (; first < c->nr_before; first++)
		list_branch(c, " ", &c->before[first % BEFORE]);
	fprintf(c->out, "executed:\n");
	for (i = 0; i < c->nr_behind && i < SHOWN; i++)
		list_branch(c, "-", &c->behind[i]);
	fprintf(c->out, "recorded:\n");
	for (i = 0; i < SHOWN; i++, pos += c->size) {
		if (!next_record((struct compare *)c, &pos, &rec))
			break;
		fprintf(c->out, "+ %#18llx -> %#18llx\n",
			(unsigned long long)rec.from, (unsigned long long)rec.to);
	}
}

static u64 need_count(const struct totals *tot, const char *name)
{
	u64 sum = 0;
	int i;

	if (!strcmp(name, "irq")) {
		for (i = 32; i < 256; i++)
			sum += tot->vectors[i];
		return sum;
	}
	if (name[0] == 'v')
		return tot->vectors[strtoul(name + 1, NULL, 16) & 0xff];
	for (i = 0; i < NR_INSN_KINDS; i++) {
		if (!strcmp(name, insn_kind_name(i)))
			return tot->kinds[i];
	}
	if (!strcmp(name, "branches"))
		return tot->branches;
	die("--need %s: no such kind of branch", name);
}

/*
 * Check that the kinds of branches in --need occurred: without an IRET, a comparison proves
 * nothing about IRET.
 */
static bool needs_met(const struct compare *c, const struct totals *tot)
{
	char *list, *item, *save = NULL, *eq;
	bool met = true;
	u64 want;

	if (!c->opt->need)
		return true;
	list = strdup(c->opt->need);
	if (!list)
		die("out of memory");
	for (item = strtok_r(list, ",", &save); item;
	     item = strtok_r(NULL, ",", &save)) {
		eq = strchr(item, '=');
		want = eq ? strtoull(eq + 1, NULL, 0) : 1;
		if (eq)
			*eq = '\0';
		if (need_count(tot, item) >= want)
			continue;
		fprintf(c->out, "oracle: %llu %s in the window, %llu needed\n",
			(unsigned long long)need_count(tot, item), item,
			(unsigned long long)want);
		met = false;
	}
	free(list);
	return met;
}

static void print_totals(const struct compare *c, const struct totals *tot)
{
	int i;

	fprintf(c->out, "oracle: %llu instructions, %llu restarts, %llu writes to DEBUGCTL",
		(unsigned long long)tot->insns, (unsigned long long)tot->restarts,
		(unsigned long long)tot->switches);
	fprintf(c->out, "; branches:");
	for (i = 0; i < NR_INSN_KINDS; i++) {
		if (tot->kinds[i])
			fprintf(c->out, " %s %llu", insn_kind_name(i),
				(unsigned long long)tot->kinds[i]);
	}
	fprintf(c->out, "; vectors:");
	for (i = 0; i < 256; i++) {
		if (tot->vectors[i])
			fprintf(c->out, " %#x %llu", i,
				(unsigned long long)tot->vectors[i]);
	}
	fprintf(c->out, "\n");
}

static enum verdict conclude(struct compare *c, const struct totals *tot)
{
	struct record rec;

	if (!c->differs && next_record(c, &c->pos, &rec))
		c->differs = true;
	if (!c->differs && c->records->size % c->size) {
		fprintf(c->out, "oracle: %zu bytes behind the last record\n",
			c->records->size % c->size);
		return V_DIFFERENT;
	}
	if (c->differs) {
		show_difference(c);
		return V_DIFFERENT;
	}
	if (!needs_met(c, tot))
		return V_DIFFERENT;
	fprintf(c->out, "oracle: %llu records equal, 0 wrong, 0 missing, 0 extra",
		(unsigned long long)c->nr);
	fprintf(c->out, "; %llu passed over, %llu of %llu open ones taken\n",
		(unsigned long long)c->padding,
		(unsigned long long)c->open_taken, (unsigned long long)tot->open);
	return V_EQUAL;
}

static bool count_branch(void *arg, const struct branch *br)
{
	u64 *nr = arg;

	(void)br;
	++*nr;
	return true;
}

/*
 * For --last: set c->skip to the number of branches before the one of the first record, if all open
 * branches were taken. Returns NULL, or an error.
 */
static const char *skip_to_last(struct compare *c, const struct execlog *log)
{
	u64 nr = 0, wanted = c->records->size / c->size + c->opt->newer;
	struct totals tot = { 0 };
	struct execlog copy = *log;
	const char *error;

	error = walk_branches(&copy, c->d, c->opt, &tot, count_branch, &nr);
	if (error)
		return error;
	if (nr < wanted)
		return "fewer branches than records";
	c->skip = nr - wanted;
	return NULL;
}

enum verdict compare(struct execlog *log, struct decoder *d,
		     const struct blob *records, const struct options *opt,
		     FILE *out)
{
	struct totals tot = { 0 };
	struct compare *c;
	const char *error = NULL;
	enum verdict v;

	c = calloc(1, sizeof(*c));
	if (!c)
		die("out of memory");
	c->d = d;
	c->records = records;
	c->opt = opt;
	c->out = out;
	c->size = opt->layout == 32 ? 12 : 24;
	if (opt->last)
		error = skip_to_last(c, log);
	if (!error)
		error = walk_branches(log, d, opt, &tot, on_branch, c);
	print_totals(c, &tot);
	if (error) {
		fprintf(out, "oracle: %s\n", error);
		v = V_BAD_LOG;
	} else {
		v = opt->list ? V_EQUAL : conclude(c, &tot);
	}
	free(c);
	return v;
}
