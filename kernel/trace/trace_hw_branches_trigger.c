// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder and the kernel's marks: the event trigger
 *
 *   branches[:COUNT][:all][:freeze][ if FILTER]
 *
 * writes the last branches that led to a trace event into the trace, as events
 * hw_branch; of all CPUs with 'all'; and with 'freeze' leaves the recorder frozen
 * then, for a look at the rest of it.
 *
 * An event can be anywhere. Without 'all' and 'freeze' this CPU is only held while
 * its branches are read. With one of them all CPUs are frozen. That takes the others
 * a moment, so their branches follow from a work.
 */

#include <linux/cleanup.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/workqueue.h>

#include "trace.h"
#include "trace_hw_branches.h"

#define CREATE_TRACE_POINTS
#include <trace/events/hw_branch.h>

/* In event_trigger_data::flags, where the low ones are taken. */
#define HW_BRANCHES_ALL		BIT(16)
#define HW_BRANCHES_FREEZE	BIT(17)

/* What is below writes MSRs and sends IPIs: these are events, too. */
static DEFINE_PER_CPU(bool, hw_branches_marking);

/* The last @hw_branches_nr, but not the @newer newest, the oldest first. */
static void hw_branches_trace_cpu(int cpu, u32 newer)
{
	struct hw_branch branch[HW_BRANCHES_CHUNK];
	u32 todo = READ_ONCE(hw_branches_nr), n, got;
	struct hw_branches_place place = { };

	for (; todo; todo -= n) {
		n = min(todo, ARRAY_SIZE(branch));
		got = arch_hw_branches_last(cpu, &place, newer + todo - n, branch, n);
		while (got--)
			trace_hw_branch(cpu, newer + todo - n + got, &branch[got]);
	}
}

/*
 * The others
 */

static int hw_branches_marked_cpu;

static void hw_branches_trace_others(void)
{
	const struct hw_branches_top any = { .any = true };
	int cpu;

	for_each_possible_cpu(cpu) {
		if (cpu != READ_ONCE(hw_branches_marked_cpu) && arch_hw_branches_frozen(cpu))
			hw_branches_trace_cpu(cpu, max(hw_branches_since(cpu, any), 0));
	}
}

static void hw_branches_do_others(struct work_struct *work)
{
	hw_branches_show(HW_BRANCHES_TRIGGER, hw_branches_trace_others);
}

static DECLARE_WORK(hw_branches_others_work, hw_branches_do_others);

static void hw_branches_others_irq(struct irq_work *work)
{
	queue_work(system_dfl_wq, &hw_branches_others_work);
}

static struct irq_work hw_branches_others = IRQ_WORK_INIT_HARD(hw_branches_others_irq);

/*
 * The mark
 */

static void hw_branches_mark(int flags, unsigned long probe)
{
	const struct hw_branches_top top = { .to = probe };
	int cpu = smp_processor_id(), since;
	bool held = false;

	if (flags & HW_BRANCHES_FREEZE)
		hw_branches_keep();
	else if (flags & HW_BRANCHES_ALL)
		hw_branches_look(HW_BRANCHES_TRIGGER);
	else
		held = arch_hw_branches_hold();

	/* Not all events have a probe that can be told. */
	since = probe ? hw_branches_since(cpu, top) : 0;
	hw_branches_trace_cpu(cpu, max(since, 0));

	if (flags & HW_BRANCHES_ALL) {
		WRITE_ONCE(hw_branches_marked_cpu, cpu);
		irq_work_queue(&hw_branches_others);
	} else if (!(flags & HW_BRANCHES_FREEZE)) {
		arch_hw_branches_release(held);
	}
}

/* Frozen by an earlier mark, or whatever else: what is there is not its way. */
static bool hw_branches_can_mark(void)
{
	return READ_ONCE(hw_branches_on) && !this_cpu_read(hw_branches_marking) &&
	       !arch_hw_branches_frozen(smp_processor_id());
}

static void hw_branches_trigger(struct event_trigger_data *data, struct trace_buffer *buffer,
				void *rec, struct ring_buffer_event *event)
{
	struct trace_event_file *file = data->private_data;

	guard(irqsave)();

	if (!hw_branches_can_mark())
		return;

	this_cpu_write(hw_branches_marking, true);
	hw_branches_mark(data->flags, (unsigned long)file->event_call->class->probe);
	this_cpu_write(hw_branches_marking, false);
}

static bool hw_branches_trigger_count(struct event_trigger_data *data,
				      struct trace_buffer *buffer, void *rec,
				      struct ring_buffer_event *event)
{
	/* Who moves before the trigger looks again has counted for nothing. */
	guard(preempt_notrace)();

	return hw_branches_can_mark() && event_trigger_count(data, buffer, rec, event);
}

