// SPDX-License-Identifier: GPL-2.0
/*
 * Where a program's symbols and lines are if they are not in its own file: where
 * libdw looks for them. It opens whatever bears the right name, and a FIFO would
 * hold it up for ever; who made the program may have put it there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "debuginfo.h"

static bool is_harmless(char *path)
{
	struct stat st;
	bool harmless = stat(path, &st) || S_ISREG(st.st_mode);

	free(path);
	return harmless;
}

/* Below /usr/lib/debug nobody else puts anything. */
static bool all_harmless(const char *dir, int dir_len, const char *name)
{
	if (*name == '/')
		return is_harmless(bt_copy(name));
	return is_harmless(bt_print("%.*s%s", dir_len, dir, name)) &&
	       is_harmless(bt_print("%.*s.debug/%s", dir_len, dir, name));
}

/* @link is the name that the file tells; there is one that is made of its own, too. */
static bool beside_harmless(const char *path, const char *link)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? slash + 1 - path : 0;
	char *own = bt_print("%s.debug", path + dir_len);
	bool harmless = all_harmless(path, dir_len, own) &&
			(!link || all_harmless(path, dir_len, link));

	free(own);
	return harmless;
}

int elf_find_debuginfo(Dwfl_Module *mod, void **user, const char *mod_name, Dwarf_Addr base,
		       const char *path, const char *link, GElf_Word crc, char **found)
{
	char *real = path ? realpath(path, NULL) : NULL;
	bool harmless = (!path || beside_harmless(path, link)) &&
			(!real || beside_harmless(real, link));

	free(real);
	if (!harmless) {
		/* It would look for some of it by itself. */
		*(bool *)*user = true;
		return -1;
	}
	return dwfl_standard_find_debuginfo(mod, user, mod_name, base, path, link, crc, found);
}
