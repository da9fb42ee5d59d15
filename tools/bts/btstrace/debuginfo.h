/* SPDX-License-Identifier: GPL-2.0 */
/* Debug information, through libdw: between elffile.c, debuginfo.c and lines.c */
#ifndef BTSTRACE_DEBUGINFO_H
#define BTSTRACE_DEBUGINFO_H

#include <elfutils/libdwfl.h>

#include "elffile.h"

int elf_find_debuginfo(Dwfl_Module *mod, void **user, const char *mod_name, Dwarf_Addr base,
		       const char *path, const char *link, GElf_Word crc, char **found);
void elf_find_line(struct bt_elf *elf, Dwarf *dwarf, u64 addr, const char **file, int *line);

#endif
