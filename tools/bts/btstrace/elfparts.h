/* SPDX-License-Identifier: GPL-2.0 */
/* For elffile.c: find old versions of functions, PLT stubs, and functions without symbols */
#ifndef BTSTRACE_ELFPARTS_H
#define BTSTRACE_ELFPARTS_H

#include <gelf.h>

#include "function.h"

struct elf_hidden *elf_hidden_read(Elf *e);
bool elf_hidden_has(const struct elf_hidden *h, u64 addr, const char *name);
void elf_hidden_free(struct elf_hidden *h);
void elf_add_plt(struct bt_functions *functions, Elf *e, bool is64);
void elf_add_frames(struct bt_functions *functions, Elf *e, const char *path);

#endif
