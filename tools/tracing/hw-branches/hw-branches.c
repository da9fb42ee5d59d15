// SPDX-License-Identifier: GPL-2.0
/*
 * hw-branches - print the last branches of a kernel that crashed, from its dump
 *
 *   hw-branches [-n NR] [-m MAP] [-p] DUMP
 *
 * DUMP is /proc/vmcore of the crash kernel, or a copy of it in ELF format. The dump's VMCOREINFO
 * tells where the branches are, so no debug information is needed. MAP is the crashed kernel's
 * System.map or a copy of its /proc/kallsyms, for the names of addresses. hw_branches.py reads
 * dumps that makedumpfile has compressed.
 *
 * The program reads the branches from one of two places. The Branch Trace Store (BTS) of Intel's
 * processors writes them to a buffer in memory. The Debug Store, also in memory, has the address of
 * the buffer. The other place is memory in which the kernel has saved the last branch records
 * (LBR), which are registers. If the buffer of a CPU had to be emptied, for example to trace a task
 * for a debugger, the kernel has moved older branches from the buffer to another place, the ring,
 * which this program does not read.
 *
 * Without -p, the program combines branches into lines, by the code that the kernel uses: a call
 * that has returned is one line, and a loop is printed once. The program does not know all thunks,
 * and without MAP, it knows neither the entry code nor any thunk. So it may combine branches in
 * another way than the kernel. If it cannot read the branches of a CPU, it says so, and goes on to
 * the next CPU.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_hw_branches_fold.h"
#include "hw_branches_kind.h"
#include "dump.h"

/*
 * Indices of fields of the Debug Store: the address of the buffer, the address behind the newest
 * record, and the end of the buffer.
 */
enum { BASE, INDEX, MAXIMUM, NR_FIELDS };

/* No kernel has so much entry code, or so much code in thunks: a larger range is wrong. */
#define MOST_CODE	(1 << 20)

/* The buffer of each CPU: 64 KiB for records of 24 bytes. */
#define BUFFER_SIZE	65536
#define RECORD_SIZE	24
#define MOST_RECORDS	(BUFFER_SIZE / RECORD_SIZE)

/* As HW_BRANCHES_LBR_MAX: the kernel saves no more last branch records of a CPU. */
#define MOST_LBRS	64

/* No x86 kernel supports more CPUs. */
#define MOST_CPUS	8192

/* The largest indentation of a line, in columns. */
#define MOST_INDENT	16

struct symbol {
	uint64_t at;
	char name[64];
};

/* A part of the dump is damaged or missing. */
static bool damaged;

static struct symbol *symbols;
static size_t nr_symbols;

/*
 * Names
 */

/* Guess by the name whether a symbol is of the linker script. A function may be at its address. */
static bool is_of_linker(const char *name)
{
	size_t len = strlen(name);

	return !strncmp(name, "__", 2) && len > 8 &&
	       (!strcmp(name + len - 6, "_start") || !strcmp(name + len - 4, "_end"));
}

/* Sort by address. print_address() takes the last symbol of an address: let it be a function. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int order = (x->at > y->at) - (x->at < y->at);

	return order ?: is_of_linker(y->name) - is_of_linker(x->name) ?: strcmp(x->name, y->name);
}

static void read_map(const char *path)
{
	FILE *map = fopen(path, "r");
	struct symbol s;
	size_t room = 0;
	char line[512];

	if (!map)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), map)) {
		if (sscanf(line, "%" SCNx64 " %*c %63s", &s.at, s.name) != 2)
			continue;
		if (nr_symbols == room) {
			room = room ? 2 * room : 4096;
			symbols = reallocarray(symbols, room, sizeof(*symbols));
			if (!symbols)
				err(1, "%s", path);
		}
		symbols[nr_symbols++] = s;
	}
	fclose(map);
	if (!nr_symbols)
		errx(1, "%s has no symbols: give System.map or a copy of /proc/kallsyms", path);
}

/*
 * To the symbols of a System.map, add the offset by which the kernel was relocated. The symbols of
 * /proc/kallsyms include this offset already. Then sort the symbols.
 */
