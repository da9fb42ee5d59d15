// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: the event trigger 'branches'
 *
 *   branches[:COUNT][:all][:freeze][ if FILTER]
 *
 * The trigger writes the last branches that led to a trace event into the trace of the event's
 * instance, as events hw_branch, the newest first. With 'all', it writes the last branches of all
 * CPUs. With 'freeze', the recorder stays frozen, so that older branches can be read from the files
 * in hw_branches/.
 *
 * An event can occur in any context. With neither 'all' nor 'freeze', recording stops only on this
 * CPU, and only while its branches are read. With 'all' or 'freeze', all CPUs are frozen. The
 * trigger cannot wait until the other CPUs are frozen. So with 'all', a work writes their branches
 * later. If the work is still in use, 'all' is ignored.
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

/**
 * struct hw_branches_trigger_data - the data of a trigger 'branches'
 * @file:	the event that has the trigger
 * @own:	the event hw_branch in the same instance
 * @all:	write the branches of all CPUs
 * @freeze:	leave the recorder frozen
 */
struct hw_branches_trigger_data {
	struct trace_event_file	*file;
	struct trace_event_file	*own;
	bool			all;
	bool			freeze;
};

/*
 * True while this CPU runs a trigger 'branches'. The trigger may cause other trace events, for
 * example write_msr and ipi_send_cpu. If these have triggers 'branches', too, those do nothing.
 */
static DEFINE_PER_CPU(bool, hw_branches_writing);

/*
 * Called with preemption off. With CONFIG_PREEMPTION, trace_event_buffer_reserve() stores the
 * preempt count minus 1, as it assumes that code of the tracepoint has disabled preemption.
 */
static void hw_branches_trace(struct trace_event_file *own, int cpu, u32 age,
			      const struct hw_branch *branch)
{
	struct trace_event_raw_hw_branch *entry;
	struct trace_event_buffer buffer;

	entry = trace_event_buffer_reserve(&buffer, own, sizeof(*entry));
	if (!entry)
		return;

	entry->to = branch->to;
	entry->from = branch->from == HW_BRANCH_USER ? 0 : branch->from;
	entry->cpu = cpu;
	entry->age = age;
	trace_event_buffer_commit(&buffer);
}

/* Skip the @newer newest branches of a CPU, and write the next ones, hw_branches_nr at most. */
static void hw_branches_trace_cpu(struct trace_event_file *own, int cpu, u32 newer)
{
	struct hw_branch branch[HW_BRANCHES_CHUNK];
	u32 todo = READ_ONCE(hw_branches_nr), i, n;
	struct hw_branches_cursor cursor = { };

	do {
		n = arch_hw_branches_last(cpu, &cursor, newer, branch,
					  min(todo, ARRAY_SIZE(branch)));
		for (i = 0; i < n; i++)
			hw_branches_trace(own, cpu, newer + i, &branch[i]);
		newer += n;
		todo -= n;
	} while (n && todo);
}

/*
 * The other CPUs, for 'all'
 */

/* The event hw_branch that the work writes for the other CPUs; NULL if the work is not in use */
static struct trace_event_file *hw_branches_others_event;

/* The CPU of the trigger that uses the work. The work skips this CPU. */
static int hw_branches_others_trigger_cpu;

static void hw_branches_trace_others(void)
{
	const struct hw_branches_match any = { .any = true };
	int cpu;

	for_each_possible_cpu(cpu) {
		guard(preempt_notrace)();
		if (cpu != hw_branches_others_trigger_cpu && arch_hw_branches_frozen(cpu))
			hw_branches_trace_cpu(hw_branches_others_event, cpu,
					      max(hw_branches_count_newer(cpu, any), 0));
	}
}

static void hw_branches_do_others(struct work_struct *work)
{
	hw_branches_show(hw_branches_trace_others);
	/*
	 * Pairs with cmpxchg() in hw_branches_reserve_others(), after which the next trigger stores
	 * its own CPU.
	 */
	smp_store_release(&hw_branches_others_event, NULL);
}

static DECLARE_WORK(hw_branches_others_work, hw_branches_do_others);

static void hw_branches_others_irq(struct irq_work *work)
{
	queue_work(system_dfl_wq, &hw_branches_others_work);
}

static struct irq_work hw_branches_others = IRQ_WORK_INIT_HARD(hw_branches_others_irq);

/*
 * The CPU of the trigger
 */

