// SPDX-License-Identifier: GPL-2.0
/*
 * madeup WHAT N: print an artificial trace of N branches. No two branches come from the same
 * address, so btstrace needs much memory for the trace.
 *
 *   jumps	jumps from one place to the next, at rising addresses
 *   loops	jumps back to the same place
 *   calls	calls that return; two threads take turns of 100 branches, so N is rounded up
 *   deep	calls that do not return
 */
#include <stdio.h>
#include <stdlib.h>

#include "records.h"

#define BASE	0x10000000UL
#define STEP	4

enum { THREAD = 1, MAPS, CODE, RECORDS };

static void put(uint32_t type, uint32_t tid, const void *head, size_t head_len, uint64_t body_len)
{
	struct chunk chunk = { type, tid, head_len + body_len };

	fwrite(&chunk, sizeof(chunk), 1, stdout);
	fwrite(head, head_len, 1, stdout);
}

static void put_thread(uint32_t tid)
{
	/* A 64-bit thread of process 1 */
	struct {
		uint32_t id, is64;
		char name[6];
	} thread = { 1, 1, "madeup" };

	put(THREAD, tid, &thread, 14, 0);
}

/* Put a mapping of anonymous memory and its contents: the four bytes of @code, over and over. */
static void put_code(const char *code, unsigned long n)
{
	uint64_t base = BASE;
	char line[80];
	unsigned long i;
	int len = sprintf(line, "%lx-%lx r-xp 00000000 00:00 0\n", BASE, BASE + (n + 2) * STEP);

	put(MAPS, 1, line, len, 0);
	put(CODE, 1, &base, sizeof(base), (n + 2) * STEP);
	for (i = 0; i < n + 2; i++)
		fwrite(code, STEP, 1, stdout);
}

static void put_record(uint64_t type, uint64_t a, uint64_t b)
{
	struct x86_bts_record rec = { .type = type, .branch = { a, b } };

	fwrite(&rec, sizeof(rec), 1, stdout);
}

/*
 * Put @n branches in one chunk, each STEP bytes behind the one before. The first one goes from
 * BASE + @from to BASE + @to. If @to is 0, all go to BASE.
 */
static void put_jumps(unsigned long n, unsigned long from, unsigned long to)
{
	unsigned long i;

	put(RECORDS, 1, NULL, 0, n * sizeof(struct x86_bts_record));
	for (i = 0; i < n; i++)
		put_record(X86_BTS_BRANCH, BASE + i * STEP + from,
			   to ? BASE + i * STEP + to : BASE);
}

static void put_calls(unsigned long n)
{
	unsigned long i, at;
	uint32_t tid = 1;

	put_thread(2);
	for (i = 0; i < n; i += 100, tid ^= 3) {
		put(RECORDS, tid, NULL, 0, 102 * sizeof(struct x86_bts_record));
		put_record(X86_BTS_TASK_ARRIVES, i * 100, tid);
		for (at = BASE + i * STEP; at < BASE + (i + 100) * STEP; at += 2 * STEP) {
			put_record(X86_BTS_BRANCH, at, at + STEP + 2);
			put_record(X86_BTS_BRANCH, at + STEP + 2, at + 2);
		}
		put_record(X86_BTS_TASK_DEPARTS, i * 100 + 99, tid);
	}
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	const char *what = n ? argv[1] : "";

	fputs("btstrace 1\n", stdout);
	put_thread(1);
	/* Either jmp *%rax twice, or call *%rax, ret and nop */
	put_code(!strcmp(what, "jumps") || !strcmp(what, "loops") ? "\xff\xe0\xff\xe0" :
		 "\xff\xd0\xc3\x90", n + 100);
	if (!strcmp(what, "jumps"))
		put_jumps(n, 2, STEP);
	else if (!strcmp(what, "loops"))
		put_jumps(n, 0, 0);
	else if (!strcmp(what, "calls"))
		put_calls(n);
	else if (!strcmp(what, "deep"))
		put_jumps(n, 0, STEP);
	else
		return 2;
	return fflush(stdout) ? 2 : 0;
}
