// SPDX-License-Identifier: GPL-2.0
/*
 * Which compilation unit an address is in, of those that .debug_aranges does not
 * tell of, where libdw looks: clang writes none.
 */
#include <stdlib.h>

#include "debuginfo.h"
#include "elffile.h"

static void add_unit(struct bt_elf *elf, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		elf->range = bt_grow(elf->range, &elf->room_ranges, elf->nr_ranges + 1,
				     sizeof(*elf->range));
		elf->range[elf->nr_ranges++] = (struct bt_range){
			.start = start, .end = end, .unit = dwarf_dieoffset(die),
		};
	}
}

static int compare_ranges(const void *va, const void *vb)
{
	const struct bt_range *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void read_ranges(struct bt_elf *elf, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	Dwarf_Die die;
	size_t head;

	elf->ranges_read = true;
	for (; !dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL); at = next)
		if (dwarf_offdie(dwarf, at + head, &die))
			add_unit(elf, &die);
	if (elf->nr_ranges)
		qsort(elf->range, elf->nr_ranges, sizeof(*elf->range), compare_ranges);
}

static const struct bt_range *find_range(const struct bt_elf *elf, u64 addr)
{
	size_t low = 0, high = elf->nr_ranges, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (elf->range[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < elf->range[low - 1].end ? &elf->range[low - 1] : NULL;
}

/* The unit that @addr is in */
bool elf_find_unit(struct bt_elf *elf, Dwarf *dwarf, u64 addr, Dwarf_Die *unit)
{
	const struct bt_range *range;

	if (!elf->ranges_read)
		read_ranges(elf, dwarf);
	range = find_range(elf, addr);
	return range && dwarf_offdie(dwarf, range->unit, unit);
}

/* Sets *@file to NULL if there is none. */
void elf_find_line(struct bt_elf *elf, Dwarf *dwarf, u64 addr, const char **file, int *line)
{
	Dwarf_Line *found;
	Dwarf_Die unit;

	found = elf_find_unit(elf, dwarf, addr, &unit) ? dwarf_getsrc_die(&unit, addr) : NULL;
	*file = found && !dwarf_lineno(found, line) ? dwarf_linesrc(found, NULL, NULL) : NULL;
}

static void take_unit(Dwarf_Die *unit, bt_take_line *take, void *arg)
{
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	Dwarf_Addr addr;
	size_t i, n;
	bool statement, end;
	const char *file;
	int number;

	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (i = 0; i < n; i++) {
		line = dwarf_onesrcline(lines, i);
		file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
		if (file && !dwarf_lineaddr(line, &addr) && !dwarf_lineno(line, &number) &&
		    !dwarf_linebeginstatement(line, &statement) && statement &&
		    !dwarf_lineendsequence(line, &end) && !end && number > 0)
			take(arg, addr, file, number);
	}
}

/* All lines that there is code for */
void elf_find_lines(Dwarf *dwarf, bt_take_line *take, void *arg)
{
	Dwarf_Off at = 0, next;
	Dwarf_Die unit;
	size_t head;

	for (; !dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL); at = next)
		if (dwarf_offdie(dwarf, at + head, &unit))
			take_unit(&unit, take, arg);
}
