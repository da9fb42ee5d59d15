// SPDX-License-Identifier: GPL-2.0
/*
 * This file stores the code that a recorded trace contains, by pages; see code.h. While btstrace
 * records a trace, the stored code tells which pages have changed since they were recorded.
 */
#include <stdlib.h>
#include <string.h>

#include "code.h"

#define PAGES_BITS	6

/*
 * struct page - a page of code, of which the bytes from @first to @end - 1 are known. @batch
 * is the argument of the last call of bt_code_first_in_batch() for this page.
 */
struct page {
	u64		addr;
	u32		first;
	u32		end;
	u32		batch;
	u8		bytes[BT_PAGE];
	struct page	*next;
};

/* struct bt_code - a hash table of 2^bits lists of pages */
struct bt_code {
	struct page	**page;
	int		bits;
	size_t		nr;
};

struct bt_code *bt_code_new(void)
{
	struct bt_code *code = bt_alloc(1, sizeof(*code));

	code->bits = PAGES_BITS;
	code->page = bt_alloc((size_t)1 << code->bits, sizeof(*code->page));
	return code;
}

void bt_code_free(struct bt_code *code)
{
	struct page *p;
	size_t i;

	for (i = 0; i < (size_t)1 << code->bits; i++) {
		while ((p = code->page[i])) {
			code->page[i] = p->next;
			free(p);
		}
	}
	free(code->page);
	free(code);
}

static struct page **slot_of(const struct bt_code *code, u64 addr)
{
	return &code->page[bt_hash(addr / BT_PAGE, code->bits)];
}

static struct page *find(const struct bt_code *code, u64 addr)
{
	struct page *p = *slot_of(code, addr);

	while (p && p->addr != addr / BT_PAGE * BT_PAGE)
		p = p->next;
	return p;
}

static void insert(struct bt_code *code, struct page *p)
{
	struct page **slot = slot_of(code, p->addr);

	p->next = *slot;
	*slot = p;
}

static void more_slots(struct bt_code *code)
{
	size_t i, n = (size_t)1 << code->bits;
	struct page **old = code->page, *p;

	code->bits++;
	code->page = bt_alloc(n * 2, sizeof(*code->page));
	for (i = 0; i < n; i++) {
		while ((p = old[i])) {
			old[i] = p->next;
			insert(code, p);
		}
	}
	free(old);
}

static struct page *get(struct bt_code *code, u64 addr)
{
	struct page *p = find(code, addr);

	if (p)
		return p;
	p = bt_alloc(1, sizeof(*p));
	p->addr = addr / BT_PAGE * BT_PAGE;
	insert(code, p);
	if (++code->nr > (size_t)1 << code->bits)
		more_slots(code);
	return p;
}

static bool put_in_page(struct page *p, u32 at, const u8 *bytes, u32 len)
{
	if (p->first == at && p->end == at + len && !memcmp(p->bytes + at, bytes, len))
		return false;
	memcpy(p->bytes + at, bytes, len);
	p->first = at;
	p->end = at + len;
	return true;
}

/*
 * Store the code at @addr. Forget what was known of the pages of this code before. Returns
 * false if exactly these bytes were known before.
 */
bool bt_code_put(struct bt_code *code, u64 addr, const u8 *bytes, size_t len)
{
	bool new = false;
	u32 n;

	for (; len; len -= n, addr += n, bytes += n) {
		n = BT_PAGE - addr % BT_PAGE;
		if (n > len)
			n = len;
		new |= put_in_page(get(code, addr), addr % BT_PAGE, bytes, n);
	}
	return new;
}

/* Read up to @n bytes at @addr. Stop at the first unknown byte. Returns the number of bytes. */
size_t bt_code_read(const struct bt_code *code, u64 addr, u8 *buf, size_t n)
{
	const struct page *p;
	size_t got = 0;
	u32 at, some;

	while (got < n) {
		p = find(code, addr + got);
		at = (addr + got) % BT_PAGE;
		if (!p || at < p->first || at >= p->end)
			break;
		some = p->end - at;
		if (some > n - got)
			some = n - got;
		memcpy(buf + got, p->bytes + at, some);
		got += some;
	}
	return got;
}

/*
 * Is this the first call for the page of @addr in the batch of records with the number @batch?
 * Batches are numbered from 1.
 */
bool bt_code_first_in_batch(struct bt_code *code, u64 addr, u32 batch)
{
	struct page *p = get(code, addr);
	bool first = p->batch != batch;

	p->batch = batch;
	return first;
}
