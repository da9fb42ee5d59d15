// SPDX-License-Identifier: GPL-2.0
/*
 * This file writes calls on a time axis, for ui.perfetto.dev: packets of protobuf.
 *
 * Records of branches have no time. A mark is a record, with a time, that a thread was scheduled
 * in or out. A slice is what a thread did until its next mark, or a part of that. The branches of a
 * slice are spread evenly over its time. If no mark ends a slice, end_of() returns the time when
 * the slice ends.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "output.h"
#include "proto.h"

/* Numbers of fields, from protos/perfetto/trace/ of Perfetto */
enum {
	TRACE_PACKET = 1,

	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,

	TRACK_UUID = 1,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,

	PROCESS_PID = 1,
	PROCESS_NAME = 6,

	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	EVENT_CATEGORY_IID = 3,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,

	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,

	INTERNED_IID = 1,
	INTERNED_NAME = 2,
};

enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT };

/*
 * All packets but those of put_track() belong to one sequence. Its first packet has FLAG_CLEARED,
 * which clears the interned names. All other packets of the sequence have FLAG_NEEDED: they may
 * use interned names.
 */
#define SEQUENCE	1
#define FLAG_CLEARED	1
#define FLAG_NEEDED	2

#define NAMES_BITS	10

struct event {
	const char *name;	/* NULL: a function ends */
	const struct bt_module *module;
	u64 at;		/* the number of branches in the slice before this event */
};

/*
 * struct track - a thread
 * @uuid:	the number of its track in the file
 * @calls:	the calls that it is in
 * @event:	calls that have begun or ended in the current slice
 * @nr:		the number of events
 * @branches:	the number of branches in the current slice
 * @clock:	the time when the current slice began, in nanoseconds
 * @marked:	it had a record X86_BTS_TASK_ARRIVES, so that @clock is about the real time
 */
struct track {
	u64		uuid;
	struct bt_calls	*calls;
	struct event	*event;
	size_t		nr;
	size_t		room;
	u64		branches;
	u64		clock;
	bool		marked;
};

/*
 * struct names - the names of one kind that the file has defined, a hash table
 * @name: the names, in 2^bits slots
 * @iid: the number of each name in the file
 * @nr: the number of names
 */
struct names {
	const char	**name;
	u64		*iid;
	int		bits;
	u64		nr;
};

/*
 * struct perfetto - the data of the output
 * @events: the names of functions
 * @categories: the names of modules
 * @tracks: the number of tracks
 * @packet: the contents of the next packet
 * @part: the contents of a message in this packet
 */
struct perfetto {
	struct names	events;
	struct names	categories;
	u64		tracks;
	struct bt_text	packet;
	struct bt_text	part;
};

/* Write the packet in struct perfetto.packet, and empty it. */
static void put_packet(struct bt_session *s)
{
	struct perfetto *p = s->data;

	proto_bytes(&s->text, TRACE_PACKET, p->packet.buf, p->packet.used);
	p->packet.used = 0;
}

static void open_names(struct names *names, int bits)
{
	names->bits = bits;
	names->name = bt_alloc((size_t)1 << bits, sizeof(*names->name));
	names->iid = bt_alloc((size_t)1 << bits, sizeof(*names->iid));
}

static void close_names(struct names *names)
{
	free(names->name);
	free(names->iid);
}

static size_t find_name(const struct names *names, const char *name)
{
	size_t at = bt_hash((uintptr_t)name, names->bits);

	while (names->name[at] && names->name[at] != name)
		at = (at + 1) & (((size_t)1 << names->bits) - 1);
	return at;
}

static void more_names(struct names *names)
{
	struct names old = *names;
	size_t i, at;

	open_names(names, old.bits + 1);
	for (i = 0; i < (size_t)1 << old.bits; i++) {
		if (!old.name[i])
			continue;
		at = find_name(names, old.name[i]);
		names->name[at] = old.name[i];
		names->iid[at] = old.iid[i];
	}
	close_names(&old);
}

/*
 * Returns the number of @name in the file. The first call for a name writes a packet that defines
 * the number in @field. Do not free @name: the hash table compares addresses of strings.
 */
static u64 intern(struct bt_session *s, struct names *names, const char *name, u32 field)
{
	struct perfetto *p = s->data;
	size_t at = find_name(names, name);
	struct bt_text entry;
	u64 iid;

	if (names->name[at])
		return names->iid[at];
	iid = ++names->nr;
	names->name[at] = name;
	names->iid[at] = iid;
	text_open(&entry, -1);
	proto_number(&entry, INTERNED_IID, iid);
	proto_name(&entry, INTERNED_NAME, name);
	proto_bytes(&p->part, field, entry.buf, entry.used);
	text_close(&entry);
	proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&p->packet, PACKET_FLAGS, FLAG_NEEDED);
	proto_bytes(&p->packet, PACKET_INTERNED, p->part.buf, p->part.used);
	p->part.used = 0;
	put_packet(s);
	if (names->nr > (u64)1 << (names->bits - 1))
		more_names(names);
	return iid;
}

