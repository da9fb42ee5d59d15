// SPDX-License-Identifier: GPL-2.0
/* This file turns records into branches, and passes them to the output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* The value of bt_session.incomplete if memory does not suffice for the last branches */
#define SHORT_LAST	"fewer of the last branches were looked at"

static struct bt_thread **slot_of(struct bt_session *s, pid_t tid)
{
	struct bt_thread **at = &s->threads[bt_hash(tid, BT_THREAD_BITS)];

	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

struct bt_thread *bt_session_find(struct bt_session *s, pid_t tid)
{
	return *slot_of(s, tid);
}

/* Limit the number of the last branches to what memory suffices for. */
static void limit_last(struct bt_session *s)
{
	u64 most = s->memory / BT_LAST_BYTES;

	if (!s->last)
		s->last = BT_LAST_CRASH;
	if (s->last <= most)
		return;
	s->last = most;
	s->last_reduced = true;
}

void bt_session_begin(struct bt_session *s)
{
	if (!s->memory)
		s->memory = BT_MEMORY;
	if (s->out->flags & BT_OUT_LAST)
		limit_last(s);
	if (!s->lines)
		s->lines = BT_LINES;
	if (s->out->begin)
		s->out->begin(s);
}

static struct bt_process *get_process(struct bt_session *s, pid_t tgid, bool is64)
{
	struct bt_process **slot = &s->processes[bt_hash(tgid, BT_THREAD_BITS)], *p = *slot;