/*
 * Reserve the work for a trigger with 'all'. Return false if the trigger has no 'all', or if the
 * work is in use. Then the trigger writes only the branches of its own CPU.
 *
 * cmpxchg() pairs with smp_store_release() in hw_branches_do_others(): the new CPU is not stored
 * before the work has read the old one.
 */
static bool hw_branches_reserve_others(const struct hw_branches_trigger_data *trigger, int cpu)
{
	if (!trigger->all || cmpxchg(&hw_branches_others_event, NULL, trigger->own))
		return false;
	hw_branches_others_trigger_cpu = cpu;

	return true;
}

static void hw_branches_write(const struct hw_branches_trigger_data *trigger)
{
	const struct hw_branches_match top = {
		.to = (unsigned long)trigger->file->event_call->class->probe,
	};
	int cpu = smp_processor_id();
	bool all = hw_branches_reserve_others(trigger, cpu), stopped;
	u32 newer;

	stopped = arch_hw_branches_hold();
	if (trigger->freeze)
		hw_branches_keep_frozen(true);
	if (all)
		hw_branches_freeze_to_read();

	/*
	 * The event calls its probe, which runs the trigger. Skip the branches after this call.
	 * If the probe is not known or its call is not found, skip none.
	 */
	newer = top.to ? max(hw_branches_count_newer(cpu, top), 0) : 0;
	hw_branches_trace_cpu(trigger->own, cpu, newer);

	arch_hw_branches_release(stopped);
	if (all)
		irq_work_queue(&hw_branches_others);
}

/*
 * Tell whether the trigger can write branches. If this CPU was frozen before, its branches are
 * older than the event.
 */
static bool hw_branches_can_write(void)
{
	return READ_ONCE(hw_branches_on) && !this_cpu_read(hw_branches_writing) &&
	       !arch_hw_branches_frozen(smp_processor_id());
}

static void hw_branches_trigger(struct event_trigger_data *data, struct trace_buffer *buffer,
				void *rec, struct ring_buffer_event *event)
{
	/*
	 * hw_branches_trace() has to be called with preemption off. Some events have preemption
	 * on: for example that of a uprobe, if the kernel has CONFIG_PREEMPT_RCU.
	 */
	bool raise = IS_ENABLED(CONFIG_PREEMPTION) && !(preempt_count() & PREEMPT_MASK);

	guard(irqsave)();

	/*
	 * Count here, with interrupts off, and not in ->count_func: between ->count_func and this
	 * function, the task of a uprobe may migrate to a CPU that is frozen. Then the event would
	 * be counted, but no branches written.
	 */
	if (!hw_branches_can_write() || !event_trigger_count(data, buffer, rec, event))
		return;

	this_cpu_write(hw_branches_writing, true);
	if (raise)
		preempt_disable_notrace();
	hw_branches_write(data->private_data);
	if (raise)
		preempt_enable_notrace();
	this_cpu_write(hw_branches_writing, false);
}

static int hw_branches_trigger_print(struct seq_file *m, struct event_trigger_data *data)
{
	const struct hw_branches_trigger_data *trigger = data->private_data;

	seq_puts(m, "branches");
	if (data->count == -1)
		seq_puts(m, ":unlimited");
	else
		seq_printf(m, ":count=%ld", data->count);
	if (trigger->all)
		seq_puts(m, ":all");
	if (trigger->freeze)
		seq_puts(m, ":freeze");
	if (data->filter_str)
		seq_printf(m, " if %s", data->filter_str);
	seq_putc(m, '\n');

	return 0;
}

/* Wait until a trigger that was removed runs on no CPU, and its work has ended. */
static void hw_branches_wait_for_triggers(void)
{
	tracepoint_synchronize_unregister();
	irq_work_sync(&hw_branches_others);
	flush_work(&hw_branches_others_work);
}

/*
 * Until the trigger is removed, the reference keeps a dynamic event, such as a kprobe, from being
 * removed, and the module of any other event from being unloaded. tracing_update_buffers() expands
 * the ring buffer, as enabling an event does: the trigger writes hw_branch, which need not be
 * enabled.
 */
static int hw_branches_trigger_reg(char *glob, struct event_trigger_data *data,
				   struct trace_event_file *file)
{
	int err;

	if (!trace_event_try_get_ref(file->event_call))
		return -EBUSY;
	err = tracing_update_buffers(file->tr) ?: register_trigger(glob, data, file);
	if (err) {
		/* A CPU may have run the trigger before register_trigger() failed. */
		hw_branches_wait_for_triggers();
		trace_event_put_ref(file->event_call);
	}

