/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of an ELF file that have no symbols; for elffile.c */
#ifndef BTSTRACE_ELFPARTS_H
#define BTSTRACE_ELFPARTS_H

#include <gelf.h>

#include "function.h"

void elf_add_plt(struct bt_functions *functions, Elf *e, bool is64);
void elf_add_frames(struct bt_functions *functions, Elf *e, const char *path);

#endif