	while (p && p->tgid != tgid)
		p = p->next;
	if (!p) {
		p = bt_alloc(1, sizeof(*p));
		p->tgid = tgid;
		p->space = bt_space_new(is64);
		p->next = *slot;
		*slot = p;
	}
	p->threads++;
	return p;
}

static void leave_process(struct bt_session *s, struct bt_process *p)
{
	struct bt_process **at = &s->processes[bt_hash(p->tgid, BT_THREAD_BITS)];

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

static void put_process(struct bt_session *s, struct bt_process *p)
{
	if (--p->threads)
		return;
	if (!p->replaced)
		leave_process(s, p);
	bt_space_free(p->space);
	free(p);
}

static void set_comm(struct bt_thread *t, const char *comm)
{
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
}

/* A thread is new, or may have a new name. */
void bt_session_thread(struct bt_session *s, pid_t tid, pid_t tgid, bool is64, const char *comm)
{
	struct bt_thread **at = slot_of(s, tid), *t = *at;

	if (s->record)
		bt_write_thread(s->record, tid, tgid, is64, comm);
	if (t) {
		set_comm(t, comm);
		return;
	}
	t = bt_alloc(1, sizeof(*t));
	t->tid = tid;
	t->process = get_process(s, tgid, is64);
	set_comm(t, comm);
	*at = t;
	s->nr_threads++;
	if (s->nr_threads > 1)
		s->many = true;
	if (s->out->thread)
		s->out->thread(s, t);
}

/*
 * If @live is true, the session may read the memory of the thread from now on. Otherwise,
 * this memory cannot be read any more.
 */
void bt_session_attach(struct bt_session *s, pid_t tid, bool live)
{
	struct bt_thread *t = bt_session_find(s, tid);

	if (t)
		bt_space_attach(t->process->space, live ? tid : 0);
}

void bt_session_maps(struct bt_session *s, pid_t tid, const char *text, size_t len)
{
	struct bt_thread *t = bt_session_find(s, tid);

	if (!t)
		return;
	if (bt_space_update(t->process->space, text, len) && s->record)
		bt_write_maps(s->record, tid, text, len, t->process->space);
}

/* A just-in-time compiler has listed more functions. @text has lines as in /tmp/perf-PID.map. */
void bt_session_jit(struct bt_session *s, pid_t tid, const char *text, size_t len)
{
	struct bt_thread *t = bt_session_find(s, tid);

	if (!t)
		return;
	if (s->record)
		bt_write_jit(s->record, tid, text, len);
	bt_space_add_jit(t->process->space, text, len);
}

void bt_session_code(struct bt_session *s, pid_t tid, u64 addr, const void *bytes, size_t len)
{
	struct bt_thread *t = bt_session_find(s, tid);

	if (t)
		bt_space_add_code(t->process->space, addr, bytes, len);
}

/*
 * The kernel returns to @b->to. Returns why it was entered: BT_SYSCALL if a system call
 * instruction is right before @b->to, otherwise BT_INTERRUPT. The kernel may return to one
 * address twice without a branch in between. The second time is BT_INTERRUPT, as the thread
 * cannot have executed the system call again.
 */
static enum bt_kind kind_of_leave(struct bt_space *space, struct bt_branch *b)
{
	bool again = b->thread->left_to == b->to->addr;

	b->thread->left_to = b->to->addr;
	bt_space_insn(space, b->to);
	return b->to->follows_syscall && !again ? BT_SYSCALL : BT_INTERRUPT;
}

static enum bt_kind kind_of_enter(struct bt_space *space, struct bt_branch *b)
{
	return bt_space_insn(space, b->from)->kind == BT_SYSCALL ? BT_SYSCALL : BT_INTERRUPT;
}

/*
 * Returns the kind of a branch into, out of, or within the kernel, of which both addresses are
 * known. A branch within the kernel counts as an interrupt if the instruction at @b->from is no
 * branch, and @b->to is the beginning of a function.
 */
static enum bt_kind kind_in_kernel(struct bt_space *space, struct bt_branch *b)
{
	const struct bt_insn *insn;

	if (!BT_IS_KERNEL(b->from->addr))
		return kind_of_enter(space, b);
	insn = bt_space_insn(space, BT_IS_KERNEL(b->to->addr) ? b->from : b->to);
	if (!BT_IS_KERNEL(b->to->addr))
		return b->to->follows_syscall ? BT_SYSCALL : BT_INTERRUPT;
	if (insn->kind == BT_UNKNOWN && insn->length && b->to->fn->named && !b->to->offset)
		return BT_INTERRUPT;
	return insn->kind;
}

/*
 * Returns the kind of a branch of which both addresses are known. If an instruction in user mode
 * has another target than the record, the program may have overwritten the instruction: read it
 * again. If the target still differs, return BT_UNKNOWN.
 */
static enum bt_kind kind_of_branch(struct bt_space *space, struct bt_branch *b)
{
	const struct bt_insn *insn;
	u64 to = b->rec->branch.to;

	if (BT_IS_KERNEL(b->rec->branch.from | to))
		return kind_in_kernel(space, b);
	insn = bt_space_insn(space, b->from);
	/*
	 * Fill in @b->to->follows_call: begins_function() in calls.c needs it if the bounds of
	 * the function are not known.
	 */
	if (!b->to->fn->named && b->to->fn != b->from->fn)
		bt_space_insn(space, b->to);
	if (insn->direct && insn->target != to)
		insn = bt_space_insn_again(space, b->from);
	if (insn->direct && insn->target != to)
		return BT_UNKNOWN;
	return insn->kind;
}

/*
 * Find both places and the kind. Most branches have the same target as the last time: use
 * what was found then.
 */
static void resolve_branch(struct bt_space *space, struct bt_branch *b)
{
	struct bt_place *from = bt_space_place(space, b->rec->branch.from);

	b->from = from;
	if (from->went_to && from->went_to->addr == b->rec->branch.to) {
		b->to = from->went_to;
		b->kind = from->went_as;
		return;
	}
	b->to = bt_space_place(space, b->rec->branch.to);
	b->kind = kind_of_branch(space, b);
	free(from->words);
	from->words = NULL;
	from->went_to = from->changeable ? NULL : b->to;
	from->went_as = b->kind;
}

static struct bt_place *place_of_user(struct bt_space *space, u64 addr)
{
	return addr ? bt_space_place(space, addr) : NULL;
}

static void resolve(struct bt_branch *b)
{
	struct bt_space *space = b->thread->process->space;

	switch (b->rec->type) {
	case X86_BTS_LEAVE:
		b->to = bt_space_place(space, b->rec->branch.to);
		b->kind = kind_of_leave(space, b);
		break;
	case X86_BTS_ENTER:
		b->from = bt_space_place(space, b->rec->branch.from);
		b->kind = kind_of_enter(space, b);
		break;
	case X86_BTS_SIGNAL:
	case X86_BTS_SIGRETURN:
		b->from = place_of_user(space, b->rec->branch.from);
		b->to = place_of_user(space, b->rec->branch.to);
		break;
	default:
		resolve_branch(space, b);
		b->thread->left_to = 0;
	}
}

static bool has_clock(const struct x86_bts_record *rec)
{
	return !bt_is_branch(rec) && rec->type != X86_BTS_INVALID && rec->type <= X86_BTS_EXEC;
}

/* Count a record. @kind is BT_UNKNOWN if the session has not looked for it. */
static inline void count(struct bt_counts *c, const struct x86_bts_record *rec, enum bt_kind kind)
{
	if (rec->type == X86_BTS_LOST) {
		c->lost += rec->lost.count;
		c->gaps += !rec->lost.count;
	} else if (bt_is_branch(rec)) {
		c->branches++;
		c->kinds[kind]++;
	}
}

/*
 * Fill in @b: find the places and the kind, if they are needed. Returns false if @s->filter
 * selects branches, and does not pass this one.
 */
static bool understand(struct bt_session *s, struct bt_thread *t, const struct x86_bts_record *rec,
		       struct bt_branch *b)
{
	*b = (struct bt_branch){ .thread = t, .rec = rec };
	if ((bt_is_branch(rec) || bt_is_signal(rec)) &&
	    (s->filter || s->out->flags & BT_OUT_PLACES))
		resolve(b);
	else if (has_clock(rec))
		t->clock = rec->event.clock;
	if (rec->type == X86_BTS_LOST)
		t->left_to = 0;
	return !s->filter || s->out->flags & BT_OUT_FUNCTIONS || !bt_is_branch(rec) ||
	       bt_filter_passes(s->filter, b->kind, b->from, b->to);
}

/* Is the record about scheduling, which neither the user nor the output has asked for? */
static bool is_unwanted(const struct bt_session *s, const struct x86_bts_record *rec)
{
	return (rec->type == X86_BTS_TASK_ARRIVES || rec->type == X86_BTS_TASK_DEPARTS) &&
	       !s->times && !(s->out->flags & BT_OUT_CLOCK);
}

/*
 * Keep the newest records of a thread. show_last() shows the last of them when the thread
 * ends.
 */
static void keep(struct bt_session *s, struct bt_thread *t, const struct x86_bts_record *rec,
		 size_t n)
{
	size_t pool = s->last > BT_LAST_POOL ? s->last : BT_LAST_POOL, over, most;

	if (n > pool) {
		rec += n - pool;
		n = pool;
	}
	/* The thread may have few records: do not make room for all that may come. */
	most = t->nr_pending + n < pool * 2 ? t->nr_pending + n : pool * 2;
	t->pending = bt_grow(t->pending, &t->room_pending, most, sizeof(*rec));
	if (t->nr_pending + n > pool * 2) {
		over = t->nr_pending + n - pool;
		if (over > t->nr_pending)
			over = t->nr_pending;
		memmove(t->pending, t->pending + over, (t->nr_pending - over) * sizeof(*rec));
		t->nr_pending -= over;
	}
	memcpy(t->pending + t->nr_pending, rec, n * sizeof(*rec));
	t->nr_pending += n;
}

static void show(struct bt_session *s, struct bt_thread *t, const struct x86_bts_record *rec,
		 size_t n)
{
	struct bt_branch b;
	bool passes;

	for (; n; n--, rec++) {
		if (!(s->out->flags & BT_OUT_LAST))
			bt_space_limit();
		passes = understand(s, t, rec, &b);
		count(&t->counts, rec, b.kind);
		count(&s->counts, rec, b.kind);
		if (passes && s->out->branch && !is_unwanted(s, rec))
			s->out->branch(s, &b);
	}
}

void bt_session_records(struct bt_session *s, pid_t tid, const struct x86_bts_record *rec, size_t n)
{
	struct bt_thread *t = bt_session_find(s, tid);
	size_t i;

	if (!t || !n)
		return;
	for (i = 0; i < n; i++)
		count(&s->told, &rec[i], BT_UNKNOWN);
	bt_space_limit();
	if (s->record)
		bt_write_records(s->record, tid, rec, n, t->process->space);
	if (s->last)
		keep(s, t, rec, n);
	else
		show(s, t, rec, n);
}

/* Say that no branch passes the filter and, unless -n was large, how to look further back. */
static void say_none(struct bt_session *s, struct bt_thread *t, size_t branches)
{
	const char *hint = s->last > BT_LAST_POOL ? "" : ": look further back, with -n 100000";
	char *what = bt_print("--- none of the last %zu branches is one of these%s ---", branches,
			      hint);

	if (s->out->note)
		s->out->note(s, t, what);
	free(what);
}

/*
 * Should show_last() stop looking for more branches, as the memory for places is used up?
 * Only an output with BT_OUT_LAST needs the places later: for others, free places instead.
 */
static bool is_enough(struct bt_session *s)
{
	if (!(s->out->flags & BT_OUT_LAST)) {
		bt_space_limit();
		return false;
	}
	if (!bt_space_is_full())
		return false;
	s->incomplete = SHORT_LAST;
	return true;
}

/*
 * keep() has stored the newest records of the thread. Show the last of these: so many that @s->last
 * branches pass the filter, or all if fewer branches pass. If is_enough() ends the search before,
 * show only the records that were searched.
 */
static void show_last(struct bt_session *s, struct bt_thread *t)
{
	size_t first = t->nr_pending, found = 0, branches = 0;
	struct bt_branch b;

	bt_space_make_room();
	while (first && found < s->last && !is_enough(s)) {
		first--;
		found += understand(s, t, &t->pending[first], &b) && bt_is_branch(b.rec);
		branches += bt_is_branch(&t->pending[first]);
	}
	if (first && s->last_reduced)
		s->incomplete = SHORT_LAST;
	if (s->filter && branches && !found)
		say_none(s, t, branches);
	t->left_to = 0;
	if (t->nr_pending)
		show(s, t, t->pending + first, t->nr_pending - first);
	t->nr_pending = 0;
}

/*
 * bt_session_exec - a thread has executed another program
 * @s: the session
 * @tid: the ID of the thread, which is now the only one of its process
 * @old: the ID that the thread had before
 * @is64: the program is 64-bit
 * @comm: the new name of the thread
 */
void bt_session_exec(struct bt_session *s, pid_t tid, pid_t old, bool is64, const char *comm)
{
	struct bt_thread *t = bt_session_find(s, old), **at;

	if (s->record)
		bt_write_exec(s->record, tid, old, is64, comm);
	if (!t)
		return;
	if (tid != old) {
		bt_session_exit(s, tid, NULL);
		at = slot_of(s, old);
		*at = t->next;
		t->next = NULL;
		t->tid = tid;
		*slot_of(s, tid) = t;
	}
	/* Forget the records from before: their mappings are gone. */
	t->nr_pending = 0;
	free(t->note);
	t->note = NULL;
	set_comm(t, comm);
	/*
	 * The other threads are dead, but bt_session_exit() may be called for them later: they
	 * keep the old process.
	 */
	if (!t->process->replaced)
		leave_process(s, t->process);
	t->process->replaced = true;
	put_process(s, t->process);
	t->process = get_process(s, tid, is64);
	if (s->out->thread)
		s->out->thread(s, t);
}

/* Add a message about a thread, for example a signal. */
void bt_session_note(struct bt_session *s, pid_t tid, const char *what)
{
	struct bt_thread *t = bt_session_find(s, tid);

	if (!t)
		return;
	if (s->record)
		bt_write_note(s->record, tid, what);
	if (s->last) {
		free(t->note);
		t->note = bt_copy(what);
	} else if (s->out->note) {
		s->out->note(s, t, what);
	}
}

/* Returns an address as text, as bt_place_text() does. The caller frees the text. */
char *bt_session_where(struct bt_session *s, pid_t tid, u64 addr)
{
	struct bt_thread *t = bt_session_find(s, tid);

	return bt_copy(t ? bt_place_text(bt_space_place(t->process->space, addr)) : "?");
}

/*
 * A thread is about to end, or to be detached. The instruction at @addr is the first that it has
 * not executed. @addr is 0 if this is not known.
 */
void bt_session_ended_at(struct bt_session *s, pid_t tid, u64 addr)
{
	struct bt_thread *t = bt_session_find(s, tid);

	if (!t)
		return;
	if (s->record)
		bt_write_ended_at(s->record, tid, addr);
	t->ended_at = addr;
}

/*
 * Show the note in @t->note, which may be the signal that has killed the thread, and then
 * @how the thread has ended.
 */
static void show_note(struct bt_session *s, struct bt_thread *t, const char *how)
{
	if (s->out->note && t->note)
		s->out->note(s, t, t->note);
	if (s->out->note && how)
		s->out->note(s, t, how);
	free(t->note);
	t->note = NULL;
}

/* A thread has ended, or is not followed any more. @how says so as text, or is NULL. */
void bt_session_exit(struct bt_session *s, pid_t tid, const char *how)
{
	struct bt_thread **at = slot_of(s, tid), *t = *at;

	if (!t)
		return;
	if (s->record)
		bt_write_exit(s->record, tid, how);
	if (s->last)
		show_last(s, t);
	if (s->out->ended_at && t->ended_at)
		s->out->ended_at(s, t, t->ended_at);
	show_note(s, t, how);
	if (s->out->exit)
		s->out->exit(s, t);
	*at = t->next;
	put_process(s, t->process);
	free(t->pending);
	free(t);
}

void bt_session_end(struct bt_session *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(s->threads); i++)
		while (s->threads[i])
			bt_session_exit(s, s->threads[i]->tid, NULL);
	if (s->out->end)
		s->out->end(s);
}

/* Returns errno of a failed write or truncation of the output or of the recorded trace, or 0. */
int bt_session_error(const struct bt_session *s)
{
	return s->text.error || !s->record ? s->text.error : bt_writer_error(s->record);
}
