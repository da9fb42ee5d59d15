/* SPDX-License-Identifier: GPL-2.0 */
/* Measures how many columns of a terminal a text needs. */
#ifndef BTSTRACE_WIDTH_H
#define BTSTRACE_WIDTH_H

#include "bt.h"

size_t bt_width(const char *s, size_t n, size_t most, size_t *fits);

#endif
