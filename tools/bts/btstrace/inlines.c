// SPDX-License-Identifier: GPL-2.0
/*
 * This file finds the source line to show for an address, and the inlined function that
 * contains this line. The symbol at the address has only the name of the function that
 * the compiler has inlined the code into.
 */
#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo.h"

/* Is @file in a directory of system headers? Those of GCC are below /usr/lib/. */
bool bt_is_system_source(const char *file)
{
	return bt_begins(file, "/usr/include/") || bt_begins(file, "/usr/lib/");
}

/*
 * Find the line that calls an inlined function. @copy describes the place where the function was
 * inlined. Returns false if the line is not known.
 */
static bool find_call(Dwarf_Die *unit, Dwarf_Die *copy, const char **file, int *line)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	const char *source;
	Dwarf_Word n, at;

	if (dwarf_formudata(dwarf_attr(copy, DW_AT_call_line, &attr), &at) ||
	    dwarf_formudata(dwarf_attr(copy, DW_AT_call_file, &attr), &n) ||
	    dwarf_getsrcfiles(unit, &files, NULL))
		return false;
	source = dwarf_filesrc(files, n, NULL, NULL);
	if (!source || !at || at > INT_MAX)
		return false;
	*file = source;
	*line = at;
	return true;
}

/*
 * Find the scopes of an address, from the innermost inlined function outwards. Returns their
 * number; 0 or -1 if no function was inlined there, or on error. The caller frees *@scopes.
 * dwarf_getscopes() alone is not enough: after the first inlined function, it lists the
 * scopes around the definition of this function, and not the function that calls it.
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
 * The caller has set @view->file and @view->line to what the line table says about @addr. If this
 * line is in an inlined function of a system header, replace it by the line that calls the
 * function. Repeat until the line is in no system header, or in no inlined function, or until the
 * calling line is not known. Set @view->inlined to the inlined function that contains the line,
 * if there is one and the line is in no system header.
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
