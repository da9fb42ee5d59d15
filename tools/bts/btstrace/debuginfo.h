/* SPDX-License-Identifier: GPL-2.0 */
/* Reads debug information with libdw: debuginfo.c, lines.c and inlines.c, for elffile.c */
#ifndef BTSTRACE_DEBUGINFO_H
#define BTSTRACE_DEBUGINFO_H

#include <elfutils/libdwfl.h>

#include "view.h"

/* struct elf_units - the address ranges of the compilation units of a file */
struct elf_units;

/*
 * The callback find_debuginfo of libdw, which calls it with the pointer that read_file() has
 * stored: *@user points to @no_lines of struct bt_elf. The callback sets @no_lines, and
 * returns -1, if libdw must not read debug information.
 */
int elf_find_debuginfo(Dwfl_Module *mod, void **user, const char *mod_name, Dwarf_Addr base,
		       const char *path, const char *link, GElf_Word crc, char **found);

struct elf_units *elf_units_new(void);
void elf_units_free(struct elf_units *units);
bool elf_find_unit(struct elf_units *units, Dwarf *dwarf, u64 addr, Dwarf_Die *unit);
void elf_find_line(struct elf_units *units, Dwarf *dwarf, u64 addr, const char **file, int *line);
void elf_find_lines(Dwarf *dwarf, bt_take_line *take, void *arg);
void elf_find_view(Dwarf_Die *unit, u64 addr, struct bt_view *view);

#endif
