// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "model.h"

#define RECORD		((unsigned int)sizeof(struct x86_bts_record))
#define MAX_RECORDS	16777216u
#define KNOWN_FLAGS	0x1ffu
#define END		PTRACE_BTS_F_END

unsigned long model_pages(uint32_t nr, uint32_t flags)
{
	uint64_t bytes = (uint64_t)(nr + (flags & STOP_FULL ? SKID : 0)) * RECORD;

	return (bytes + PAGE - 1) / PAGE;
}

/* Returns the largest number of records that the trace can hold. */
unsigned long model_room(const struct model *m)
{
	return m->nr + (m->flags & STOP_FULL ? SKID : 0);
}

void answer_add(struct answer *a, long value)
{
	if (!answer_has(a, value) && a->nr < (int)ARRAY_SIZE(a->value))
		a->value[a->nr++] = value;
}

bool answer_has(const struct answer *a, long value)
{
	int i;

	for (i = 0; i < a->nr; i++) {
		if (a->value[i] == value)
			return true;
	}
	return a->first < a->last && value >= a->first && value <= a->last;
}

/* Returns the structure as the kernel sees it: fields beyond the size in @r->data are 0. */
static struct ptrace_bts_config config_of(const struct request *r)
{
	struct ptrace_bts_config config = { };

	memcpy(&config, &r->config, r->data < sizeof(config) ? r->data : sizeof(config));
	return config;
}

static int check_structure(const struct request *r, unsigned long size)
{
	if (r->data < size)
		return -EINVAL;
	if (r->data > 4096)
		return -E2BIG;
	if (r->tail && r->tail < r->data)
		return -E2BIG;
	if (r->avail < r->data)
		return -EFAULT;
	return 0;
}

uint32_t model_source(uint32_t source)
{
	static uint32_t sources;

	if (!sources)
		sources = bts_info().sources;
	if (!source)
		source = sources & 1 << PTRACE_BTS_SOURCE_DS ? PTRACE_BTS_SOURCE_DS :
							       PTRACE_BTS_SOURCE_STEP;
	return source < 32 && sources & 1u << source ? source : 0;
}

#define ANY	(TRACE | KERNEL | SCHED)

/* Returns whether the task's arrival alone would fill a trace with SIGNAL. CONFIG refuses that. */
static bool crowded(uint32_t flags, uint32_t nr)
{
	return flags & SCHED && flags & SIGNAL && nr < 2;
}

static int check_config(const struct ptrace_bts_config *c)
{
	uint32_t nr = c->size / RECORD;

	if (c->flags & ~KNOWN_FLAGS || (c->flags & ENTRY && !(c->flags & TRACE)))
		return -EINVAL;
	if (c->flags & END && c->flags != END)
		return -EINVAL;
	if (c->bts_size && c->bts_size != RECORD)
		return -EINVAL;
	if (c->signal > 64 || (c->signal && !(c->flags & SIGNAL)))
		return -EINVAL;
	if (!(c->flags & ALLOC))
		return c->size || c->source || c->clock ? -EINVAL : 0;
	if (c->clock > PTRACE_BTS_CLOCK_MONOTONIC)
		return -EINVAL;
	return !(c->flags & ANY) || !nr || nr > MAX_RECORDS || crowded(c->flags, nr) ? -EINVAL : 0;
}

bool model_readable(const struct model *m, const struct who *who)
{
	return m->dumpable || who->capable || (who->userns && !m->foreign);
}

static int check_may(const struct model *m, const struct who *who, const struct view *v)
{
	if (v->sysctl == 2 || (v->sysctl == 1 && !who->capable))
		return -EPERM;
	if (!model_readable(m, who))
		return -EPERM;
	return 0;
}

static int check_kernel(const struct who *who, const struct view *v)
{
	return v->paranoid > 1 && !who->capable ? -EACCES : 0;
}

static unsigned long charged(const struct model *m)
{
	return m->there ? model_pages(m->nr, m->flags) : 0;
}

static int expect_config(const struct model *m, const struct who *who, const struct view *v,
			 const struct request *r)
{
	struct ptrace_bts_config c = config_of(r);
	uint32_t source = model_source(c.source);
	unsigned long pages;
	int err;

	err = check_structure(r, sizeof(c.size)) ?: check_config(&c);
	if (!err && c.flags & END)
		return m->there ? 0 : -ENXIO;
	if (!err && !source)
		err = -ENODEV;
	err = err ?: check_may(m, who, v);
	if (!(c.flags & ALLOC) && m->there)
		source = m->source;
	if (!err && c.flags & KERNEL && source != PTRACE_BTS_SOURCE_DS)
		err = -EOPNOTSUPP;
	if (!err && c.flags & (KERNEL | ENTRY) && source == PTRACE_BTS_SOURCE_DS)
		err = check_kernel(who, v);
	if (err)
		return err;
	if (!(c.flags & ALLOC)) {
		if (!m->there)
			return -ENXIO;
		return (c.flags ^ m->flags) & STOP_FULL || crowded(c.flags, m->nr) ? -EINVAL : 0;
	}
	pages = model_pages(c.size / RECORD, c.flags);
	if (pages > who->limit || v->used > who->limit - pages)
		return -ENOMEM;
	return v->perf && source == PTRACE_BTS_SOURCE_DS ? -EBUSY : 0;
}

