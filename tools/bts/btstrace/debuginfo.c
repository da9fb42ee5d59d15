// SPDX-License-Identifier: GPL-2.0
/*
 * libdw looks for the debug information of a program in other files. Their names depend on the
 * program. The author of a hostile program may have made a FIFO of such a name, and libdw would
 * wait for ever. Before libdw opens these files, this file checks that they are regular files, or
 * do not exist.
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
 * Check the files that libdw tries for @name in /usr/lib/debug: in the subdirectory @dir, and in
 * those whose names are the last parts of @dir. Only root can put files there, but @name may begin
 * with "..".
 */
static bool is_harmless_globally(const char *dir, int dir_len, const char *name)
{
	int at;

	for (at = 0; at <= dir_len; at++)
		if ((at == dir_len || dir[at] == '/') &&
		    !is_harmless(bt_print("/usr/lib/debug%.*s/%s", dir_len - at, dir + at, name)))
			return false;
	return true;
}

/*
 * Check the files that libdw tries for @name: @name itself, if it is an absolute path; @name in
 * @dir and in @dir/.debug, even if it is an absolute path; its last part in @dir/.dwz; and those
 * in /usr/lib/debug.
 */
static bool name_is_harmless(const char *dir, int dir_len, const char *name)
{
	const char *slash = strrchr(name, '/');

	return is_harmless_globally(dir, dir_len, name) &&
	       (*name != '/' || is_harmless(bt_copy(name))) &&
	       is_harmless(bt_print("%.*s%s", dir_len, dir, name)) &&
	       is_harmless(bt_print("%.*s.debug/%s", dir_len, dir, name)) &&
	       is_harmless(bt_print("%.*s.dwz/%s", dir_len, dir, slash ? slash + 1 : name));
}

/*
 * Check the debug files of the program @path. They may have the name of the program, with .debug
 * appended or not, or the name @link, which the program or its debug file contains. @link is NULL
 * if there is no such name.
 */
static bool debug_files_harmless(const char *path, const char *link)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? slash + 1 - path : 0;
	char *own = bt_print("%s.debug", path + dir_len);
	bool harmless = name_is_harmless(path, dir_len, own) &&
			name_is_harmless(path, dir_len, path + dir_len) &&
			(!link || name_is_harmless(path, dir_len, link));

	free(own);
	return harmless;
}

int elf_find_debuginfo(Dwfl_Module *mod, void **user, const char *mod_name, Dwarf_Addr base,
		       const char *path, const char *link, GElf_Word crc, char **found)
{
	char *real = path ? realpath(path, NULL) : NULL;
	bool harmless = (!path || debug_files_harmless(path, link)) &&
			(!real || debug_files_harmless(real, link));

	free(real);
	if (!harmless) {
		/*
		 * libdw looks for some files without this callback: also forbid elffile.c to
		 * use what libdw finds.
		 */
		*(bool *)*user = true;
		return -1;
	}
	return dwfl_standard_find_debuginfo(mod, user, mod_name, base, path, link, crc, found);
}
