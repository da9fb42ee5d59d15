/* SPDX-License-Identifier: GPL-2.0 */
/* Debug information, through libdw: between elffile.c, debuginfo.c and lines.c */
#ifndef BTSTRACE_DEBUGINFO_H
#define BTSTRACE_DEBUGINFO_H

#include <elfutils/libdwfl.h>

#include "elffile.h"

int elf_find_debuginfo(Dwfl_Module *mod, void **user, const char *mod_name, Dwarf_Addr base,
		       const char *path, const char *link, GElf_Word crc, char **found);
bool elf_find_unit(struct bt_elf *elf, Dwarf *dwarf, u64 addr, Dwarf_Die *unit);
void elf_find_line(struct bt_elf *elf, Dwarf *dwarf, u64 addr, const char **file, int *line);

void elf_find_lines(Dwarf *dwarf, bt_take_line *take, void *arg);
void elf_find_view(Dwarf_Die *unit, u64 addr, struct bt_view *view);

#endif
