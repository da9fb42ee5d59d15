/* SPDX-License-Identifier: GPL-2.0 */
/* Parses /proc/PID/maps. */
#ifndef BTSTRACE_MAPS_H
#define BTSTRACE_MAPS_H

#include "bt.h"

/* struct bt_map - a line of /proc/PID/maps */
struct bt_map {
	u64	start;
	u64	end;
	u64	offset;
	u64	dev;
	u64	ino;
	char	*path;
	bool	writable;
	bool	executable;
};

size_t bt_maps_parse(const char *text, size_t len, struct bt_map **maps);
void bt_maps_free(struct bt_map *maps, size_t n);
const struct bt_map *bt_maps_find(const struct bt_map *maps, size_t n, u64 addr);

#endif
