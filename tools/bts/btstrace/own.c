// SPDX-License-Identifier: GPL-2.0
/* This file decides which code is the user's own, and which belongs to the system. */
#include <string.h>

#include "own.h"

/*
 * Is the module the kernel, the vdso, or a library in a system directory? A library has .so in
 * its name. A program without .so in its name is no system module, even in a system directory.
 */
static bool is_system(const struct bt_module *m)
{
	static const char *const dirs[] = {
		"/lib/", "/lib32/", "/lib64/", "/libx32/", "/usr/lib/", "/usr/lib32/",
		"/usr/lib64/", "/usr/libx32/", "/usr/libexec/",
	};
	size_t i;

	if (!strcmp(m->name, "[kernel]") || !strcmp(m->name, "[vdso]"))
		return true;
	if (!strstr(m->name, ".so"))
		return false;
	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		if (bt_begins(m->path, dirs[i]))
			return true;
	return false;
}

bool bt_module_is_own(const struct bt_module *m)
{
	return !is_system(m);
}

/*
 * Code of a system module, and PLT stubs, are not the user's own. In another file with debug
 * information, a function with a symbol is the user's own only if its line is known and is not in a
 * system header. This mostly excludes the C library of a static program, and templates of the C++
 * library. All other code is the user's own.
 */
static bool is_own(struct bt_place *place)
{
	const char *file;
	int line;

	if (is_system(place->module) || place->fn->plt)
		return false;
	if (!place->elf || !place->fn->named || !bt_elf_has_lines(place->elf))
		return true;
	return bt_elf_line(place->elf, place->fn->start, &file, &line) &&
	       !bt_is_system_source(file);
}

bool bt_place_is_own(struct bt_place *place)
{
	if (!place->owner)
		place->owner = is_own(place) ? 1 : 2;
	return place->owner == 1;
}
