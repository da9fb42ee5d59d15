// SPDX-License-Identifier: GPL-2.0
/*
 * Which function the source text of an address is in: the compiler may have put it
 * into another, and that into another again.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo.h"

/* Headers of the compiler and of libraries: nobody looks for a mistake there first. */
bool bt_is_system_source(const char *file)
{
	return bt_begins(file, "/usr/include/") || bt_begins(file, "/usr/lib/");
}

/* Where the function of an inlined copy was called */
static bool find_call(Dwarf_Die *unit, Dwarf_Die *copy, const char **file, int *line)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word n, at;

	if (dwarf_formudata(dwarf_attr(copy, DW_AT_call_line, &attr), &at) ||
	    dwarf_formudata(dwarf_attr(copy, DW_AT_call_file, &attr), &n) ||
	    dwarf_getsrcfiles(unit, &files, NULL))
		return false;
	*file = dwarf_filesrc(files, n, NULL, NULL);
	*line = at;
	return *file && *line > 0;
}

/*
 * What the code is in, from the innermost outwards. Behind the first copy of an
 * inlined function dwarf_getscopes() goes on with where that was written, not with
 * what it was copied into.
 */
static int find_scopes(Dwarf_Die *unit, u64 addr, Dwarf_Die **scopes)
{
	Dwarf_Die copy;
	int i, n;

	*scopes = NULL;
	n = dwarf_getscopes(unit, addr, scopes);
	for (i = 0; i < n; i++)
		if (dwarf_tag(&(*scopes)[i]) == DW_TAG_inlined_subroutine)
			break;
	if (i >= n)
		return 0;
	copy = (*scopes)[i];
	free(*scopes);
	*scopes = NULL;
	return dwarf_getscopes_die(&copy, scopes);
}

/*
 * From the innermost function outwards, until one is in a file of the user's own.
 * @view->file and @view->line are set to where the line table says.
 */
void elf_find_view(Dwarf_Die *unit, u64 addr, struct bt_view *view)
{
	Dwarf_Die *scopes;
	int i, n = find_scopes(unit, addr, &scopes);

	for (i = 0; i < n; i++) {
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		if (!bt_is_system_source(view->file)) {
			view->inlined = dwarf_diename(&scopes[i]);
			break;
		}
		if (!find_call(unit, &scopes[i], &view->file, &view->line))
			break;
	}
	free(scopes);
}
