// SPDX-License-Identifier: GPL-2.0
/* Code that exists in memory only, by pages: of a recorded trace, or for one */
#include <stdlib.h>
#include <string.h>

#include "code.h"

#define PAGE	4096
#define BITS	6

/* What is known of a page: @bytes from @first to @end */
struct page {
	u64		addr;
	u32		first;
	u32		end;
	u32		batch;
	u8		bytes[PAGE];
	struct page	*next;
};

struct bt_code {
	struct page *page[1 << BITS];
};

struct bt_code *bt_code_new(void)
{
	return bt_alloc(1, sizeof(struct bt_code));
}

void bt_code_free(struct bt_code *code)
{
	struct page *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(code->page); i++) {
		while ((p = code->page[i])) {
			code->page[i] = p->next;
			free(p);
		}
	}
	free(code);
}

static struct page *find(const struct bt_code *code, u64 addr)
{
	struct page *p = code->page[bt_hash(addr / PAGE, BITS)];

	while (p && p->addr != addr / PAGE * PAGE)
		p = p->next;
	return p;
}

static struct page *get(struct bt_code *code, u64 addr)
{
	struct page *p = find(code, addr), **slot = &code->page[bt_hash(addr / PAGE, BITS)];

	if (!p) {
		p = bt_alloc(1, sizeof(*p));
		p->addr = addr / PAGE * PAGE;
		p->next = *slot;
		*slot = p;
	}
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

/* There is code at @addr, in place of what was on these pages. Is that new? */
bool bt_code_put(struct bt_code *code, u64 addr, const u8 *bytes, size_t len)
{
	bool new = false;
	u32 n;

	for (; len; len -= n, addr += n, bytes += n) {
		n = PAGE - addr % PAGE;
		if (n > len)
			n = len;
		new |= put_in_page(get(code, addr), addr % PAGE, bytes, n);
	}
	return new;
}

/* Read up to @n bytes. Returns how many there are. */
size_t bt_code_read(const struct bt_code *code, u64 addr, u8 *buf, size_t n)
{
	const struct page *p;
	size_t got = 0;
	u32 at, some;

	while (got < n) {
		p = find(code, addr + got);
		at = (addr + got) % PAGE;
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

/* Is it the first time in this @batch that somebody asks for this page? */
bool bt_code_asked(struct bt_code *code, u64 addr, u32 batch)
{
	struct page *p = get(code, addr);
	bool first = p->batch != batch;

	p->batch = batch;
	return first;
}
