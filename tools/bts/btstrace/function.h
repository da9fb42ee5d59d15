/* SPDX-License-Identifier: GPL-2.0 */
/* Functions, by address, and their names. */
#ifndef BTSTRACE_FUNCTION_H
#define BTSTRACE_FUNCTION_H

#include "bt.h"

/* Exported; weakly so; for this file only; something else; for programs of old only */
enum { BT_RANK_GLOBAL, BT_RANK_WEAK, BT_RANK_LOCAL, BT_RANK_OTHER, BT_RANK_OLD };

/* One more name of a function */
struct bt_alias {
	const char	*name;
	struct bt_alias	*next;
	/* private */
	char		*shown;
};

/*
 * struct bt_function - a function, or what stands for all that has no name
 * @name:	as it is in the file; never NULL
 * @alias:	its other names; of a PLT stub, what it leads to
 * @start:	its first address
 * @end:	the first one behind it
 * @named:	false for a stand-in: @name is that of the module, and maybe an offset
 * @plt:	a stub that goes on to a function of another module
 * @whole:	only a stand-in: from @start to @end it is one function, says .eh_frame
 * @rank:	how far it is seen, of BT_RANK_*: it decides which of several names is @name
 * @limit:	if its size is not known, it ends here at the latest
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

/* A list of them; in order after bt_functions_tidy() */
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

void bt_demangle_not(void);
char *bt_demangle(const char *name);
const char *bt_alias_name(struct bt_alias *alias);
const char *bt_function_name(const struct bt_function *fn);
bool bt_function_matches(const struct bt_function *fn, const char *pattern);

#endif