static int hw_branches_trigger_print(struct seq_file *m, struct event_trigger_data *data)
{
	seq_puts(m, "branches");
	if (data->count == -1)
		seq_puts(m, ":unlimited");
	else
		seq_printf(m, ":count=%ld", data->count);
	if (data->flags & HW_BRANCHES_ALL)
		seq_puts(m, ":all");
	if (data->flags & HW_BRANCHES_FREEZE)
		seq_puts(m, ":freeze");
	if (data->filter_str)
		seq_printf(m, " if %s", data->filter_str);
	seq_putc(m, '\n');

	return 0;
}

/* Called when no trigger runs any more. The call is freed with its module. */
static void hw_branches_trigger_put(struct event_trigger_data *data)
{
	struct trace_event_file *file = data->private_data;
	struct trace_event_call *call = file->event_call;

	event_file_put(file);
	trace_event_put_ref(call);
}

/*
 * The events that a trigger makes are of no use where they are not recorded. And
 * a module must not go while its event has a trigger.
 */
static int hw_branches_trigger_reg(char *glob, struct event_trigger_data *data,
				   struct trace_event_file *file)
{
	struct trace_event_file *own = find_event_file(file->tr, "hw_branch", "hw_branch");
	const unsigned long on = EVENT_FILE_FL_ENABLED, off = EVENT_FILE_FL_SOFT_DISABLED;
	bool enabled;
	int err;

	if (!own || own == file)
		return -EINVAL;

	if (!trace_event_try_get_ref(file->event_call))
		return -EBUSY;
	event_file_get(file);
	enabled = (own->flags & (on | off)) == on;
	err = tracing_update_buffers(file->tr);
	if (!err)
		err = trace_event_enable_disable(own, 1, 0);
	if (!err)
		err = register_trigger(glob, data, file);
	if (err) {
		if (!enabled)
			trace_event_enable_disable(own, 0, 0);
		hw_branches_trigger_put(data);
		return err;
	}
	data->private_data_free = hw_branches_trigger_put;

	return 0;
}

static int hw_branches_parse_option(struct event_trigger_data *data, char *option)
{
	if (!strcmp(option, "all")) {
		data->flags |= HW_BRANCHES_ALL;
	} else if (!strcmp(option, "freeze")) {
		data->flags |= HW_BRANCHES_FREEZE;
	} else {
		data->flags |= EVENT_TRIGGER_FL_COUNT;
		return kstrtoul(option, 0, &data->count);
	}

	return 0;
}

static int hw_branches_parse(struct event_trigger_data *data, char *params)
{
	char *option;
	int err;

	while ((option = strsep(&params, ":"))) {
		err = hw_branches_parse_option(data, option);
		if (err)
			return err;
	}

	return 0;
}

static int hw_branches_trigger_add(struct event_trigger_data *data,
				   struct trace_event_file *file, char *glob, char *params,
				   char *filter)
{
	int err;

	err = hw_branches_parse(data, params);
	if (!err)
		err = event_trigger_set_filter(data->cmd_ops, file, filter, data);
	if (err)
		return err;

	/* Up its count, so that a failure to register does not free it. */
	event_trigger_init(data);
	err = event_trigger_register(data->cmd_ops, file, glob, data);
	if (!err)
		event_trigger_free(data);

	return err;
}

static int hw_branches_trigger_parse(struct event_command *cmd_ops,
				     struct trace_event_file *file, char *glob, char *cmd,
				     char *param_and_filter)
{
	char *params = NULL, *filter = param_and_filter;
	struct event_trigger_data *data;
	int err = 0;

	if (filter && !str_has_prefix(filter, "if ") && !str_has_prefix(filter, "if\t"))
		params = strsep(&filter, " \t");
	if (filter)
		filter = skip_spaces(filter);

	data = trigger_data_alloc(cmd_ops, cmd, NULL, file);
	if (!data)
		return -ENOMEM;

	if (event_trigger_check_remove(glob))
		event_trigger_unregister(cmd_ops, file, glob + 1, data);
	else
		err = hw_branches_trigger_add(data, file, glob, params,
					      filter && *filter ? filter : NULL);
	if (event_trigger_check_remove(glob) || err) {
		event_trigger_reset_filter(cmd_ops, data);
		trigger_data_free(data);
	}

	return err;
}

static struct event_command hw_branches_trigger_cmd = {
	.name		= "branches",
	.trigger_type	= ETT_BRANCHES,
	.flags		= EVENT_CMD_FL_POST_TRIGGER,
	.parse		= hw_branches_trigger_parse,
	.reg		= hw_branches_trigger_reg,
	.unreg		= unregister_trigger,
	.set_filter	= set_trigger_filter,
	.trigger	= hw_branches_trigger,
	.count_func	= hw_branches_trigger_count,
	.print		= hw_branches_trigger_print,
	.init		= event_trigger_init,
	.free		= event_trigger_free,
};

static int __init hw_branches_trigger_init(void)
{
	return register_event_command(&hw_branches_trigger_cmd);
}
subsys_initcall(hw_branches_trigger_init);
