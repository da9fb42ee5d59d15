// SPDX-License-Identifier: GPL-2.0
/*
 * This file finds the function that the source text of an address is in: the compiler may
 * have inlined it into another, and that into another again.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo.h"

/* Nobody looks for a mistake in headers of the compiler and of libraries first. */
bool bt_is_system_source(const char *file)
{
	return bt_begins(file, "/usr/include/") || bt_begins(file, "/usr/lib/");
}

/* Find where the function of an inlined copy was called. */
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
 * Find the scopes of an address, from the innermost outwards. Behind the first copy of an
 * inlined function, dwarf_getscopes() goes on with where the function was written, not with
 * the function that it was inlined into.
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
 * Go from the innermost function outwards, until one is in a file of the user's own. The
 * caller has set @view->file and @view->line to what the line table says.
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