	return err;
}

/*
 * Drop a reference to the trigger. The last reference is dropped after the trigger was removed from
 * the list of its event: then free the trigger.
 */
static void hw_branches_trigger_free(struct event_trigger_data *data)
{
	struct hw_branches_trigger_data *trigger = data->private_data;
	struct trace_event_call *call = trigger->file->event_call;
	bool last = data->ref == 1;

	if (last)
		hw_branches_wait_for_triggers();
	event_trigger_free(data);
	if (last) {
		trace_event_put_ref(call);
		kfree(trigger);
	}
}

enum {
	HW_BRANCHES_NO_OPTION,
	HW_BRANCHES_OWN_EVENT,
};

static const char *const hw_branches_errors[] = {
	[HW_BRANCHES_NO_OPTION]	= "Neither a count nor 'all' nor 'freeze'",
	[HW_BRANCHES_OWN_EVENT]	= "Not at the event that the trigger makes",
};

static int hw_branches_refuse(struct trace_event_file *file, const char *params, u8 error,
			      u16 at)
{
	tracing_log_err(file->tr, "event trigger: branches", params ?: "",
			(void *)hw_branches_errors, error, at);

	return -EINVAL;
}

static int hw_branches_parse_option(struct event_trigger_data *data, const char *option)
{
	struct hw_branches_trigger_data *trigger = data->private_data;

	if (!strcmp(option, "all")) {
		trigger->all = true;
	} else if (!strcmp(option, "freeze")) {
		trigger->freeze = true;
	} else {
		/* Do not set EVENT_TRIGGER_FL_COUNT: hw_branches_trigger() counts itself. */
		return kstrtoul(option, 0, &data->count);
	}

	return 0;
}

static int hw_branches_parse(struct event_trigger_data *data, struct trace_event_file *file,
			     const char *params)
{
	char *all __free(kfree) = kstrdup(params ?: "", GFP_KERNEL), *option, *rest = all;

	if (!all)
		return -ENOMEM;
	while (params && (option = strsep(&rest, ":"))) {
		if (hw_branches_parse_option(data, option))
			return hw_branches_refuse(file, params, HW_BRANCHES_NO_OPTION,
						  option - all);
	}

	return 0;
}

static int hw_branches_trigger_add(struct event_trigger_data *data,
				   struct trace_event_file *file, char *glob, char *params,
				   char *filter)
{
	struct hw_branches_trigger_data *trigger = data->private_data;
	int err;

	trigger->own = find_event_file(file->tr, "hw_branch", "hw_branch");
	if (!trigger->own || trigger->own == file)
		return hw_branches_refuse(file, params, HW_BRANCHES_OWN_EVENT, 0);

	err = hw_branches_parse(data, file, params);
	if (!err)
		err = event_trigger_set_filter(data->cmd_ops, file, filter, data);
	if (err)
		return err;

	/* As event_trigger_parse() does. If registering fails, only the caller frees @data. */
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
	struct hw_branches_trigger_data *trigger;
	struct event_trigger_data *data;
	int err = 0;

	if (filter && !str_has_prefix(filter, "if ") && !str_has_prefix(filter, "if\t"))
		params = strsep(&filter, " \t");
	if (filter)
		filter = skip_spaces(filter);

	trigger = kzalloc_obj(*trigger);
	if (!trigger)
		return -ENOMEM;
	trigger->file = file;
	data = trigger_data_alloc(cmd_ops, cmd, NULL, trigger);
	if (!data) {
		kfree(trigger);
		return -ENOMEM;
	}

	if (event_trigger_check_remove(glob))
		event_trigger_unregister(cmd_ops, file, glob + 1, data);
	else
		err = hw_branches_trigger_add(data, file, glob, params,
					      filter && *filter ? filter : NULL);
	if (event_trigger_check_remove(glob) || err) {
		event_trigger_reset_filter(cmd_ops, data);
		trigger_data_free(data);
		kfree(trigger);
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
	.print		= hw_branches_trigger_print,
	.init		= event_trigger_init,
	.free		= hw_branches_trigger_free,
};

static int __init hw_branches_trigger_init(void)
{
	return register_event_command(&hw_branches_trigger_cmd);
}
subsys_initcall(hw_branches_trigger_init);
