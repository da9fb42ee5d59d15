/* SPDX-License-Identifier: GPL-2.0 */
/* Messages of protobuf, put together in memory: no more of it than Perfetto's traces need. */
#ifndef BTSTRACE_PROTO_H
#define BTSTRACE_PROTO_H

#include "text.h"

void proto_number(struct bt_text *t, u32 field, u64 v);
void proto_bytes(struct bt_text *t, u32 field, const void *bytes, size_t len);
void proto_name(struct bt_text *t, u32 field, const char *s);

#endif
