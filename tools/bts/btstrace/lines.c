// SPDX-License-Identifier: GPL-2.0
/*
 * This file finds compilation units and lines. Old versions of libdw look for the unit of an
 * address only in .debug_aranges, which clang does not write by default: read the address ranges of
 * all units instead.
 */
#include <stdlib.h>

#include "debuginfo.h"

/*
 * struct range - a range of addresses of a compilation unit. The DIE of the unit is at offset @unit
 * of .debug_info.
 */
struct range {
	u64	start;
	u64	end;
	u64	unit;
};

/* struct elf_units - the ranges of all units, sorted by address; empty until @read is true */
struct elf_units {
	bool		read;
	struct range	*range;
	size_t		nr;
	size_t		room;
};

struct elf_units *elf_units_new(void)
{
	return bt_alloc(1, sizeof(struct elf_units));
}

void elf_units_free(struct elf_units *units)
{
	free(units->range);
	free(units);
}

static void add_unit(struct elf_units *units, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		units->range = bt_grow(units->range, &units->room, units->nr + 1,
				       sizeof(*units->range));
		units->range[units->nr++] = (struct range){
			.start = start, .end = end, .unit = dwarf_dieoffset(die),
		};
	}
}

static int compare_ranges(const void *va, const void *vb)
{
	const struct range *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void read_units(struct elf_units *units, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	Dwarf_Die die;
	size_t head;

	units->read = true;
	for (; !dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL); at = next)
		if (dwarf_offdie(dwarf, at + head, &die))
			add_unit(units, &die);
	if (units->nr)
		qsort(units->range, units->nr, sizeof(*units->range), compare_ranges);
}

static const struct range *find_range(const struct elf_units *units, u64 addr)
{
	size_t low = 0, high = units->nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (units->range[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < units->range[low - 1].end ? &units->range[low - 1] : NULL;
}

/* Find the compilation unit that contains @addr. Returns false if there is none. */
bool elf_find_unit(struct elf_units *units, Dwarf *dwarf, u64 addr, Dwarf_Die *unit)
{
	const struct range *range;

	if (!units->read)
		read_units(units, dwarf);
	range = find_range(units, addr);
	return range && dwarf_offdie(dwarf, range->unit, unit);
}

/* Find the source file and the line of @addr. Sets *@file to NULL if they are not known. */
void elf_find_line(struct elf_units *units, Dwarf *dwarf, u64 addr, const char **file, int *line)
{
	Dwarf_Line *found;
	Dwarf_Die unit;

	found = elf_find_unit(units, dwarf, addr, &unit) ? dwarf_getsrc_die(&unit, addr) : NULL;
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

/* Call @take for each entry of the line tables that begins a statement and has a known line. */
void elf_find_lines(Dwarf *dwarf, bt_take_line *take, void *arg)
{
	Dwarf_Off at = 0, next;
	Dwarf_Die unit;
	size_t head;

	for (; !dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL); at = next)
		if (dwarf_offdie(dwarf, at + head, &unit))
			take_unit(&unit, take, arg);
}
