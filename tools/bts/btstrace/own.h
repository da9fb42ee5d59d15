/* SPDX-License-Identifier: GPL-2.0 */
/* Tells the user's own code from code of the system. */
#ifndef BTSTRACE_OWN_H
#define BTSTRACE_OWN_H

#include "space.h"

bool bt_module_is_own(const struct bt_module *m);
bool bt_place_is_own(struct bt_place *place);

#endif