bool model_by_hardware(const struct model *m)
{
	return m->there && m->source == PTRACE_BTS_SOURCE_DS;
}

bool model_holds(const struct model *m)
{
	return model_by_hardware(m) && m->capable;
}

bool model_yields(const struct model *m)
{
	return model_by_hardware(m) && !m->capable;
}

/* CONFIG with neither ALLOC nor END may claim the hardware again that perf has taken. */
static bool takes_again(const struct model *m, const struct request *r)
{
	return !(config_of(r).flags & (ALLOC | END)) && model_yields(m);
}

static int may_read(const struct model *m, const struct who *who, const struct view *v)
{
	int err;

	if (!m->there)
		return -ENXIO;
	err = check_may(m, who, v);
	if (!err && m->ever & KERNEL)
		err = check_kernel(who, v);
	return err;
}

static int expect_status(const struct request *r)
{
	unsigned long size = sizeof(struct ptrace_bts_status);

	return r->avail < (r->data < size ? r->data : size) ? -EFAULT : (int)size;
}

static void expect_get(const struct model *m, const struct request *r, struct answer *a)
{
	int there = r->avail < RECORD ? -EFAULT : 0;

	if (!m->known) {
		answer_add(a, -EINVAL);
		if (r->data < model_room(m))
			answer_add(a, there);
	} else {
		answer_add(a, r->data < m->held ? there : -EINVAL);
	}
}

/*
 * Returns whether a mark (a record of type X86_BTS_LOST, which stands for missing records) may wait
 * for room: the trace has STOP_FULL and is full.
 */
static bool mark_waits(const struct model *m)
{
	return m->flags & STOP_FULL && m->held == model_room(m);
}

