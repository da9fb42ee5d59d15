// SPDX-License-Identifier: GPL-2.0
/* The Debug Store in memory, and the expected records. */
#include "metal.h"

#define FILL		0xa5
#define FILL_WORD	0xa5a5a5a5a5a5a5a5
#define REC_PREDICTED	0x10	/* the only valid bit in the third word of a record */
#define MAX_WANTS	512

static struct want wants[MAX_WANTS];
static u32 nr_wants;
static u64 area, end;

u64 ds_index_at;
u32 pmi_count, pmi_lvt, pmi_index, pmi_relvt;
u64 pmi_rip;

static u32 word_size(void)
{
	return machine.dtes64 ? 8 : 4;
}

u32 rec_size(void)
{
	return 3 * word_size();
}

static u64 word_at(u64 addr)
{
	return machine.dtes64 ? *(u64 *)addr : *(u32 *)addr;
}

u64 ds_get(enum ds_field field)
{
	return word_at(area + field * word_size());
}

void ds_set(enum ds_field field, u64 value)
{
	u64 addr = area + field * word_size();

	if (machine.dtes64)
		*(u64 *)addr = value;
	else
		*(u32 *)addr = value;
}

/*
 * Set up a Debug Store: the management area at @where, and a buffer of @bytes at @base, with a
 * threshold that cannot be reached. If @base is below the window, it must be above @where.
 */
void ds_place(u64 where, u64 base, u64 bytes)
{
	area = where;
	ds_index_at = area + DS_INDEX * word_size();
	end = WIN + WIN_PAGES * 4096;
	fill((void *)WIN, FILL, WIN_PAGES * 4096);
	if (base < WIN) {
		end = base + bytes;
		fill((void *)area, FILL, end - area);
	}
	ds_set(DS_BASE, base);
	ds_set(DS_INDEX, base);
	ds_set(DS_MAX, base + bytes);
	ds_set(DS_THRESHOLD, base + bytes + 1);
	wrmsr(MSR_DS_AREA, area);
}

void ds_default(void)
{
	ds_place(WIN, BUF, 4 * 4096 / rec_size() * rec_size());
}

/*
 * Returns the record at @addr. Its @before and @after are not CPLs: @before is 1 if a reserved bit
 * of the third word is set, and @after is 1 if the branch is marked as predicted.
 */
struct want rec_at(u64 addr)
{
	u64 flags = word_at(addr + 2 * word_size());

	return (struct want) {
		.from = word_at(addr),
		.to = word_at(addr + word_size()),
		.before = !!(flags & ~(u64)REC_PREDICTED),
		.after = !!(flags & REC_PREDICTED),
	};
}

/*
 * Returns whether the flags of the record @got are right for the branch @want: a machine that
 * predicts marks each branch backwards, or to itself, as predicted. Others mark none.
 */
bool same_flags(struct want got, struct want want)
{
	return !got.before && got.after == (machine.predicts && want.to <= want.from);
}

bool same_rec(struct want got, struct want want)
{
	u64 mask = machine.dtes64 ? ~0ull : 0xffffffff;

	return got.from == (want.from & mask) && got.to == (want.to & mask) &&
	       same_flags(got, want);
}

bool untouched(u64 from, u64 to)
{
	for (; from < to; from++) {
		while (from % 8 == 0 && from < to && *(u64 *)from == FILL_WORD)
			from += 8;
		if (from < to && *(u8 *)from != FILL)
			return expect(false, "byte 0x%x was written", from);
	}
	return true;
}

void want_none(void)
{
	nr_wants = 0;
}

void want_add(struct want w)
{
	if (expect(nr_wants < MAX_WANTS, "too many records expected"))
		wants[nr_wants++] = w;
}

struct want want_at(u32 nr)
{
	return wants[nr];
}

u32 want_count(void)
{
	return nr_wants;
}

/* Returns where to enter the chain (trace.S) for @n records, counting the jump into the chain. */
u64 chain_at(u32 n)
{
	return (u64)trace_done - 2 * (n - 1);
}

/* Expect records @first to @last - 1 of a chain of @n. */
void want_chain(u32 first, u32 last, u32 n)
{
	u32 i;

	for (i = first; i < last; i++) {
		want_add((struct want) {
			.from = i ? chain_at(n - i + 1) : (u64)trace_go,
			.to = chain_at(n - i),
		});
	}
}

void want_pmi(u64 rip, u64 handler, u64 iret)
{
	want_add((struct want) { .from = rip, .to = handler });
	want_add((struct want) { .from = iret, .to = rip });
}

void chain(u32 n, u32 debugctl)
{
	trace(chain_at(n), debugctl | DBG_ON);
}

static bool rule_says(const struct want *w, u32 cpl_mask)
{
	bool before = cpl_mask & 1 << w->before;
	bool after = cpl_mask & 1 << w->after;

	switch (machine.rule) {
	case RULE_BEFORE:
		return before;
	case RULE_EITHER:
		return before || after;
	default:
		return after;
	}
}

/* Returns whether a transfer is recorded with these TR, BTS and CPL filter bits of DEBUGCTL. */
bool stored(const struct want *w, u32 debugctl)
{
	u32 cpl_mask = 0;

	if ((debugctl & DBG_ON) != DBG_ON)
		return false;
	if (!(debugctl & DBG_OFF_OS))
		cpl_mask |= 1 << 0;
	if (!(debugctl & DBG_OFF_USR))
		cpl_mask |= 1 << 3;
	return rule_says(w, cpl_mask);
}

/*
 * Returns @w as this machine records it. With machine.wrong_from and a CPL filter bit, the record
 * of a change of the CPL has the target as its source.
 */
struct want spoilt(struct want w, u32 debugctl)
{
	if (machine.wrong_from && w.before != w.after &&
	    debugctl & (DBG_OFF_OS | DBG_OFF_USR))
		w.from = w.to;
	return w;
}

/* Check that the @n records at @base are the expected ones from number @first on. */
void expect_at(u64 base, u32 first, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		struct want *w = &wants[first + i];
		struct want got = rec_at(base + i * rec_size());

		if (!expect(same_rec(got, *w),
			    "record %u: 0x%x -> 0x%x%s%s, expected 0x%x -> 0x%x", (u64)(first + i),
			    got.from, got.to, got.after ? " predicted" : "",
			    got.before ? " with flags" : "", w->from, w->to))
			return;
	}
}

/* Check that a store that did not wrap has all expected records, and nothing else. Count them. */
void expect_store(void)
{
	u64 base = ds_get(DS_BASE);
	u64 bytes = ds_get(DS_INDEX) - base;
	u32 n = bytes / rec_size();

	if (!expect(bytes % rec_size() == 0 && n < MAX_WANTS, "index 0x%x, base 0x%x",
		    ds_get(DS_INDEX), base))
		return;
	expect_at(base, 0, n < nr_wants ? n : nr_wants);
	if (n > nr_wants) {
		struct want got = rec_at(base + nr_wants * rec_size());

		expect(false, "record %u: 0x%x -> 0x%x, expected none", (u64)nr_wants,
		       got.from, got.to);
	} else if (n < nr_wants) {
		expect(false, "record %u: none, expected 0x%x -> 0x%x", (u64)n,
		       wants[n].from, wants[n].to);
	}
	untouched(base + bytes, end);
	untouched(area + 4 * word_size(), area + 96);
	tally.records += nr_wants;
}

void tally_masked(u32 n)
{
	tally.masked += n;
	if (machine.kept)
		tally.kept += n;
}
