// SPDX-License-Identifier: GPL-2.0
/*
 * This file finds the function that contains the source line of an address. It may differ
 * from the function of the symbol, which the compiler has inlined it into.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo.h"

/*
 * Is @file a header of the compiler or of a library? People look for mistakes in their own
 * files first.
 */
bool bt_is_system_source(const char *file)
{
	return bt_begins(file, "/usr/include/") || bt_begins(file, "/usr/lib/");
}

/* Find the line that calls the inlined function @copy. */
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
 * Find the scopes of an address, from the innermost inlined function outwards. Returns their
 * number, 0 if no function was inlined there. dwarf_getscopes() is not enough: behind the
 * first inlined function it continues with the scopes of the definition of this function,
 * not with the function that contains the inlined code.
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
 * Go from the innermost inlined function outwards until a line is in a file of the user's
 * own. Set @view to this line, and to the inlined function that contains it. The caller has
 * set @view->file and @view->line to the entry of the line table.
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
