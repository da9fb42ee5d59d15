/* SPDX-License-Identifier: GPL-2.0 */
/* This header is for the columns of a terminal that text needs. */
#ifndef BTSTRACE_WIDTH_H
#define BTSTRACE_WIDTH_H

#include "bt.h"

size_t bt_width(const char *s, size_t n, size_t most, size_t *fits);

#endif
