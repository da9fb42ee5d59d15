/* SPDX-License-Identifier: GPL-2.0 */
/* Converts a trace of Perfetto to text, for tests: a line for each track and each event. */
#ifndef BTSTRACE_TEST_PERFETTO_H
#define BTSTRACE_TEST_PERFETTO_H

#include <inttypes.h>
#include <stdlib.h>

#include "text.h"

/* struct field - a field of a message: a number, or bytes */
struct field {
	u32 number;
	u64 value;
	const u8 *bytes;
	size_t len;
};

struct message {
	const u8 *at;
	const u8 *end;
};

static inline bool read_varint(struct message *m, u64 *v)
{
	int shift;

	*v = 0;
	for (shift = 0; m->at < m->end && shift < 64; shift += 7) {
		*v |= (u64)(*m->at & 0x7f) << shift;
		if (!(*m->at++ & 0x80))
			return true;
	}
	return false;
}

static bool perfetto_broken;	/* a message was malformed */

/*
 * Read the next field. Returns false at the end of the message, and always after a message was
 * malformed.
 */
static inline bool next_field(struct message *m, struct field *f)
{
	u64 key;

	*f = (struct field){};
	if (m->at == m->end)
		return false;
	if (!read_varint(m, &key) || !read_varint(m, &f->value) ||
	    ((key & 7) && ((key & 7) != 2 || f->value > (u64)(m->end - m->at))))
		perfetto_broken = true;
	if (perfetto_broken)
		return false;
	f->number = key >> 3;
	if ((key & 7) == 0)
		return true;
	f->bytes = m->at;
	f->len = f->value;
	m->at += f->len;
	return true;
}

static inline struct message inside(const struct field *f)
{
	return (struct message){ f->bytes, f->bytes + f->len };
}

#define PERFETTO_IDS	4096

struct perfetto_names {
	char name[PERFETTO_IDS][64];	/* interned names of events, by their numbers */
	bool category[PERFETTO_IDS];	/* the category with this number is defined */
	int pid[PERFETTO_IDS], tid[PERFETTO_IDS];	/* of each track, by its ID */
};

static inline void copy_name(char *to, const struct field *f)
{
	size_t n = f->len < 63 ? f->len : 63;

	memcpy(to, f->bytes, n);
	to[n] = '\0';
}

static inline void take_interned(struct perfetto_names *names, struct message m)
{
	struct field f, part;
	struct message entry;
	u64 iid;

	while (next_field(&m, &f)) {
		entry = inside(&f);
		for (iid = 0; next_field(&entry, &part); )
			if (part.number == 1)
				iid = part.value % PERFETTO_IDS;
			else if (part.number == 2 && f.number == 2)
				copy_name(names->name[iid], &part);
		if (f.number == 1)
			names->category[iid] = true;
	}
}

static inline void take_track(struct bt_text *out, struct perfetto_names *names, struct message m)
{
	int pid = 0, tid = 0;
	struct message what;
	struct field f, part;
	char name[64] = "";
	u64 uuid = 0;

	while (next_field(&m, &f)) {
		if (f.number == 1)
			uuid = f.value % PERFETTO_IDS;
		if (f.number != 3 && f.number != 4)
			continue;
		what = inside(&f);
		while (next_field(&what, &part)) {
			if (part.number == 1)
				pid = part.value;
			else if (f.number == 4 && part.number == 2)
				tid = part.value;
			else if (part.bytes)
				copy_name(name, &part);
		}
	}
	names->pid[uuid] = pid;
	names->tid[uuid] = tid;
	text_print(out, "%s %d %d %s\n", tid ? "thread" : "process", pid, tid, name);
}

static inline void take_event(struct bt_text *out, const struct perfetto_names *names, u64 ts,
			      struct message m)
{
	static const char types[] = "?BEI";
	u64 type = 0, track = 0;
	char name[64] = "";
	struct field f;

	while (next_field(&m, &f)) {
		if (f.number == 9)
			type = f.value & 3;
		else if (f.number == 11)
			track = f.value % PERFETTO_IDS;
		else if (f.number == 10)
			memcpy(name, names->name[f.value % PERFETTO_IDS], sizeof(name));
		else if (f.number == 3 && !names->category[f.value % PERFETTO_IDS])
			text_str(out, "broken\n");
		else if (f.number == 23)
			copy_name(name, &f);
	}
	text_print(out, "%c %d %d %" PRIu64 ".%03" PRIu64 " %s\n", types[type], names->pid[track],
		   names->tid[track], ts / 1000, ts % 1000, name);
}

/*
 * Returns a trace as text, which the caller frees. A malformed message, and an event of a category
 * that is not defined, adds a line "broken".
 */
static inline char *perfetto_text(const void *bytes, size_t len)
{
	struct message trace = { bytes, (const u8 *)bytes + len }, packet;
	struct perfetto_names *names = bt_alloc(1, sizeof(*names));
	struct field f, part;
	struct bt_text out;
	u64 ts;

	text_open(&out, -1);
	perfetto_broken = false;
	while (next_field(&trace, &f)) {
		packet = inside(&f);
		for (ts = 0; next_field(&packet, &part); ) {
			if (part.number == 8)
				ts = part.value;
			else if (part.number == 11)
				take_event(&out, names, ts, inside(&part));
			else if (part.number == 12)
				take_interned(names, inside(&part));
			else if (part.number == 60)
				take_track(&out, names, inside(&part));
		}
	}
	if (perfetto_broken)
		text_str(&out, "broken\n");
	text_char(&out, '\0');
	free(names);
	return out.buf;
}

#endif
