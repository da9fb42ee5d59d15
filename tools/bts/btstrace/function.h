/* SPDX-License-Identifier: GPL-2.0 */
/* Lists of functions with their addresses and names */
#ifndef BTSTRACE_FUNCTION_H
#define BTSTRACE_FUNCTION_H

#include "bt.h"

/*
 * The binding of a symbol. If several symbols have one address, compare_functions() chooses one
 * by size, name and rank; a lower rank is better. BT_RANK_OLD: an old version of a function,
 * which new programs are not linked to.
 */
enum { BT_RANK_GLOBAL, BT_RANK_WEAK, BT_RANK_LOCAL, BT_RANK_OTHER, BT_RANK_OLD };

/* struct bt_alias - one more name of a function */
struct bt_alias {
	const char	*name;
	struct bt_alias	*next;
	/* private */
	char		*shown;
};

/*
 * struct bt_function - a function; or a stand-in, which represents code that has no symbol
 * @name:	its name, not demangled; never NULL
 * @alias:	its other names; of a PLT stub: the name of the function that it leads to
 * @start:	the first address
 * @end:	the address behind the last byte
 * @named:	false for a stand-in: @name is mostly the name of the file or mapping, maybe with
 *	an address
 * @plt:	it is a PLT stub, which jumps to a function, mostly of another module
 * @whole:	true for a stand-in that .eh_frame_hdr lists: mostly for one function, or for a part
 *	of one, such as foo.cold
 * @rank:	BT_RANK_*, to choose @name from several symbols at one address
 * @limit:	the end of its section, where a function of unknown size ends at the latest; or 0
 */
struct bt_function {
	const char	*name;
	struct bt_alias	*alias;
	u64		start;
	u64		end;
	bool		named;
	bool		plt;
	bool		whole;
	u8		rank;
	u64		limit;
	/* private */
	char		*shown;
};

/* struct bt_functions - a list of functions, sorted by address after bt_functions_tidy() */
struct bt_functions {
	struct bt_function	*fn;
	size_t			nr;
	size_t			room;
};

void bt_functions_add(struct bt_functions *list, struct bt_function fn);
void bt_functions_tidy(struct bt_functions *list);
const struct bt_function *bt_functions_at(const struct bt_functions *list, u64 addr);
void bt_functions_free(struct bt_functions *list);

void bt_function_alias(struct bt_function *fn, const char *name);

void bt_demangle_disable(void);
char *bt_demangle(const char *name);
const char *bt_alias_name(struct bt_alias *alias);
const char *bt_function_name(const struct bt_function *fn);
bool bt_function_matches(const struct bt_function *fn, const char *pattern);

#endif
