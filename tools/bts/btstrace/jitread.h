/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the lists of functions of just-in-time compilers in live processes; see jit.h. */
#ifndef BTSTRACE_JITREAD_H
#define BTSTRACE_JITREAD_H

#include "maps.h"

struct bt_jit_reader;

struct bt_jit_reader *bt_jit_reader_new(void);
void bt_jit_reader_free(struct bt_jit_reader *r);
void bt_jit_exec(struct bt_jit_reader *r, pid_t tgid);
char *bt_jit_read(struct bt_jit_reader *r, pid_t tgid, const struct bt_map *maps, size_t n,
		  size_t *len);

#endif
