// SPDX-License-Identifier: GPL-2.0
/*
 * LAB_LOOK: read a flight recorder in two parts; in between, records leave the source's buffer.
 * LAB_STALE: look for old records that a reader of a crash dump would take for new ones.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/hw_branches.h>
#include <linux/irqflags.h>
#include <linux/string.h>

#include "bts_internal.h"
#include "lab_internal.h"

#define LOOKED	24
#define FIRST	8

struct lab_look_symbols lab_look_symbols;

/* Move records out of the buffer, as a PMI does. Returns false if this CPU is frozen. */
static bool move_records(void)
{
	const struct bts_source *source = *lab_look_symbols.source;

	return source->pause() && source->resume();
}

/*
 * Read the LOOKED newest branches once in one piece, and once in two pieces with move_records() in
 * between. Returns 0 if the branches are the same.
 */
int lab_look(struct lab_file *lab)
{
	static struct hw_branch all[LOOKED], parts[LOOKED];
	const struct lab_look_symbols *s = &lab_look_symbols;
	struct hw_branches_cursor cursor = { };
	unsigned long flags;
	int n, got;
	bool stopped;

	if (!lab->ctx)
		return -ENXIO;
	local_irq_save(flags);
	stopped = s->hold();
	n = s->last(lab->ctx, smp_processor_id(), &cursor, 0, all, LOOKED);
	cursor = (struct hw_branches_cursor) { };
	got = s->last(lab->ctx, smp_processor_id(), &cursor, 0, parts, FIRST);
	if (move_records())
		got += s->last(lab->ctx, smp_processor_id(), &cursor, got, parts + got,
			       LOOKED - got);
	s->release(stopped);
	local_irq_restore(flags);

	return got == LOOKED && n == got && !memcmp(all, parts, sizeof(all)) ? 0 : -EILSEQ;
}

/*
 * Returns -EILSEQ if the last record in the buffer of an online CPU is not 0. A reader of a dump
 * takes such a buffer for one that has wrapped. That is wrong if the buffer is not circular.
 */
int lab_stale(void)
{
	const struct lab_look_symbols *s = &lab_look_symbols;
	struct bts_raw rec;
	bool stopped, stale = false;
	unsigned long flags;
	u32 n;
	int cpu;

	local_irq_save(flags);
	stopped = s->hold();
	for_each_online_cpu(cpu) {
		for (n = 0; s->peek(cpu, false, n, &rec); n++)
			;
		stale |= s->peek(cpu, true, n, &rec);
	}
	s->release(stopped);
	local_irq_restore(flags);

	return stale ? -EILSEQ : 0;
}