static void relocate_symbols(void)
{
	uint64_t ran_at, moved = 0;
	size_t i;

	for (i = 0; i < nr_symbols && find_value("SYMBOL(_stext)", 16, &ran_at); i++) {
		if (!strcmp(symbols[i].name, "_stext"))
			moved = ran_at - symbols[i].at;
	}
	for (i = 0; i < nr_symbols; i++)
		symbols[i].at += moved;
	if (nr_symbols)
		qsort(symbols, nr_symbols, sizeof(*symbols), compare_symbols);
}

static bool is_user(uint64_t at)
{
	return !(at >> 63);
}

static void print_address(uint64_t at)
{
	size_t low = 0, high = is_user(at) ? 0 : nr_symbols;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (symbols[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	/* An address after the last symbol may be in a module that the map does not have. */
	if (low && low < nr_symbols)
		printf("%s+%#" PRIx64, symbols[low - 1].name, at - symbols[low - 1].at);
	else
		printf("%#" PRIx64, at);
}

/* Returns the address of a symbol; 0 if there is no map, or it has no such symbol. */
static uint64_t address_of(const char *name)
{
	size_t i;

	for (i = 0; i < nr_symbols; i++) {
		if (!strcmp(symbols[i].name, name))
			return symbols[i].at;
	}
	return 0;
}

/*
 * The callbacks kind_of(), is_thunk() and is_return() correspond to the kernel's functions
 * arch_hw_branches_kind(), arch_hw_branches_is_thunk() and arch_hw_branches_is_return().
 */

/* struct range - the addresses from @start to before @end; empty if the map lacks a symbol */
struct range {
	uint64_t start;
	uint64_t end;
};

/*
 * Entry code; the thunks; and srso_alias_safe_ret() with srso_alias_return_thunk(). As a mitigation
 * of SRSO, returns of Zen 3 and Zen 4 may run these two, which are apart from the other thunks.
 */
static struct range entries, thunks, zen_thunk;

/* Addresses of the thunks for returns, and of the function that switches stacks; 0 if missing */
static uint64_t returns[6], switch_to;

/*
 * Find the code from the symbol @first to @size bytes behind the beginning of the symbol @last. A
 * kernel that does not have this code may have a symbol @last all the same, but elsewhere.
 */
static struct range find_range(const char *first, const char *last, uint64_t size)
{
	struct range range = { address_of(first), address_of(last) };

	if (!range.start || range.end < range.start || range.end - range.start > MOST_CODE)
		return (struct range){ 0 };
	range.end += size;
	return range;
}

static void find_code(void)
{
	static const char *const names[] = {
		"__x86_return_thunk", "its_return_thunk", "retbleed_return_thunk",
		"call_depth_return_thunk", "srso_return_thunk", "srso_alias_return_thunk",
	};
	size_t i;

	entries = find_range("__entry_text_start", "__entry_text_end", 0);
	thunks = find_range("__x86_indirect_thunk_array", "__x86_return_thunk", 32);
	/* srso_alias_return_thunk() is a call. */
	zen_thunk = find_range("srso_alias_safe_ret", "srso_alias_return_thunk", 5);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		returns[i] = address_of(names[i]);
	switch_to = address_of("__switch_to_asm");
}

static bool is_in(struct range range, uint64_t address)
{
	return address >= range.start && address < range.end;
}

/* @to is in entry code. Returns whether the bytes before @to are those of a call. */
static bool is_after_call(uint64_t to)
{
	uint8_t code[5];

	return read_kernel(to - sizeof(code), code, sizeof(code)) &&
	       (code[0] == 0xe8 || (code[3] == 0xff && (code[4] & 0xf8) == 0xd0));
}

static enum hw_branch_kind kind_of(void *unused, const struct hw_branch *branch, u64 *back)
{
	struct hw_branches_insn insn = { .from = branch->from, .to = branch->to, .wide = true };
	enum hw_branch_kind kind;

	(void)unused;
	*back = 0;
	/* __switch_to_asm() changes the stack. */
	if (switch_to && switch_to == branch->to)
		return HW_BRANCH_BREAK;
	insn.entry = is_in(entries, insn.to);
	insn.after_call = insn.entry && is_after_call(insn.to);
	if (!is_user(insn.from) && read_kernel(insn.from, insn.byte, sizeof(insn.byte)))
		insn.n = sizeof(insn.byte);
	kind = hw_branches_kind_of(&insn, back);
	/* After a jump through a bad pointer, nothing returns to the callers. */
	if (is_user(insn.to) && kind != HW_BRANCH_EXIT && kind != HW_BRANCH_OTHER)
		return HW_BRANCH_BREAK;
	return kind;
}

static bool is_thunk(void *unused, u64 address)
{
	(void)unused;
	return is_in(thunks, address) || is_in(zen_thunk, address);
}

static bool is_return(void *unused, u64 address)
{
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(returns) / sizeof(*returns); i++) {
		if (returns[i] && returns[i] == address)
			return true;
	}
	return false;
}

/*
 * Branches
 */

struct branches {
	struct hw_branch branch[MOST_RECORDS];
	u32 nr;
};

static bool get(void *data, u32 nr, struct hw_branch *branch)
{
	const struct branches *all = data;

	if (nr >= all->nr)
		return false;
	*branch = all->branch[nr];
	return true;
}

static const struct hw_branches_reader reader = {
	.get = get,
	.kind = kind_of,
	.is_thunk = is_thunk,
	.is_return = is_return,
};

static void print_line(unsigned int cpu, int depth, const struct hw_branches_line *line)
{
	printf(" %3u %*s", cpu, depth < MOST_INDENT ? depth : MOST_INDENT, "");
	print_address(line->branch.to);
	printf(" <- ");
	if (line->branch.from == HW_BRANCH_USER)
		printf("user mode");
	else
		print_address(line->branch.from);
	if (line->inside > 1)
		printf(", %u branches", line->inside);
	if (line->times > 1 && line->lines > 1)
		printf(", these %u lines %u times", line->lines, line->times);
	else if (line->times > 1)
		printf(", %u times", line->times);
	printf("\n");
}

static void print_lines(unsigned int cpu, const char *source, struct branches *all,
			unsigned long nr, bool plain)
{
	struct hw_branches_fold fold;
	struct hw_branches_line line;
	u32 records;
	int base;

	hw_branches_fold_begin(&fold, 0, plain, &reader, all);
	base = hw_branches_fold_base(&fold, nr, &records);
	printf("Last branches of CPU %u, newest first, %u follow, source %s:\n", cpu, records,
	       source);
	while (nr-- && hw_branches_fold_next(&fold, &line))
		print_line(cpu, line.depth - base, &line);
}

/*
 * Append the branch of @record to @all, unless it is a branch within user mode. @older is the next
 * older record, or NULL. A source in user mode is shown as "user mode", with one exception: if
 * @older is a branch of the kernel to this source, the kernel may have jumped through a bad
 * pointer, and the address is shown.
 */
static void take_branch(struct branches *all, const uint64_t *record, const uint64_t *older)
{
	bool astray = older && older[1] == record[0] && !is_user(older[0]);

	if (is_user(record[0]) && is_user(record[1]))
		return;
	all->branch[all->nr++] = (struct hw_branch){
		is_user(record[0]) && !astray ? HW_BRANCH_USER : record[0], record[1],
	};
}

/* Returns whether the circular buffer has wrapped: then its last record is not empty. */
static bool has_wrapped(const uint64_t *record)
{
	return record[3 * (MOST_RECORDS - 1)] || record[3 * (MOST_RECORDS - 1) + 1];
}

/* Append the branches of a circular buffer to @all. @at is the index after the newest record. */
static void take_branches(struct branches *all, const uint64_t *record, size_t at)
{
	size_t nr = has_wrapped(record) ? MOST_RECORDS : at, i;

	for (i = 0; i < nr; i++) {
		size_t this = (at + MOST_RECORDS - 1 - i) % MOST_RECORDS;
		size_t older = (this + MOST_RECORDS - 1) % MOST_RECORDS;

		take_branch(all, record + 3 * this, i + 1 < nr ? record + 3 * older : NULL);
	}
}

static void say_damaged(unsigned int cpu, const char *what)
{
	warnx("CPU %u: %s", cpu, what);
	damaged = true;
}

/*
 * Read the Debug Store of a CPU, whose per-CPU variables have the offset @offset. The store is a
 * per-CPU variable, or is in memory reserved by the boot parameter reserve_mem.
 */
static bool read_store(uint64_t offset, uint64_t *store, size_t size)
{
	uint64_t at = 0, moved;

	if (find_value("OFFSET(ds_cpu.store)", 10, &moved) &&
	    !read_kernel(offset + value_of("SYMBOL(ds_cpu)", 16) + moved, &at, sizeof(at)))
		return false;
	if (!at)
		at = offset + value_of("SYMBOL(cpu_debug_store)", 16);
	return read_kernel(at, store, size);
}

/*
 * Append the branches in the buffer of the Branch Trace Store to @all. If the recorder did not use
 * this buffer, it may have branches of a traced task.
 */
static void take_bts(struct branches *all, unsigned int cpu, uint64_t offset)
{
	static uint64_t record[3 * MOST_RECORDS];
	uint64_t store[NR_FIELDS], buffer, used, at;
	uint64_t readable = value_of("SYMBOL(hw_branches_readable)", 16);
	uint64_t pages = value_of("SYMBOL(ds_cpu)", 16) + value_of("OFFSET(ds_cpu.pages)", 10);

	if (!read_store(offset, store, sizeof(store)) ||
	    !read_kernel(offset + readable, &used, sizeof(used)) ||
	    !read_kernel(offset + pages, &buffer, sizeof(buffer))) {
		say_damaged(cpu, "the address of its branches is not in the dump");
		return;
	}
	if (!used || !buffer || !store[BASE])
		return;
	at = (store[INDEX] - store[BASE]) / RECORD_SIZE;
	if (store[INDEX] < store[BASE] || at > MOST_RECORDS) {
		say_damaged(cpu, "its Debug Store was overwritten");
		return;
	}
	if (!read_kernel(buffer, record, MOST_RECORDS * RECORD_SIZE)) {
		say_damaged(cpu, "its branches are not in the dump");
		return;
	}
	take_branches(all, record, at);
}

/*
 * Append to @all the last branch records of a CPU, which the kernel saved when it froze this CPU
 * (see linux/hw_branches.h). Returns false if the dump has no saved records of this CPU.
 */
static bool take_lbr(struct branches *all, unsigned int cpu, uint64_t offset)
{
	uint64_t record[3 * MOST_LBRS], state, kept, at;
	uint8_t saved;
	uint32_t nr, i;

	if (!find_value("SYMBOL(hw_branches_lbr_cpu)", 16, &state))
		return false;
	state += offset;
	if (!read_kernel(state + value_of("OFFSET(hw_branches_lbr_cpu.saved)", 10), &saved,
			 sizeof(saved))) {
		say_damaged(cpu, "whether it has last branch records is not in the dump");
		return false;
	}
	if (!saved)
		return false;
	at = value_of("OFFSET(hw_branches_lbr_saved.raw)", 10);
	if (!read_kernel(state + value_of("OFFSET(hw_branches_lbr_cpu.kept)", 10), &kept,
			 sizeof(kept)) ||
	    !read_kernel(kept, &nr, sizeof(nr)) || nr > MOST_LBRS ||
	    !read_kernel(kept + at, record, nr * RECORD_SIZE)) {
		say_damaged(cpu, "its last branch records were overwritten");
		return true;
	}
	for (i = 0; i < nr; i++)
		take_branch(all, record + 3 * i, i + 1 < nr ? record + 3 * (i + 1) : NULL);
	return true;
}

/* The source BTS in a headline, see find_name_of_bts() */
static const char *name_of_bts = "bts";

/* If an erratum of that processor may have made records wrong, the headlines must say so. */
static void find_name_of_bts(void)
{
	uint64_t unreliable;

	if (find_value("NUMBER(hw_branches_unreliable)", 10, &unreliable) && unreliable)
		name_of_bts = "bts (unreliable)";
}

/* Returns whether there are branches of this CPU. */
static bool print_cpu(unsigned int cpu, uint64_t offset, unsigned long nr, bool plain)
{
	static struct branches all;
	bool lbr;

	all.nr = 0;
	lbr = take_lbr(&all, cpu, offset);
	if (!lbr)
		take_bts(&all, cpu, offset);
	if (all.nr)
		print_lines(cpu, lbr ? "lbr" : name_of_bts, &all, nr, plain);
	return all.nr;
}

static void print_all(unsigned long nr, bool plain)
{
	uint64_t cpus = value_of("NUMBER(nr_cpu_ids)", 10), cpu, offsets, offset = 0;
	uint64_t field = value_of("NUMBER(ds_field)", 10);
	/* A kernel without CONFIG_SMP does not have this symbol. */
	bool many = find_value("SYMBOL(__per_cpu_offset)", 16, &offsets);
	bool found = false;

	/* The size of a field of the Debug Store; 0 if the kernel could not use one. */
	if (field && field != sizeof(uint64_t))
		errx(1, "the processor of that kernel has no 64-bit Debug Store");
	if (!cpus || cpus > MOST_CPUS)
		errx(1, "nr_cpu_ids is %" PRIu64 ": VMCOREINFO was overwritten", cpus);
	for (cpu = 0; cpu < cpus; cpu++) {
		if (many && !read_kernel(offsets + 8 * cpu, &offset, sizeof(offset)))
			say_damaged(cpu, "the offset of its memory is not in the dump");
		else
			found |= print_cpu(cpu, offset, nr, plain);
	}
	if (!found && !damaged)
		warnx("no branches: the recorder was off, perf had the LBRs, or nothing froze lbr");
}

static void say_usage(FILE *out)
{
	fprintf(out,
		"usage: hw-branches [-n NR] [-m MAP] [-p] DUMP\n\n"
		"  -n NR   print at most NR lines of each CPU [32]\n"
		"  -m MAP  System.map, or a copy of /proc/kallsyms, of the kernel that crashed\n"
		"  -p      print a line for each branch, without folding\n"
		"  DUMP    /proc/vmcore, or a copy of it in ELF\n\n"
		"Exit status: 0 on success; 1 if the dump cannot be read, or if a part of it is\n"
		"damaged or missing (the rest is printed); 2 for a wrong option.\n");
}

static unsigned long parse_nr(const char *text)
{
	unsigned long nr;
	char *end;

	errno = 0;
	nr = strtoul(text, &end, 0);
	if (errno || *end || !nr || *text == '-')
		errx(2, "-n %s: give a number of lines, 1 or more", text);
	return nr;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { } };
	unsigned long nr = 32;
	bool plain = false;
	int option;

	while ((option = getopt_long(argc, argv, "n:m:ph", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			nr = parse_nr(optarg);
			break;
		case 'm':
			read_map(optarg);
			break;
		case 'p':
			plain = true;
			break;
		case 'h':
			say_usage(stdout);
			return 0;
		default:
			say_usage(stderr);
			return 2;
		}
	}
	if (optind != argc - 1) {
		say_usage(stderr);
		return 2;
	}
	open_dump(argv[optind]);
	relocate_symbols();
	find_code();
	find_name_of_bts();
	print_all(nr, plain);
	if (fflush(stdout))
		err(1, "output");
	if (ferror(stdout))
		errx(1, "output: not all was written");
	return damaged;
}
