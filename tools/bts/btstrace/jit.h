/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that a just-in-time compiler tells of, for perf and others: in
 * /tmp/perf-PID.map, or in a jitdump file that it maps.
 */
#ifndef BTSTRACE_JIT_H
#define BTSTRACE_JIT_H

#include "function.h"

struct bt_jit;
struct bt_map;

/* Of live processes: what was written since the last time, as lines of a map. */
struct bt_jit_reader;

struct bt_jit_reader *bt_jit_reader_new(void);
void bt_jit_reader_free(struct bt_jit_reader *r);
char *bt_jit_read(struct bt_jit_reader *r, pid_t tgid, const struct bt_map *maps, size_t n,
		  size_t *len);

void bt_jit_add(struct bt_jit **jit, const char *text, size_t len);
const struct bt_function *bt_jit_function(const struct bt_jit *jit, u64 addr);
void bt_jit_free(void);

#endif
