/* SPDX-License-Identifier: GPL-2.0 */
/* The files that are mapped, and what else is mapped under one name. */
#ifndef BTSTRACE_MODULE_H
#define BTSTRACE_MODULE_H

#include "elffile.h"
#include "maps.h"

/* The kernel's page of code, which exists in memory only */
#define BT_VDSO	"[vdso]"
/* The vdso is smaller than this. */
#define BT_VDSO_MAX	(256 * 1024)

/*
 * struct bt_module - a file, or what else is mapped under one name
 * @id:		counts up from 0
 * @name:	the last part of its path, or what stands for it: [vdso], [anon]
 * @path:	as the kernel tells it
 * @base:	where it begins
 * @end:	where it ends
 * @elf:	NULL if it is no ELF file, or is gone
 * @all:	stands for what of it has no name
 */
struct bt_module {
	u32			id;
	char			*name;
	char			*path;
	u64			base;
	u64			end;
	struct bt_elf		*elf;
	struct bt_function	all;
	/* private */
	u64			dev;
	u64			ino;
	struct bt_module	*next;
	struct bt_module	*same_base;
	struct bt_module	*same_file;
	struct bt_elf		*opened;	/* to be closed with this one */
};

struct bt_module *bt_module_of(const struct bt_map *maps, size_t n, size_t first, pid_t pid,
			       const u8 *image, size_t len);
int bt_module_open(const struct bt_map *map, pid_t pid);
int bt_module_open_path(const char *path);
size_t bt_module_path_len(const char *path);
struct bt_module *bt_module_none(void);
struct bt_module *bt_module_kernel(void);

const struct bt_module *bt_modules(void);
void bt_modules_free(void);

#endif
