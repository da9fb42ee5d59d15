// SPDX-License-Identifier: GPL-2.0
/* Random requests, whose results are compared with the model. */
#include <sys/mman.h>

#include "noise.h"
#include "tracer.h"

#define AREA		65536u
#define RECORD		((unsigned int)sizeof(struct x86_bts_record))
#define FILLER		0xa5
#define BEHIND		64	/* bytes checked behind the output */
#define TWICE		100	/* most records that read_twice() compares */

static const char *const names[] = {
	"CONFIG", "STATUS", "SIZE", "GET", "CLEAR", "DRAIN", "READ",
};

static unsigned char *area;		/* writable, and followed by an inaccessible page */
static unsigned char *unwritable;	/* one page */
static unsigned char *read_arg;		/* structure of READ: a page before an inaccessible one */

void buffers_init(void)
{
	area = mmap(NULL, AREA + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unwritable = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_arg = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || unwritable == MAP_FAILED || read_arg == MAP_FAILED ||
	    mprotect(area + AREA, PAGE, PROT_NONE) || mprotect(read_arg + PAGE, PAGE, PROT_NONE))
		give_up("no memory");
}

/*
 * Choose the pointer
 */

static unsigned long bad_address(void)
{
	static const unsigned long bad[] = {
		0, 1, 23,
#if defined(__x86_64__) && !defined(__ILP32__)
		0x7ffffffff000, 0x7fffffffffff, 0x800000000000, 0xffff888000000000,
		0xffffffff81000000, ~0ul, ~0ul - 22,
#else
		0xfffff000, 0xffffffff,
#endif
	};

	return bad[rng(ARRAY_SIZE(bad))];
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void choose_pointer(struct request *r)
{
	unsigned long left;

	switch (rng(12)) {
	case 0:
		r->addr = bad_address();
		r->avail = 0;
		break;
	case 1:
		r->addr = (unsigned long)unwritable;
		r->avail = r->nr == PTRACE_BTS_CONFIG ? PAGE : 0;
		break;
	case 2:
	case 3:
		left = rng(chance(2) ? 100 : 5000);
		r->addr = (unsigned long)area + AREA - left;
		r->avail = left;
		break;
	case 4:
		left = rng(64);
		r->addr = (unsigned long)area + left;
		r->avail = AREA - left;
		break;
	default:
		r->addr = (unsigned long)area;
		r->avail = AREA;
	}
}

/*
 * CONFIG
 */

static const uint32_t signals[] = { 0, 0, 0, 0, 5, 9, 10, 19, 23, 34, 64 };

/*
 * Choose the size of a trace, in records: about as many as still fit under the limit, or a random
 * number.
 */
static uint32_t choose_records(struct tracer *me, uint32_t flags)
{
	unsigned long used = pages_used(me, true);
	long pages;
	uint32_t nr;

	if (me->who.limit == NO_LIMIT || chance(2)) {
		nr = chance(3) ? 1 + rng(10) : 1 + rng(3000);
		return chance(50) ? 20000 + rng(60000) : nr;
	}
	pages = me->who.limit > used && !chance(4) ? me->who.limit - used : rng(40);
	pages += (long)rng(5) - 2;
	if (pages < 1)
		pages = 1;
	nr = pages * PAGE / RECORD + rng(3) - 1;
	if (flags & STOP_FULL && nr > SKID + 1)
		nr -= SKID;
	return nr;
}

static uint32_t valid_flags(void)
{
	uint32_t flags = 0;

	flags |= chance(8) ? 0 : TRACE;
	flags |= chance(3) ? SCHED : 0;
	flags |= chance(3) ? STOP_FULL : 0;
	flags |= chance(3) ? INHERIT : 0;
	flags |= flags & TRACE && chance(6) ? ENTRY : 0;
	flags |= chance(10) ? KERNEL : 0;
	flags |= chance(3) ? SIGNAL : 0;
	return flags;
}

static void valid_config(struct tracer *me, struct child *t, struct request *r, bool new)
{
	uint32_t flags = valid_flags();

	if (new) {
		flags |= flags & (TRACE | KERNEL | SCHED) ? 0 : SCHED;
		flags |= ALLOC;
		r->config.size = choose_records(me, flags) * RECORD + (chance(4) ? rng(24) : 0);
	} else if (!chance(10)) {
		flags = (flags & ~STOP_FULL) | (t->model.flags & STOP_FULL);
	}
	r->config.flags = flags;
	if (flags & SIGNAL)
		r->config.signal = signals[rng(ARRAY_SIZE(signals))];
	r->config.bts_size = chance(2) ? RECORD : 0;
	if (new && chance(3)) {
		r->config.source = rng(3);
		r->config.clock = rng(2);
	}
}

/* Change one field, or the size in @r->data, mostly to an invalid value. */
static void spoil_config(struct request *r)
{
	static const uint32_t sizes[] = {
		0, 1, 23, 24, 16777216u * 24, 16777217u * 24, INT_MAX, UINT_MAX,
	};

	switch (rng(9)) {
	case 0:
		r->config.flags ^= 1u << rng(32);
		break;
	case 1:
		r->config.flags = rng_next();
		break;
	case 2:
		r->config.size = sizes[rng(ARRAY_SIZE(sizes))];
		break;
	case 3:
		r->config.signal = chance(2) ? 65 + rng(3) : rng_next();
		break;
	case 4:
		r->config.bts_size = chance(2) ? 23 + rng(3) : rng_next();
		break;
	case 5:
		r->data = rng(20);
		break;
	case 6:
		r->data = chance(2) ? 4090 + rng(12) : rng_next();
		break;
	case 7:
		r->config.source = chance(2) ? rng(4) : rng_next();
		break;
	case 8:
		r->config.clock = chance(2) ? rng(4) : rng_next();
		break;
	}
}

/*
 * If the tracer has no limit, reduce a valid size of a trace to at most 100000 records. The result
 * for a larger one would depend on the amount of free memory, which the model does not know.
 */
static void keep_small(struct tracer *me, struct request *r)
{
	if (me->who.limit == NO_LIMIT && r->config.size > 100000 * RECORD &&
	    r->config.size <= 16777216u * RECORD)
		r->config.size = 100000 * RECORD;
}

/*
 * Store @structure, and zero bytes behind it, if @r->addr can be written. Sometimes set one of
 * those bytes: @r->tail.
 */
static void store(struct request *r, const void *structure, size_t size)
{
	unsigned long n = least(r->avail, PAGE);
	unsigned char *at = (unsigned char *)r->addr;

	if (!n || at == unwritable)
		return;
	memset(at, 0, n);
	memcpy(at, structure, least(n, size));
	if (r->data <= size || r->data > PAGE || r->data > n || !chance(4))
		return;
	r->tail = size + rng(r->data - size);
	at[r->tail] = 1 + rng(255);
}

static void store_config(struct request *r)
{
	store(r, &r->config, sizeof(r->config));
}

static void choose_config(struct tracer *me, struct child *t, struct request *r)
{
	uint32_t kind = rng(20);

	r->data = chance(8) ? sizeof(r->config) + rng(64) : sizeof(r->config);
	if (kind < 2)
		r->config.flags = PTRACE_BTS_F_END;
	else
		valid_config(me, t, r, kind < 12);
	if (chance(5))
		spoil_config(r);
	if (chance(4))
		choose_pointer(r);
	if (r->addr == (unsigned long)unwritable)
		memset(&r->config, 0, sizeof(r->config));
	keep_small(me, r);
	store_config(r);
}

/*
 * READ
 */

/* Choose where the structure of a READ is. The caller has chosen where the records go: @r->addr. */
static void choose_read_arg(struct request *r)
{
	unsigned long left = chance(2) ? rng(100) : sizeof(r->read) + rng(8);

	r->out = r->addr;
	r->out_avail = r->avail;
	r->addr = (unsigned long)read_arg;
	r->avail = PAGE;
	switch (rng(16)) {
	case 0:
		r->addr = bad_address();
		r->avail = 0;
		break;
	case 1:
		r->addr = (unsigned long)unwritable;
		r->sealed = true;
		memset(&r->read, 0, sizeof(r->read));
		r->out_avail = 0;
		break;
	case 2:
		r->addr = (unsigned long)read_arg + PAGE - left;
		r->avail = left;
		break;
	}
}

static uint64_t choose_first(const struct model *m)
{
	uint64_t oldest = m->next - m->held;

	switch (rng(8)) {
	case 0:
		return 0;
	case 1:
		return m->next + rng(3) - (m->next ? 1 : 0);
	case 2:
		return rng_next();
	case 3:
		return oldest ? oldest - 1 : 0;
	}
	return oldest + rng(m->held + 1);
}

static void choose_read(struct child *t, struct request *r)
{
	uint32_t held = t->model.held;

	r->read.first = choose_first(&t->model);
	r->read.count = chance(8) ? rng_next() : chance(3) ? rng(5) : rng(held + 5);
	r->read.flags = chance(20) ? rng_next() : rng(2);
	r->data = chance(8) ? sizeof(r->read) + rng(64) : sizeof(r->read);
	if (chance(10))
		r->data = chance(3) ? rng_next() : chance(2) ? rng(30) : 4090 + rng(12);
	choose_pointer(r);
	r->read.records = r->addr;
	choose_read_arg(r);
	store(r, &r->read, sizeof(r->read));
}

/*
 * The other requests
 */

static unsigned long choose_data(struct child *t, int nr)
{
	uint32_t held = t->model.held;

	switch (nr) {
	case PTRACE_BTS_STATUS:
		return chance(8) ? 4090 + rng(12) : chance(8) ? rng_next() : rng(130);
	case PTRACE_BTS_GET:
		return chance(8) ? rng_next() : chance(3) ? held + rng(3) - 1 : rng(held + 2);
	case PTRACE_BTS_DRAIN:
		return chance(8) ? rng_next() : chance(3) ? rng(100) : rng(held * RECORD + 100);
	}
	return rng_next();
}

static void choose(struct tracer *me, struct child *t, struct request *r)
{
	*r = (struct request){ .addr = (unsigned long)area, .avail = AREA, };
	if (chance(50)) {
		r->nr = chance(2) ? PTRACE_BTS_CONFIG - 1 : PTRACE_BTS_READ + 1;
		return;
	}
	r->nr = PTRACE_BTS_CONFIG + rng(7);
	if (r->nr == PTRACE_BTS_CONFIG) {
		choose_config(me, t, r);
		return;
	}
	if (r->nr == PTRACE_BTS_READ) {
		choose_read(t, r);
		return;
	}
	r->data = choose_data(t, r->nr);
	choose_pointer(r);
}

/*
 * Comparing with the model
 */

static const char *describe(const struct tracer *me, const struct child *t,
			    const struct request *r)
{
	static char text[512];
	const struct model *m = &t->model;
	int n;

	n = snprintf(text, sizeof(text), "%s %s(%#lx, %#lx; %lu there)", me->role->name,
		     r->nr < PTRACE_BTS_CONFIG || r->nr > PTRACE_BTS_READ ? "?" :
		     names[r->nr - PTRACE_BTS_CONFIG], r->addr, r->data, r->avail);
	if (r->nr == PTRACE_BTS_CONFIG)
		n += snprintf(text + n, sizeof(text) - n,
			      " size %#x flags %#x signal %u bts_size %u source %u clock %u tail %lu",
			      r->config.size, r->config.flags, r->config.signal,
			      r->config.bts_size, r->config.source, r->config.clock, r->tail);
	if (r->nr == PTRACE_BTS_READ)
		n += snprintf(text + n, sizeof(text) - n,
			      " first %llu records %#llx (%lu there) count %u flags %#x tail %lu",
			      (unsigned long long)r->read.first,
			      (unsigned long long)r->read.records, r->out_avail, r->read.count,
			      r->read.flags, r->tail);
	snprintf(text + n, sizeof(text) - n,
		 " of %d (%u%s), %s%s%s: %u records, flags %#x (%#x), signal %u, %s%llu held; limit %ld",
		 t->pid, t->shared->what, t->shared->done == t->shared->serial ? "" : "...",
		 m->there ? "a trace" : "no trace", m->dumpable ? "" : ", not dumpable",
		 t->exiting ? ", exiting" : "", m->nr, m->flags, m->ever, m->signal,
		 m->known ? "" : "perhaps ", (unsigned long long)m->held, (long)me->who.limit);
	return text;
}

static void answer_print(const struct answer *a, char *text, size_t size)
{
	size_t n = 0;
	int i;

	for (i = 0; i < a->nr && n < size; i++)
		n += snprintf(text + n, size - n, "%s%ld", i ? " or " : "", a->value[i]);
	if (a->first < a->last && n < size)
		snprintf(text + n, size - n, " or %ld to %ld", a->first, a->last);
}

static void compare_answer(struct tracer *me, struct child *t, const struct request *r,
			   long ret, const struct views *views)
{
	struct model m = t->model, other;
	bool killed = tracee_was_killed(t);
	struct answer a = { };
	char text[256];
	int i;

	/* A killed tracee may have run to its last stop, and so have new records. */
	m.known &= !killed;
	other = m;
	other.dumpable = t->dumpable;
	other.foreign = t->foreign;
	for (i = 0; i < views->nr; i++) {
		model_expect(&m, &me->who, &views->view[i], r, &a);
		if (t->changing)
			model_expect(&other, &me->who, &views->view[i], r, &a);
	}
	if (killed)
		answer_add(&a, -ESRCH);
	if (answer_has(&a, ret))
		return;
	answer_print(&a, text, sizeof(text));
	violation("%s: expected %s, came %ld (sysctl %u paranoid %d perf %d used %lu)",
		  describe(me, t, r), text, ret, views->view[0].sysctl, views->view[0].paranoid,
		  views->view[0].perf, views->view[0].used);
}

static void status_print(const struct ptrace_bts_status *s, char *text, size_t size)
{
	int n;

	n = snprintf(text, size, "size %u flags %#x signal %u bts_size %u held %llu", s->size,
		     s->flags, s->signal, s->bts_size, s->held);
	n += snprintf(text + n, size - n, " lost %llu overwritten %llu gaps %u source %u", s->lost,
		      s->overwritten, s->gaps, s->source);
	snprintf(text + n, size - n,
		 " clock %u not_inherited %u next %llu record_flags %#x state %u", s->clock,
		 s->not_inherited, s->next, s->record_flags, s->state);
}

static void compare_status(struct tracer *me, struct child *t, const struct request *r)
{
	struct ptrace_bts_status got = { }, want = { };
	struct model *m = &t->model;
	size_t n = least(r->data, sizeof(got));

	memcpy(&got, (void *)r->addr, n);
	want.size = m->nr * RECORD;
	want.flags = m->flags;
	want.signal = m->signal;
	want.bts_size = RECORD;
	want.held = m->held;
	want.lost = m->lost;
	want.overwritten = m->overwritten;
	want.gaps = m->gaps;
	want.source = m->source;
	want.clock = m->clock;
	want.next = m->next;
	want.not_inherited = m->not_inherited;
	if (shared->noise & NOISE_PERF && model_yields(m))
		want.state = got.state & PTRACE_BTS_S_REVOKED;
	if (!m->known && n == sizeof(got)) {
		want.held = got.held;
		want.lost = got.lost;
		want.overwritten = got.overwritten;
		want.gaps = got.gaps;
		want.next = got.next;
	} else if (!m->known) {
		return;
	}
	if (memcmp(&got, &want, n)) {
		char is[320], was[320];

		status_print(&got, is, sizeof(is));
		status_print(&want, was, sizeof(was));
		violation("%s: the status is %s, expected %s", describe(me, t, r), is, was);
	}
	if (want.held > model_room(m))
		violation("%s: %llu are held", describe(me, t, r), want.held);
	m->held = want.held;
	m->lost = want.lost;
	m->overwritten = want.overwritten;
	m->gaps = want.gaps;
	m->next = want.next;
	m->known = n == sizeof(got) || m->known;
}

static void compare_records(struct tracer *me, struct child *t, const struct request *r,
			    long n)
{
	const struct x86_bts_record *rec = (void *)r->out;
	long i;

	for (i = 0; i < n; i++) {
		struct x86_bts_record one;

		memcpy(&one, rec + i, RECORD);
		if (!model_record_valid(&t->model, &one, t->pid))
			violation("%s: record %ld of %ld is %u %#llx %#llx", describe(me, t, r),
				  i, n, one.type, one.branch.from, one.branch.to);
	}
}

/* Check that the kernel has not written any of the BEHIND bytes behind the first @written bytes. */
static void compare_rest(struct tracer *me, struct child *t, const struct request *r,
			 size_t written)
{
	const unsigned char *at = (void *)r->out;
	size_t i, end = least(r->out_avail, written + BEHIND);

	for (i = written; i < end; i++) {
		if (at[i] != FILLER) {
			violation("%s: byte %zu is %#x", describe(me, t, r), i, at[i]);
			return;
		}
	}
}

static void compare_read(struct tracer *me, struct child *t, const struct request *r, long n)
{
	const struct model *m = &t->model;
	struct ptrace_bts_read got;

	memcpy(&got, (void *)r->addr, sizeof(got));
	if (m->known ? got.first != model_from(m, r->read.first) : got.first < r->read.first)
		violation("%s: begins with %llu", describe(me, t, r),
			  (unsigned long long)got.first);
	got.first = r->read.first;
	if (memcmp(&got, &r->read, sizeof(got)))
		violation("%s: more than the first number was changed", describe(me, t, r));
	compare_records(me, t, r, n);
	if ((unsigned long)n == r->read.count || r->out_avail / RECORD >= r->read.count)
		compare_rest(me, t, r, n * RECORD);
}

static void compare_output(struct tracer *me, struct child *t, const struct request *r, long ret)
{
	size_t size = sizeof(struct ptrace_bts_status);

	switch (r->nr) {
	case PTRACE_BTS_STATUS:
		compare_status(me, t, r);
		compare_rest(me, t, r, least(r->data, size));
		break;
	case PTRACE_BTS_GET:
		compare_records(me, t, r, 1);
		compare_rest(me, t, r, RECORD);
		break;
	case PTRACE_BTS_DRAIN:
		compare_records(me, t, r, ret);
		/* If the copy faulted, it may have stored part of the next record: do not check. */
		if ((unsigned long)ret == r->data / RECORD || r->avail >= r->data)
			compare_rest(me, t, r, ret * RECORD);
		break;
	case PTRACE_BTS_READ:
		compare_read(me, t, r, ret);
		break;
	case PTRACE_BTS_SIZE:
		t->model.held = ret;
		break;
	}
}

/* Fill the bytes that compare_rest() may check. */
static void prepare_output(const struct request *r)
{
	size_t n = sizeof(struct ptrace_bts_status) + BEHIND;

	if (r->nr == PTRACE_BTS_CONFIG)
		return;
	if (r->nr == PTRACE_BTS_DRAIN)
		n += least(r->data, AREA);
	if (r->nr == PTRACE_BTS_READ)
		n += least((size_t)r->read.count * RECORD, AREA);
	memset((void *)r->out, FILLER, least(n, r->out_avail));
}

long make_request(struct tracer *me, struct child *t, struct request *r)
{
	struct views views;
	long ret;

	if (r->nr != PTRACE_BTS_READ) {
		r->out = r->addr;
		r->out_avail = r->avail;
	}
	prepare_output(r);
	trace_may_change(t);
	views_begin(me);
	ret = bts(r->nr, t->pid, (void *)r->addr, r->data);
	views_end(me, &views);
	__atomic_add_fetch(&me->shared->requests, 1, __ATOMIC_RELAXED);

	compare_answer(me, t, r, ret, &views);
	if (tracee_was_killed(t))
		t->model.known = false;
	else if (ret >= 0)
		compare_output(me, t, r, ret);
	else if (ret != -EFAULT && r->nr != PTRACE_BTS_CONFIG)
		compare_rest(me, t, r, 0);
	if (ret == -EBUSY)
		__atomic_add_fetch(&shared->busy, 1, __ATOMIC_RELAXED);
	model_apply(&t->model, &me->who, r, ret);
	if (t->model.flags & SIGNAL && t->model.signal)
		t->signals |= 1ull << (t->model.signal - 1);
	charge(t);
	return ret;
}

void fuzz_request(struct tracer *me, struct child *t)
{
	struct request r;

	choose(me, t, &r);
	/* A request that failed must change nothing. */
	if (make_request(me, t, &r) < 0 && t->model.there && chance(2))
		look(me, t);
}

bool look(struct tracer *me, struct child *t)
{
	struct request r = {
		.nr = PTRACE_BTS_STATUS, .addr = (unsigned long)area, .avail = AREA,
		.data = sizeof(struct ptrace_bts_status),
	};

	return make_request(me, t, &r) == (long)r.data;
}

/* READ all records without consuming them. Returns whether @n came and the tracee lives. */
static bool read_in_place(struct tracer *me, struct child *t, uint32_t n)
{
	struct request r = {
		.nr = PTRACE_BTS_READ, .addr = (unsigned long)read_arg, .avail = PAGE,
		.data = sizeof(r.read), .out = (unsigned long)area, .out_avail = AREA,
		.read = { .records = (unsigned long)area, .count = TWICE, },
	};

	store(&r, &r.read, sizeof(r.read));
	return make_request(me, t, &r) == (long)n && !tracee_was_killed(t);
}

/* Compare GET, newest first, with READ and DRAIN, oldest first. */
void read_twice(struct tracer *me, struct child *t)
{
	struct request r = { .addr = (unsigned long)area, .avail = AREA, };
	struct x86_bts_record one[TWICE];
	uint32_t i, n;

	if (!t->model.there || !look(me, t) || !t->model.held || t->model.held > TWICE)
		return;
	n = t->model.held;
	r.nr = PTRACE_BTS_GET;
	for (i = 0; i < n; i++) {
		r.data = i;
		if (make_request(me, t, &r))
			return;
		memcpy(&one[n - 1 - i], area, RECORD);
	}
	if (!read_in_place(me, t, n))
		return;
	if (memcmp(one, area, n * RECORD))
		violation("%s: READ and GET differ", describe(me, t, &r));
	r.nr = PTRACE_BTS_DRAIN;
	r.data = n * RECORD;
	if (make_request(me, t, &r) != (long)n || tracee_was_killed(t))
		return;
	if (memcmp(one, area, n * RECORD))
		violation("%s: DRAIN and GET differ", describe(me, t, &r));
}

void fuzz_new_trace(struct tracer *me, struct child *t)
{
	struct request r = {
		.nr = PTRACE_BTS_CONFIG, .addr = (unsigned long)area, .avail = AREA,
		.data = sizeof(struct ptrace_bts_config),
	};

	valid_config(me, t, &r, true);
	keep_small(me, &r);
	store_config(&r);
	make_request(me, t, &r);
}