/* Write the event in struct perfetto.part, with the time @ns. */
static void put_event(struct bt_session *s, u64 ns)
{
	struct perfetto *p = s->data;

	proto_number(&p->packet, PACKET_TIMESTAMP, ns);
	proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&p->packet, PACKET_FLAGS, FLAG_NEEDED);
	proto_bytes(&p->packet, PACKET_TRACK_EVENT, p->part.buf, p->part.used);
	p->part.used = 0;
	put_packet(s);
}

static void put_call(struct bt_session *s, const struct track *track, const struct event *e, u64 ns)
{
	struct perfetto *p = s->data;
	u64 name = 0, category = 0;

	if (e->name) {
		name = intern(s, &p->events, e->name, INTERNED_NAMES);
		category = intern(s, &p->categories, e->module->name, INTERNED_CATEGORIES);
	}
	proto_number(&p->part, EVENT_TYPE, e->name ? TYPE_BEGIN : TYPE_END);
	proto_number(&p->part, EVENT_TRACK, track->uuid);
	if (e->name) {
		proto_number(&p->part, EVENT_NAME_IID, name);
		proto_number(&p->part, EVENT_CATEGORY_IID, category);
	}
	put_event(s, ns);
}

static void put_instant(struct bt_session *s, const struct track *track, const char *what)
{
	struct perfetto *p = s->data;

	proto_number(&p->part, EVENT_TYPE, TYPE_INSTANT);
	proto_number(&p->part, EVENT_TRACK, track->uuid);
	proto_name(&p->part, EVENT_NAME, what);
	put_event(s, track->clock);
}

/*
 * Write the events of the current slice, which ends at the time @until, and begin the next
 * slice. If @until is before the beginning of the slice, the slice takes no time.
 */
static void flush_slice(struct bt_session *s, struct bt_thread *t, u64 until)
{
	struct track *track = t->data;
	u64 length = until > track->clock ? until - track->clock : 0;
	size_t i;

	for (i = 0; i < track->nr; i++) {
		const struct event *e = &track->event[i];
		double part = track->branches ? (double)e->at / track->branches : 0;

		put_call(s, track, e, track->clock + (u64)(part * length));
	}
	track->nr = 0;
	track->branches = 0;
	track->clock += length;
}

static void add_event(struct bt_calls *c, const struct bt_frame *frame, const char *name)
{
	struct bt_thread *t = c->arg;
	struct track *track = t->data;

	track->event = bt_grow(track->event, &track->room, track->nr + 1, sizeof(*track->event));
	track->event[track->nr++] = (struct event){ name, frame->module, track->branches };
}

static void frame_begins(struct bt_calls *c, struct bt_frame *frame)
{
	add_event(c, frame, bt_frame_name(frame));
}

static void frame_ends(struct bt_calls *c, struct bt_frame *frame)
{
	add_event(c, frame, NULL);
}

static void perfetto_begin(struct bt_session *s)
{
	struct perfetto *p = bt_alloc(1, sizeof(*p));

	s->data = p;
	open_names(&p->events, NAMES_BITS);
	open_names(&p->categories, NAMES_BITS);
	text_open(&p->packet, -1);
	text_open(&p->part, -1);
	proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&p->packet, PACKET_FLAGS, FLAG_CLEARED);
	put_packet(s);
}

/*
 * Returns the time when the current slice ends if no mark ends it. Each branch takes a
 * nanosecond or, before the first X86_BTS_TASK_ARRIVES of the thread, a microsecond.
 */
static u64 end_of(const struct track *track)
{
	return track->clock + track->branches * (track->marked ? 1 : 1000);
}

static void perfetto_exit(struct bt_session *s, struct bt_thread *t)
{
	struct track *track = t->data;

	if (!track)
		return;
	bt_calls_end(track->calls);
	flush_slice(s, t, end_of(track));
	bt_calls_free(track->calls);
	free(track->event);
	free(track);
	t->data = NULL;
}

/*
 * Write the track in struct perfetto.part, with the ID @uuid and, unless @parent is 0, the ID
 * @parent of its parent.
 */
