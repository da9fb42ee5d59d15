// SPDX-License-Identifier: GPL-2.0
/* This file encodes messages of protobuf. */
#include "proto.h"

/* Wire types: they say how a field is encoded. */
#define WIRE_VARINT	0
#define WIRE_LEN	2

static void varint(struct bt_text *t, u64 v)
{
	u8 *at = (u8 *)text_reserve(t, 10);
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		at[n++] = v | 0x80;
	at[n++] = v;
	t->used += n;
}

void proto_number(struct bt_text *t, u32 field, u64 v)
{
	varint(t, field << 3 | WIRE_VARINT);
	varint(t, v);
}

/* Append a field of bytes: a string, or a message within the message. */
void proto_bytes(struct bt_text *t, u32 field, const void *bytes, size_t len)
{
	varint(t, field << 3 | WIRE_LEN);
	varint(t, len);
	text_put(t, bytes, len);
}

/*
 * Append a string. protobuf requires UTF-8: text_safe() replaces other bytes by a question
 * mark.
 */
void proto_name(struct bt_text *t, u32 field, const char *s)
{
	struct bt_text safe;

	text_open(&safe, -1);
	text_safe(&safe, s);
	proto_bytes(t, field, safe.buf, safe.used);
	text_close(&safe);
}
