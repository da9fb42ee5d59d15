/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Modules: the files that processes have mapped, and mappings of no file, such as [vdso] and
 * [anon]
 */
#ifndef BTSTRACE_MODULE_H
#define BTSTRACE_MODULE_H

#include "elffile.h"
#include "maps.h"

/*
 * The path of the vdso in /proc/PID/maps. The vdso is code of the kernel for user mode. It is in
 * no file.
 */
#define BT_VDSO	"[vdso]"
/* A mapping that is larger than this is not read as a vdso. */
#define BT_VDSO_MAX	(256 * 1024)

/*
 * struct bt_module - a file that is mapped at one address, or mappings of no file
 * @id:		a number, from 0: modules with the same file and path have the same ID; UINT32_MAX
 *		for bt_module_none() and bt_module_kernel()
 * @name:	the last part of @path or, if @path is empty, [anon], [unknown] or [kernel]
 * @path:	the path in /proc/PID/maps, without escapes and without " (deleted)"
 * @base:	the address where the first byte of the file is or would be mapped; without a file:
 *		where the mapping begins; 0 if @path is empty
 * @end:	the address behind the last mapping; UINT64_MAX if @path is empty
 * @elf:	its functions and lines; NULL if it is no ELF file, or cannot be opened
 * @all:	stands in for the function of an address if this function is not known
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
	struct bt_elf		*opened;	/* @elf if this module has to close it; or NULL */
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
