/* SPDX-License-Identifier: GPL-2.0 */
/* Between elffile.c and debuginfo.c: with what libdw calls it with */
#ifndef BTSTRACE_DEBUGINFO_H
#define BTSTRACE_DEBUGINFO_H

#include <elfutils/libdwfl.h>

int elf_find_debuginfo(Dwfl_Module *mod, void **user, const char *mod_name, Dwarf_Addr base,
		       const char *path, const char *link, GElf_Word crc, char **found);

#endif
