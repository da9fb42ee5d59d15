// SPDX-License-Identifier: GPL-2.0
/* Tests of the store: its fields, as a ring, as a buffer that fills up, and the pages it is in. */
#include "metal.h"

#define PTE_P		1
#define PTE_W		2
#define PTE_U		4
#define PTE_A		0x20
#define PTE_D		0x40
#define PAGE		4096

static void set_pte(u64 addr, u64 clear, u64 set)
{
	u64 *pte = window_pte(addr);

	*pte = (*pte & ~clear) | set;
	invlpg(addr);
}

static void expect_index(u64 want)
{
	u64 got = ds_get(DS_INDEX);

	if (!machine.dtes64)
		want = (u32)want;
	expect(got == want, "index 0x%x, expected 0x%x", got, want);
}

static void expect_same_store(u64 base, u64 max, u64 threshold)
{
	expect(ds_get(DS_BASE) == base && ds_get(DS_MAX) == max &&
	       ds_get(DS_THRESHOLD) == threshold, "a field beside the index changed");
}

TEST(fields, "only the index changes in the management area")
{
	u64 max = ds_get(DS_MAX);

	chain(5, 0);
	want_chain(0, 5, 5);
	expect_store();
	expect_same_store(BUF, max, max + 1);
}

TEST(not_active, "TR alone and BTS alone record nothing")
{
	trace(chain_at(4), DBG_TR);
	expect_store();
	trace(chain_at(4), DBG_BTS | DBG_BTINT);
	expect_store();
	trace(chain_at(4), DBG_LBR | DBG_BTF);
	expect_store();
}

TEST(append, "the index says where the next record goes")
{
	chain(3, 0);
	chain(2, 0);
	want_chain(0, 3, 3);
	want_chain(0, 2, 2);
	expect_store();
}

/* Check what @n branches leave in a buffer of @slots records and @spare bytes that wraps. */
static void ring(u32 slots, u32 spare, u32 n)
{
	u32 size = rec_size(), last = n % slots, i;
	u64 max = BUF + slots * size + spare;

	want_none();
	ds_place(WIN, BUF, slots * size + spare);
	chain(n, 0);
	want_chain(0, n, n);
	for (i = 0; i < slots; i++)
		expect_at(BUF + i * size, i < last ? n - last + i : n - last - slots + i, 1);
	expect_index(BUF + last * size);
	untouched(BUF + slots * size, WIN + WIN_PAGES * PAGE);
	expect_same_store(BUF, max, max + 1);
	tally.records += n;
	tally.wraps += n / slots;
}

TEST(wrap_once, "BTINT = 0: at the maximum the next record goes to the base")
{
	ring(4, 0, 6);
}

TEST(wrap_often, "a ring of 3 and of 7 wraps again and again")
{
	ring(3, 0, 100);
	ring(7, 0, 50);
}

TEST(wrap_exact, "a ring that is exactly full holds every record, then wraps")
{
	u32 size = rec_size();
	u64 index;

	ds_place(WIN, BUF, 4 * size);
	chain(4, 0);
	want_chain(0, 4, 4);
	expect_at(BUF, 0, 4);
	index = ds_get(DS_INDEX);
	expect(index == BUF || index == BUF + 4 * size, "index 0x%x", index);
	untouched(BUF + 4 * size, WIN + WIN_PAGES * PAGE);
	chain(1, 0);
	want_none();
	want_chain(0, 1, 1);
	expect_at(BUF, 0, 1);
	expect_index(BUF + size);
	tally.records += 5;
	tally.wraps++;
}

TEST(wrap_partial, "a maximum inside a record: wrap before it, never a partial record")
{
	ring(4, 1, 6);
	ring(4, rec_size() - 1, 7);
}

TEST(wrap_beyond, "BTINT = 0: an index beyond the maximum goes to the base")
{
	u32 size = rec_size();

	ds_place(WIN, BUF, 4 * size);
	ds_set(DS_INDEX, BUF + 5 * size);
	chain(2, 0);
	want_chain(0, 2, 2);
	expect_at(BUF, 0, 2);
	expect_index(BUF + 2 * size);
	untouched(BUF + 2 * size, WIN + WIN_PAGES * PAGE);
	tally.records += 2;
	tally.wraps++;
}

/* Check what @n branches leave in a buffer of @slots records and @spare bytes that fills up. */
static void stop(u32 slots, u32 spare, u32 n)
{
	u32 size = rec_size();

	want_none();
	ds_place(WIN, BUF, slots * size + spare);
	chain(n, DBG_BTINT);
	want_chain(0, slots, n);
	expect_store();
	expect_index(BUF + slots * size);
	chain(3, DBG_BTINT);
	expect_at(BUF, 0, slots);
	expect_index(BUF + slots * size);
	untouched(BUF + slots * size, WIN + WIN_PAGES * PAGE);
	tally.full += n - slots + 3;
}

TEST(stop_full, "BTINT = 1: at the maximum records are lost, the index stays")
{
	stop(4, 0, 6);
	stop(1, 0, 3);
}

TEST(stop_partial, "BTINT = 1: a maximum inside a record is not passed, not even in part")
{
	stop(4, 1, 6);
	stop(4, rec_size() / 2, 6);
	stop(4, rec_size() - 1, 6);
}

TEST(stop_beyond, "BTINT = 1: an index beyond the maximum stays where it is")
{
	u32 size = rec_size();

	ds_place(WIN, BUF, 4 * size);
	ds_set(DS_INDEX, BUF + 5 * size);
	chain(2, DBG_BTINT);
	expect_index(BUF + 5 * size);
	untouched(BUF, WIN + WIN_PAGES * PAGE);
	tally.full += 2;
}

