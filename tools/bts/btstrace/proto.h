/* SPDX-License-Identifier: GPL-2.0 */
/* Encodes messages of protobuf, as far as traces of Perfetto need them. */
#ifndef BTSTRACE_PROTO_H
#define BTSTRACE_PROTO_H

#include "text.h"

void proto_number(struct bt_text *t, u32 field, u64 v);
void proto_bytes(struct bt_text *t, u32 field, const void *bytes, size_t len);
void proto_name(struct bt_text *t, u32 field, const char *s);

#endif