static void put_track(struct bt_session *s, u64 uuid, u64 parent)
{
	struct perfetto *p = s->data;

	proto_number(&p->part, TRACK_UUID, uuid);
	if (parent)
		proto_number(&p->part, TRACK_PARENT, parent);
	proto_bytes(&p->packet, PACKET_TRACK, p->part.buf, p->part.used);
	p->part.used = 0;
	put_packet(s);
}

/*
 * Write a track for a thread. If the thread is the first of its process, write a track for its
 * process first. After execve(), tracks are written anew. Returns the ID of the track of the
 * thread.
 */
static u64 put_tracks(struct bt_session *s, const struct bt_thread *t)
{
	struct perfetto *p = s->data;
	struct bt_text one;
	u64 uuid, process = 0;

	text_open(&one, -1);
	if (t->process->tgid == t->tid) {
		process = ++p->tracks;
		proto_number(&one, PROCESS_PID, t->tid);
		proto_name(&one, PROCESS_NAME, t->comm);
		proto_bytes(&p->part, TRACK_PROCESS, one.buf, one.used);
		put_track(s, process, 0);
		one.used = 0;
	}
	uuid = ++p->tracks;
	proto_number(&one, THREAD_PID, t->process->tgid);
	proto_number(&one, THREAD_TID, t->tid);
	proto_name(&one, THREAD_NAME, t->comm);
	proto_bytes(&p->part, TRACK_THREAD, one.buf, one.used);
	put_track(s, uuid, process);
	text_close(&one);
	return uuid;
}

static void perfetto_thread(struct bt_session *s, struct bt_thread *t)
{
	struct track *track = bt_alloc(1, sizeof(*track)), *before = t->data;

	/* After execve(), the new track begins at the time when the old one ends. */
	if (before) {
		track->clock = end_of(before);
		track->marked = before->marked;
	}
	perfetto_exit(s, t);
	track->uuid = put_tracks(s, t);
	t->data = track;
	track->calls = bt_calls_new();
	track->calls->enter = frame_begins;
	track->calls->leave = frame_ends;
	track->calls->arg = t;
}

static void perfetto_lost(struct bt_session *s, const struct bt_branch *b)
{
	struct track *track = b->thread->data;
	char *what;

	flush_slice(s, b->thread, end_of(track));
	what = b->rec->lost.count ? bt_print("%" PRIu64 " records lost", (u64)b->rec->lost.count) :
	       bt_copy("records lost, not counted");
	put_instant(s, track, what);
	free(what);
}

/*
 * End a slice after this many events even without a mark, to limit the memory for its
 * events.
 */
#define SLICE_MAX	100000

/*
 * Set the time of a track to @clock, unless @clock is earlier, for example because the clocks of
 * two CPUs differ.
 */
static void go_to(struct track *track, u64 clock)
{
	if (clock > track->clock)
		track->clock = clock;
}

static void perfetto_branch(struct bt_session *s, const struct bt_branch *b)
{
	struct track *track = b->thread->data;

	switch (b->rec->type) {
	case X86_BTS_TASK_ARRIVES:
		/*
		 * The times of the branches before the first X86_BTS_TASK_ARRIVES are unknown.
		 * Give those that were not written yet the time of this record.
		 */
		if (!track->marked)
			go_to(track, b->rec->event.clock);
		flush_slice(s, b->thread, track->clock);
		go_to(track, b->rec->event.clock);
		track->marked = true;
		return;
	case X86_BTS_TASK_DEPARTS:
		flush_slice(s, b->thread, b->rec->event.clock);
		return;
	case X86_BTS_LOST:
		perfetto_lost(s, b);
		break;
	case X86_BTS_BRANCH:
	case X86_BTS_ENTER:
	case X86_BTS_LEAVE:
		track->branches++;
		break;
	}
	bt_calls_branch(track->calls, b);
	if (track->nr > SLICE_MAX)
		flush_slice(s, b->thread, end_of(track));
}

static void perfetto_note(struct bt_session *s, struct bt_thread *t, const char *what)
{
	struct track *track = t->data;

	flush_slice(s, t, end_of(track));
	put_instant(s, track, what);
}

static void perfetto_end(struct bt_session *s)
{
	struct perfetto *p = s->data;

	text_close(&p->packet);
	text_close(&p->part);
	close_names(&p->events);
	close_names(&p->categories);
	free(p);
}

const struct bt_output bt_out_perfetto = {
	.name = "perfetto",
	.flags = BT_OUT_PLACES | BT_OUT_CLOCK | BT_OUT_BINARY,
	.begin = perfetto_begin,
	.thread = perfetto_thread,
	.branch = perfetto_branch,
	.note = perfetto_note,
	.exit = perfetto_exit,
	.end = perfetto_end,
};
