// SPDX-License-Identifier: GPL-2.0
/*
 * Branch traces: most global variables, the sources of records, and what each of them can do
 */

#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/percpu.h>

#include "bts_internal.h"

struct bts_task bts_no_contexts = {
	.contexts = LIST_HEAD_INIT(bts_no_contexts.contexts),
	.stepped = LIST_HEAD_INIT(bts_no_contexts.stepped),
};

DEFINE_PER_CPU(struct bts_cpu, bts_cpu) = {
	.owner = &bts_no_contexts,
};

/* The number of contexts that need the hardware source. Changes under bts_mutex. */
unsigned int bts_users;

/* perf or KVM has taken the hardware source from all contexts. Changes under bts_mutex. */
bool bts_revoked;

/*
 * A ring has noticed that the CPL filter of the source drops records that are wanted,
 * see bts_filter.c. Until the source is given back, the filter is not used for contexts
 * for which bts_avoids_cpl_filter() returns true, unless the source must not record the
 * kernel: see bts_ds_resume().
 */
bool bts_cpl_skewed;

static bool bts_no_pause(void)
{
	return true;
}

/*
 * bts_source points to this if there is no hardware source, or if bts_init() has failed:
 * bts_switch_to() and bts_call_here() call ->pause() and ->resume() without a test.
 */
const struct bts_source bts_no_source = {
	.pause	= bts_no_pause,
	.resume	= bts_no_pause,
};

/* The hardware source; &bts_no_source, whose id is 0, if there is none */
const struct bts_source *bts_source __ro_after_init = &bts_no_source;

/* The software source, or NULL */
const struct bts_source *bts_software __ro_after_init;

/**
 * bts_register_source - register a source of records
 * @source: the source
 *
 * Called at boot, at most once for a hardware source, and at most once for the software source.
 */
void __init bts_register_source(const struct bts_source *source)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_LIST_HEAD(&per_cpu(bts_cpu, cpu).contexts);
	if (source->software)
		bts_software = source;
	else
		bts_source = source;
}

/**
 * bts_find_source - find the source for the records of a context
 * @id: BTS_SOURCE_*, or 0 for the best source
 *
 * Return: the source; -EOPNOTSUPP if this machine has no source; -ENODEV if it has sources,
 * but not @id.
 */
const struct bts_source *bts_find_source(u32 id)
{
	if (bts_source->id && (!id || id == bts_source->id))
		return bts_source;
	if (bts_software && (!id || id == bts_software->id))
		return bts_software;

	return ERR_PTR(bts_source->id || bts_software ? -ENODEV : -EOPNOTSUPP);
}

/**
 * bts_records_kernel - tell whether a trace makes its source record the kernel
 * @id: the source of the trace: BTS_SOURCE_*, or 0 for the best source
 * @flags: the flags of the trace
 *
 * If so, branches of the kernel are in the buffer of the source even if the filter of the
 * ring drops them.
 *
 * Return: true if the source records the kernel.
 */
bool bts_records_kernel(u32 id, u32 flags)
{
	if (bts_find_source(id) != bts_source)
		return false;
	if (flags & (BTS_KERNEL | BTS_ENTRY))
		return true;

	return flags & BTS_USER && (!bts_source->filters || bts_avoids_cpl_filter(flags));
}

/* Return the flags that the contexts of tasks may have with a source. */
u32 bts_possible_flags(const struct bts_source *source)
{
	return source->software ? BTS_TASK_FLAGS & ~BTS_KERNEL : BTS_TASK_FLAGS;
}

/*
 * Return X86_BTS_F_* that records of a source may have. A later call may return
 * X86_BTS_F_MISPREDICTED in addition.
 */
u32 bts_record_flags(const struct bts_source *source)
{
	const struct bts_record_props *props = source->props;

	return props->flags | (READ_ONCE(props->predicted) ? X86_BTS_F_MISPREDICTED : 0);
}

/**
 * bts_source_info - tell what a source can do
 * @id: BTS_SOURCE_*, or 0 for the best source
 * @info: filled in
 *
 * Any context.
 *
 * Return: 0; -EOPNOTSUPP if this machine has no source of records; -ENODEV if it has
 * sources, but not @id.
 */
int bts_source_info(u32 id, struct bts_source_info *info)
{
	const struct bts_source *source = bts_find_source(id);

	if (IS_ERR(source))
		return PTR_ERR(source);

	*info = (struct bts_source_info) {
		.id		= source->id,
		.sources	= (bts_source->id ? BIT(bts_source->id) : 0) |
				  (bts_software ? BIT(bts_software->id) : 0),
		.flags		= bts_possible_flags(source),
		.record_flags	= bts_record_flags(source),
	};

	return 0;
}

/**
 * bts_wanted_steps - tell the software source what to record of the task of bts_cpu.owner
 *
 * Called with interrupts off. In a task switch, current may already be the next task.
 *
 * Return: the union of the flags of the contexts of this task with this source.
 */
u32 bts_wanted_steps(void)
{
	return this_cpu_read(bts_cpu.owner)->step_flags;
}
