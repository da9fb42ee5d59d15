/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This header is for functions and lines of an ELF file, by the addresses it was linked for.
 * It uses libdw. A file that is damaged, or that is truncated while it is read, has fewer.
 */
#ifndef BTSTRACE_ELFFILE_H
#define BTSTRACE_ELFFILE_H

#include "function.h"
#include "view.h"

struct bt_segment {
	u64	addr;
	u64	offset;
	u64	size;
};

/*
 * struct bt_elf - an ELF file
 * @is64:	64-bit code
 * @base:	where its first segment is linked to
 * @fn:	its functions, in order
 * @nr_fn:	how many
 * @no_lines:	do not look for any
 */
struct bt_elf {
	bool			is64;
	u64			base;
	struct bt_functions	functions;
	bool			no_lines;
	/* private */
	struct bt_segment	*segment;
	size_t			nr_segments;
	size_t			room_segments;
	struct elf_units	*units;
	u8			has_lines;	/* 1 or 2 once that is known */
	int			fd;
	struct Dwfl		*dwfl;
	struct Dwfl_Module	*mod;
};

struct bt_elf *bt_elf_open(int fd, const char *path);
void bt_elf_close(struct bt_elf *elf);
const struct bt_function *bt_elf_function(const struct bt_elf *elf, u64 addr);
bool bt_elf_line(struct bt_elf *elf, u64 addr, const char **file, int *line);
bool bt_elf_view(struct bt_elf *elf, u64 addr, struct bt_view *view);
void bt_elf_lines(struct bt_elf *elf, bt_take_line *take, void *arg);
bool bt_elf_has_lines(struct bt_elf *elf);
bool bt_elf_address(const struct bt_elf *elf, u64 offset, u64 *addr);
size_t bt_elf_read(const struct bt_elf *elf, u64 offset, void *buf, size_t n);

#endif