static long least(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

static void expect_drain(const struct model *m, const struct request *r, struct answer *a)
{
	unsigned long room = r->data / RECORD, fits = least(r->avail / RECORD, room);

	if (!room) {
		answer_add(a, -EINVAL);
		return;
	}
	if (!m->known) {
		a->first = 0;
		a->last = least(fits, model_room(m) + 1);
		answer_add(a, 0);
		answer_add(a, fits ? 1 : -EFAULT);
		return;
	}
	if (m->held && !fits)
		answer_add(a, -EFAULT);
	else
		answer_add(a, least(m->held, fits));
	/* Draining makes room: the kernel may store the mark, and drain the mark as well. */
	if (mark_waits(m) && fits > m->held)
		answer_add(a, m->held + 1);
}

uint64_t model_from(const struct model *m, uint64_t first)
{
	uint64_t oldest = m->next - m->held;

	return first > oldest ? first : oldest;
}

static void expect_read(const struct model *m, const struct request *r, struct answer *a)
{
	unsigned long count = r->read.count, fits = least(r->out_avail / RECORD, count), n;
	int err = check_structure(r, sizeof(r->read));

	if (!err && r->read.flags & ~PTRACE_BTS_READ_CONSUME)
		err = -EINVAL;
	/* READ fails if @first is greater than @next. If @next is unknown, READ may fail or not. */
	if (err || !m->known || r->read.first > m->next)
		answer_add(a, err ?: -EINVAL);
	if (err || (m->known && r->read.first > m->next))
		return;
	if (r->sealed) {
		answer_add(a, -EFAULT);
		return;
	}
	if (!m->known) {
		a->first = 0;
		a->last = least(fits, model_room(m) + 1);
		answer_add(a, 0);
		if (count && !fits)
			answer_add(a, -EFAULT);
		return;
	}
	n = least(m->next - model_from(m, r->read.first), count);
	answer_add(a, n && !fits ? -EFAULT : least(n, fits));
	/* Consuming makes room: the kernel may store the mark, and return the mark as well. */
	if (n && r->read.flags & PTRACE_BTS_READ_CONSUME && mark_waits(m) && fits > n)
		answer_add(a, n + 1);
}

void model_expect(const struct model *m, const struct who *who, const struct view *v,
		  const struct request *r, struct answer *a)
{
	int err;

	if (r->nr < PTRACE_BTS_CONFIG || r->nr > PTRACE_BTS_READ) {
		answer_add(a, -EIO);
		return;
	}
	if (r->nr == PTRACE_BTS_CONFIG) {
		err = expect_config(m, who, v, r);
		answer_add(a, err);
		if (!err && v->perf && takes_again(m, r))
			answer_add(a, -EBUSY);
		return;
	}
	err = may_read(m, who, v);
	if (!err && m->secret && !who->capable && r->nr != PTRACE_BTS_CLEAR)
		err = -EPERM;
	if (err) {
		answer_add(a, err);
		return;
	}

	switch (r->nr) {
	case PTRACE_BTS_STATUS:
		answer_add(a, expect_status(r));
		break;
	case PTRACE_BTS_SIZE:
		answer_add(a, m->held);
		if (!m->known) {
			a->first = 0;
			a->last = model_room(m);
		}
		break;
	case PTRACE_BTS_GET:
		expect_get(m, r, a);
		break;
	case PTRACE_BTS_CLEAR:
		answer_add(a, 0);
		break;
	case PTRACE_BTS_DRAIN:
		expect_drain(m, r, a);
		break;
	case PTRACE_BTS_READ:
		expect_read(m, r, a);
		break;
	}
}

static void apply_config(struct model *m, const struct who *who, const struct request *r)
{
	struct ptrace_bts_config c = config_of(r);

	if (c.flags & (ALLOC | END)) {
		bool dumpable = m->dumpable, foreign = m->foreign;

		*m = (struct model){
			.dumpable = dumpable, .foreign = foreign, .there = c.size,
			.nr = c.size / RECORD, .limit = who->limit, .capable = who->capable,
			.known = true,
		};
	}
	m->flags = c.flags & ~(ALLOC | END);
	if (c.flags & ALLOC) {
		m->clock = c.clock;
		m->source = model_source(c.source);
	}
	m->signal = c.signal;
	m->ever |= m->flags;
}

static void apply_read(struct model *m, const struct request *r, long ret)
{
	if (!ret || !(r->read.flags & PTRACE_BTS_READ_CONSUME))
		return;
	if (m->known)
		m->held = m->next - least(model_from(m, r->read.first) + ret, m->next);
	/* The kernel may have added a mark, so the count is unknown until the next STATUS. */
	if (!m->held || m->flags & STOP_FULL)
		m->known = false;
}

void model_apply(struct model *m, const struct who *who, const struct request *r, long ret)
{
	if (ret < 0)
		return;

	switch (r->nr) {
	case PTRACE_BTS_CONFIG:
		apply_config(m, who, r);
		break;
	case PTRACE_BTS_CLEAR:
		m->held = 0;
		m->secret = false;
		break;
	case PTRACE_BTS_DRAIN:
		/* The kernel may have added a mark. The next STATUS tells the count. */
		if (mark_waits(m))
			m->known = false;
		m->held -= least(ret, m->held);
		break;
	case PTRACE_BTS_READ:
		apply_read(m, r, ret);
		break;
	}
}

bool model_inherit(const struct model *parent, const struct view *v, struct model *m)
{
	unsigned long pages = charged(parent);

	*m = (struct model){ .dumpable = parent->dumpable, .foreign = parent->foreign, };
	if (!parent->there || !(parent->flags & INHERIT) || !(parent->flags & ANY))
		return false;
	if (v->sysctl == 2 || (v->sysctl == 1 && !parent->capable))
		return false;
	if (pages > parent->limit || v->used > parent->limit - pages)
		return false;
	m->there = true;
	m->nr = parent->nr;
	m->flags = parent->flags;
	m->ever = parent->flags;
	m->signal = parent->signal;
	m->clock = parent->clock;
	m->source = parent->source;
	m->limit = parent->limit;
	m->capable = parent->capable;
	return true;
}

static bool is_user(uint64_t addr)
{
	return addr < USER_END;
}

bool model_record_valid(const struct model *m, const struct x86_bts_record *rec, pid_t pid)
{
	bool kernel = m->ever & KERNEL;

	switch (rec->type) {
	case X86_BTS_BRANCH:
		return kernel || (m->ever & TRACE && is_user(rec->branch.from) &&
				  is_user(rec->branch.to));
	case X86_BTS_ENTER:
		return m->ever & ENTRY && !rec->branch.to && is_user(rec->branch.from);
	case X86_BTS_LEAVE:
		return m->ever & TRACE && !rec->branch.from && is_user(rec->branch.to);
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
		return m->ever & SCHED && rec->event.pid == pid;
	case X86_BTS_EXEC:
		return rec->event.pid == pid;
	case X86_BTS_SIGNAL:
	case X86_BTS_SIGRETURN:
		return m->ever & TRACE && is_user(rec->branch.from) && is_user(rec->branch.to);
	case X86_BTS_LOST:
		return m->lost || m->gaps || !m->known;
	}
	return false;
}