TEST(record_crosses, "records cross into pages elsewhere in memory")
{
	ds_place(WIN, BUF + PAGE - rec_size() - rec_size() / 2, 8 * rec_size());
	chain(5, 0);
	want_chain(0, 5, 5);
	expect_store();
	want_none();
	ds_place(WIN, BUF + PAGE - 5, 8 * rec_size());
	chain(5, 0);
	want_chain(0, 5, 5);
	expect_store();
}

TEST(area_crosses, "the management area crosses a page, inside the index")
{
	u32 word = rec_size() / 3;

	ds_place(WIN + PAGE - word - word / 2, WIN + 2 * PAGE, 8 * rec_size());
	chain(5, 0);
	want_chain(0, 5, 5);
	expect_store();
}

TEST(area_high, "a management area, and with 64-bit fields a buffer, at the top")
{
	u64 frame = HIGH + (u64)window_frame(WIN_PAGES - 1);
	u64 buffer = machine.dtes64 ? HIGH + (u64)window_frame(WIN_PAGES - 3) : WIN + 2 * PAGE;

	ds_place(frame, buffer, 8 * rec_size());
	chain(5, 0);
	want_chain(0, 5, 5);
	expect_at(buffer, 0, 5);
	expect_index(buffer + 5 * rec_size());
	tally.records += 5;
}

/*
 * Lose @n records, and check that CR2 has not changed. Make @page present and writable again, and
 * check that the store has not changed, either. Then recording must go on.
 */
static void expect_lost(u32 n, u64 page)
{
	write_cr2(0x1234);
	chain(n, 0);
	expect(read_cr2() == 0x1234, "cr2 0x%x", read_cr2());
	tally.faults += n;
	set_pte(page, 0, PTE_P | PTE_W);
	expect_store();
	want_chain(0, 2, 2);
	chain(2, 0);
	expect_store();
	want_none();
	ds_default();
}

TEST(unmapped_buffer, "an unmapped buffer page: record dropped, index kept, no fault")
{
	set_pte(BUF, PTE_P, 0);
	expect_lost(3, BUF);
}

TEST(unmapped_area, "an unmapped management area: record dropped, no fault")
{
	set_pte(WIN, PTE_P, 0);
	expect_lost(3, WIN);
}

TEST(unmapped_half, "a record half of which is unmapped is dropped whole")
{
	ds_place(WIN, BUF + PAGE - rec_size() / 2, 8 * rec_size());
	set_pte(BUF + PAGE, PTE_P, 0);
	expect_lost(2, BUF + PAGE);
	ds_place(WIN, BUF + PAGE - rec_size() / 2, 8 * rec_size());
	set_pte(BUF, PTE_P, 0);
	expect_lost(2, BUF);
}

TEST(unmapped_index, "an index outside any mapping: record dropped, index kept")
{
	u64 index = machine.dtes64 ? 0x8000000000000000 : HOLE;

	ds_set(DS_MAX, index + 4096);
	ds_set(DS_THRESHOLD, index + 4096);
	ds_set(DS_INDEX, index);
	chain(2, 0);
	expect_index(index);
	untouched(BUF, WIN + WIN_PAGES * PAGE);
	tally.faults += 2;
}

TEST(unmapped_exception, "a #PF while the store is unmapped keeps its error code and CR2")
{
	set_pte(BUF, PTE_P, 0);
	set_gate(VEC_PF, (u64)fault_write_to, 0);
	trace((u64)fault_write, DBG_ON);
	expect(seen[0] == 2, "error code 0x%x, expected 2", seen[0]);
	expect(seen[1] == HOLE + 0x123, "cr2 0x%x, expected 0x%x", seen[1], (u64)HOLE + 0x123);
	set_pte(BUF, 0, PTE_P);
	expect_store();
	tally.faults += 3;
}

TEST(read_only, "a read-only buffer page: dropped if CR0.WP is set, written if not")
{
	set_pte(BUF, PTE_W, 0);
	expect_lost(2, BUF);
	set_pte(BUF, PTE_W, 0);
	write_cr0(read_cr0() & ~CR0_WP);
	chain(2, 0);
	want_chain(0, 2, 2);
	expect_store();
	write_cr0(read_cr0() | CR0_WP);
}

TEST(read_only_area, "a read-only management area: record dropped, buffer untouched")
{
	set_pte(WIN, PTE_W, 0);
	expect_lost(2, WIN);
}

TEST(smap, "a user's buffer page: dropped if CR4.SMAP is set, with EFLAGS.AC too; else written")
{
	set_pte(BUF, 0, PTE_U);
	chain(2, 0);
	want_chain(0, 2, 2);
	expect_store();
	want_none();
	ds_default();
	write_cr4(read_cr4() | CR4_SMAP);
	chain(2, 0);
	asm volatile("stac");
	chain(2, 0);
	asm volatile("clac");
	write_cr4(read_cr4() & ~CR4_SMAP);
	expect_store();
	tally.faults += 4;
}

TEST(accessed_dirty, "accessed and dirty bits are set in the pages written")
{
	set_pte(WIN, PTE_A | PTE_D, 0);
	set_pte(BUF, PTE_A | PTE_D, 0);
	set_pte(BUF + PAGE, PTE_A | PTE_D, 0);
	chain(2, 0);
	expect((*window_pte(WIN) & (PTE_A | PTE_D)) == (PTE_A | PTE_D), "management area: 0x%x",
	       *window_pte(WIN));
	expect((*window_pte(BUF) & (PTE_A | PTE_D)) == (PTE_A | PTE_D), "buffer: 0x%x",
	       *window_pte(BUF));
	expect(!(*window_pte(BUF + PAGE) & (PTE_A | PTE_D)), "page not written: 0x%x",
	       *window_pte(BUF + PAGE));
	want_chain(0, 2, 2);
	expect_store();
}
