// SPDX-License-Identifier: GPL-2.0
/*
 * libdw looks for debug information in other files, whose names the program contains. The
 * author of a hostile program may have put a FIFO there, and libdw would wait for ever. This
 * file checks the names first.
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

/*
 * Is the file @name harmless? @name is an absolute path, or is relative to @dir and to
 * @dir/.debug. libdw also looks in /usr/lib/debug. That is not checked: only root can put
 * files there.
 */
static bool all_harmless(const char *dir, int dir_len, const char *name)
{
	if (*name == '/')
		return is_harmless(bt_copy(name));
	return is_harmless(bt_print("%.*s%s", dir_len, dir, name)) &&
	       is_harmless(bt_print("%.*s.debug/%s", dir_len, dir, name));
}

/*
 * Check the names that libdw tries for the program @path: the name of the program with
 * .debug behind it, and the name @link that the program contains.
 */
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
		/*
		 * libdw looks for some files without this callback: also forbid the use of
		 * what libdw finds.
		 */
		*(bool *)*user = true;
		return -1;
	}
	return dwfl_standard_find_debuginfo(mod, user, mod_name, base, path, link, crc, found);
}
