/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds functions and lines of an ELF file, with libdw. Addresses are link-time addresses, as
 * in the file. If a file is damaged, or is truncated while it is read, some functions and lines
 * may be missing.
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
 * @is64:	it contains 64-bit code
 * @base:	the lowest address that a segment is linked to, rounded down to a page
 * @functions:	its functions, sorted by address
 * @no_lines:	do not read debug information: it may be in a FIFO; see debuginfo.c
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
	u8			has_lines;	/* 0: unknown; 1: yes; 2: no */
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
