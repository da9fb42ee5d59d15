/* SPDX-License-Identifier: GPL-2.0 */
/* Identifies the contents of a file, whatever its name: by its build ID, or by a checksum. */
#ifndef BTSTRACE_IDENT_H
#define BTSTRACE_IDENT_H

#include "bt.h"

#define BT_IDENT_MAX	20

enum bt_ident_kind { BT_IDENT_NONE, BT_IDENT_BUILD, BT_IDENT_SUM };

struct bt_ident {
	u8 kind;	/* enum bt_ident_kind */
	u8 len;
	u8 bytes[BT_IDENT_MAX];
};

void bt_ident_read(int fd, struct bt_ident *id);
bool bt_ident_same(const struct bt_ident *a, const struct bt_ident *b);
char *bt_ident_text(const struct bt_ident *id);

#endif
