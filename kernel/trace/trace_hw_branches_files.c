// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder in tracefs: hw_branches/
 */

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>

#include "trace.h"
#include "trace_hw_branches.h"

struct dentry *hw_branches_dir;

/*
 * Switches: freeze, crash_all, fold
 */

/**
 * struct hw_branches_switch - a file that contains 0 or 1
 * @get:	return the value that is read
 * @set:	set the value that was written; return 0 or an error
 */
struct hw_branches_switch {
	bool	(*get)(void);
	int	(*set)(bool on);
};

static const struct hw_branches_switch hw_branches_freeze_switch = {
	.get	= hw_branches_is_kept_frozen,
	.set	= hw_branches_freeze,
};

static bool hw_branches_get_crash_all(void)
{
	return READ_ONCE(hw_branches_crash_all);
}

static int hw_branches_set_crash_all(bool on)
{
	WRITE_ONCE(hw_branches_crash_all, on);

	return 0;
}

static const struct hw_branches_switch hw_branches_crash_all_switch = {
	.get	= hw_branches_get_crash_all,
	.set	= hw_branches_set_crash_all,
};

static bool hw_branches_get_folding(void)
{
	return !READ_ONCE(hw_branches_plain);
}

static int hw_branches_set_folding(bool on)
{
	WRITE_ONCE(hw_branches_plain, !on);

	return 0;
}

static const struct hw_branches_switch hw_branches_fold_switch = {
	.get	= hw_branches_get_folding,
	.set	= hw_branches_set_folding,
};

static ssize_t hw_branches_switch_read(struct file *file, char __user *buf, size_t size,
				       loff_t *pos)
{
	const struct hw_branches_switch *sw = file->private_data;

	return simple_read_from_buffer(buf, size, pos, sw->get() ? "1\n" : "0\n", 2);
}

static ssize_t hw_branches_switch_write(struct file *file, const char __user *buf, size_t size,
					loff_t *pos)
{
	const struct hw_branches_switch *sw = file->private_data;
	bool on;
	int err;

	err = kstrtobool_from_user(buf, size, &on) ?: sw->set(on);

	return err ?: size;
}

static const struct file_operations hw_branches_switch_fops = {
	.open	= tracing_open_generic,
	.read	= hw_branches_switch_read,
	.write	= hw_branches_switch_write,
	.llseek	= generic_file_llseek,
};

/*
 * enable: the name of the source that is on, and whether perf has taken its hardware; 0 if the
 * recorder is off
 *
 * If code in an RCU section reads hw_branches_on as true, the source does not change before the end
 * of the section. hw_branches_enable() calls synchronize_rcu() after it has set hw_branches_on to
 * false, and arch_hw_branches_choose() does before it is set to true.
 */

static ssize_t hw_branches_enable_read(struct file *file, char __user *buf, size_t size,
				       loff_t *pos)
{
	char text[48];
	int len;

	rcu_read_lock();
	if (!READ_ONCE(hw_branches_on))
		len = scnprintf(text, sizeof(text), "0\n");
	else
		len = scnprintf(text, sizeof(text), "%s%s\n", arch_hw_branches_source(),
				arch_hw_branches_given_up() ? " (given up to perf)" : "");
	rcu_read_unlock();

	return simple_read_from_buffer(buf, size, pos, text, len);
}

static ssize_t hw_branches_enable_write(struct file *file, const char __user *buf, size_t size,
					loff_t *pos)
{
	char text[16];
	int source, err;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, size))
		return -EFAULT;
	text[size] = '\0';

	err = hw_branches_parse_source(strim(text), &source) ?: hw_branches_enable(source);

	return err ?: size;
}

static const struct file_operations hw_branches_enable_fops = {
	.open	= tracing_open_generic,
	.read	= hw_branches_enable_read,
	.write	= hw_branches_enable_write,
	.llseek	= generic_file_llseek,
};

/*
 * cpumask: the CPUs whose branches are recorded while the recorder is on
 */

static int hw_branches_cpumask_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%*pb\n", cpumask_pr_args(hw_branches_cpus()));

	return 0;
}

static int hw_branches_cpumask_open(struct inode *inode, struct file *file)
{
	return tracing_check_open_get_tr(NULL) ?:
	       single_open(file, hw_branches_cpumask_show, NULL);
}

static ssize_t hw_branches_cpumask_write(struct file *file, const char __user *buf, size_t size,
					 loff_t *pos)
{
	cpumask_var_t cpus;
	int err;

	/* cpumask_parse_user() would warn that it cannot allocate so much. */
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;

	err = cpumask_parse_user(buf, size, cpus) ?: hw_branches_set_cpus(cpus);
	free_cpumask_var(cpus);

	return err ?: size;
}

static const struct file_operations hw_branches_cpumask_fops = {
	.open		= hw_branches_cpumask_open,
	.read		= seq_read,
	.write		= hw_branches_cpumask_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/*
 * nr, crash_nr: see hw_branches_nr and hw_branches_crash_nr
 */

static u64 hw_branches_nr_min = 1;
static u64 hw_branches_nr_max = HW_BRANCHES_MAX_NR;

static struct trace_min_max_param hw_branches_nr_param = {
	.val	= &hw_branches_nr,
	.min	= &hw_branches_nr_min,
	.max	= &hw_branches_nr_max,
};

static struct trace_min_max_param hw_branches_crash_nr_param = {
	.val	= &hw_branches_crash_nr,
	.min	= &hw_branches_nr_min,
	.max	= &hw_branches_nr_max,
};

/*
 * thaw_after: the number of seconds after which the recorder thaws after a crash, or 0 for never
 */

/* The maximum is a week. In jiffies, it does not overflow a long. */
static u64 hw_branches_thaw_after_min;
static u64 hw_branches_thaw_after_max = 7 * 24 * 60 * 60;

static struct trace_min_max_param hw_branches_thaw_after_param = {
	.val	= &hw_branches_thaw_after,
	.min	= &hw_branches_thaw_after_min,
	.max	= &hw_branches_thaw_after_max,
};

/*
 * trace: the branches of all CPUs, one CPU after the other; per_cpu/cpuN/trace: those of one CPU.
 * hw_branches_view_next_cpu() copies the branches of a CPU before the lines of this CPU are made.
 * To read all CPUs as they were at the same time, freeze the recorder before reading the file.
 */

/**
 * struct hw_branches_view - the state of an open trace file
 * @cpu:	the CPU whose branches are in @branch; -1 before the first one is copied
 * @only:	the only CPU to show; -1 for all CPUs
 * @pos:	the number of @line, from 1 on; 0 for the headline
 * @plain:	make a line for each record, without folding
 * @base:	the outermost depth of the lines of @cpu
 * @fold:	the walk that makes the lines
 * @line:	the current line
 * @room:	the number of branches that @branch has room for
 * @nr:		the number of branches in @branch
 * @branch:	the branches of @cpu, the newest first
 */
struct hw_branches_view {
	int			cpu;
	int			only;
	loff_t			pos;
	bool			plain;
	int			base;
	struct hw_branches_fold	fold;
	struct hw_branches_line	line;
	u32			room;
	u32			nr;
	struct hw_branch	branch[];
};

static bool hw_branches_view_get(void *data, u32 nr, struct hw_branch *branch)
{
	struct hw_branches_view *view = data;

	if (nr >= view->nr)
		return false;
	*branch = view->branch[nr];

	return true;
}

static void hw_branches_view_progress(void *unused)
{
	cond_resched();
}

static const struct hw_branches_reader hw_branches_view_reader = {
	.get		= hw_branches_view_get,
	.kind		= hw_branches_kind_of_branch,
	.is_thunk	= hw_branches_thunk,
	.is_return	= hw_branches_return,
	.progress	= hw_branches_view_progress,
};

static int hw_branches_next_cpu(const struct hw_branches_view *view)
{
	int cpu;

	if (view->only < 0)
		cpu = cpumask_next(view->cpu, cpu_possible_mask);
	else
		cpu = view->cpu < view->only ? view->only : nr_cpu_ids;

	return cpu;
}

/* Copy the branches of the next CPU, and begin to fold them. Return false after the last CPU. */
static bool hw_branches_view_next_cpu(struct hw_branches_view *view)
{
	int cpu = hw_branches_next_cpu(view);
	u32 records;

	if (cpu >= nr_cpu_ids)
		return false;
	view->cpu = cpu;
	view->nr = hw_branches_copy(cpu, view->branch, view->room);
	hw_branches_fold_begin(&view->fold, 0, view->plain, &hw_branches_view_reader, view);
	view->base = hw_branches_fold_base(&view->fold, U32_MAX, &records);

	return true;
}

static bool hw_branches_view_next(struct hw_branches_view *view)
{
	while (view->cpu < 0 || !hw_branches_fold_next(&view->fold, &view->line)) {
		if (!hw_branches_view_next_cpu(view))
			return false;
	}
	view->pos++;

	return true;
}

/* Make line @pos the current one. Return false if it does not exist. Line 0 is the headline. */
static bool hw_branches_seek(struct hw_branches_view *view, loff_t pos)
{
	if (!pos || pos < view->pos) {
		view->cpu = -1;
		view->pos = 0;
		view->plain = READ_ONCE(hw_branches_plain);
	}

	while (view->pos < pos) {
		if (!hw_branches_view_next(view))
			return false;
		cond_resched();
	}

	return true;
}

static void *hw_branches_seq_start(struct seq_file *m, loff_t *pos)
{
	return hw_branches_seek(m->private, *pos) ? pos : NULL;
}

static void *hw_branches_seq_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;

	return hw_branches_seq_start(m, pos);
}

static void hw_branches_seq_stop(struct seq_file *m, void *v)
{
}

static void hw_branches_show_headline(struct seq_file *m)
{
	const char *source;

	/* See hw_branches_enable_read(). */
	guard(rcu)();

	if (READ_ONCE(hw_branches_on)) {
		source = arch_hw_branches_source();
		seq_printf(m, "# CPU  TO <- FROM, newest first, source %s%s\n", source,
			   hw_branches_source_mark(source));
	} else {
		seq_puts(m, "# CPU  TO <- FROM, newest first\n");
	}
}

static int hw_branches_seq_show(struct seq_file *m, void *v)
{
	struct hw_branches_view *view = m->private;
	loff_t *pos = v;

	if (*pos)
		hw_branches_print(seq_printf, m, view->cpu, view->line.depth - view->base,
				  &view->line);
	else
		hw_branches_show_headline(m);

	return 0;
}

static const struct seq_operations hw_branches_seq_ops = {
	.start	= hw_branches_seq_start,
	.next	= hw_branches_seq_next,
	.stop	= hw_branches_seq_stop,
	.show	= hw_branches_seq_show,
};

/* In the file of one CPU, i_private is the number of the CPU plus 1. For all CPUs, it is 0. */
static int hw_branches_trace_open(struct inode *inode, struct file *file)
{
	/*
	 * Before the read, root may choose a source that keeps more branches. So store the size of
	 * the array in view->room, to limit the number of branches that are copied.
	 */
	u32 room = arch_hw_branches_depth();
	struct hw_branches_view *view;
	int err;

	err = tracing_check_open_get_tr(NULL);
	if (err)
		return err;

	view = kvzalloc(struct_size(view, branch, room), GFP_KERNEL);
	if (!view)
		return -ENOMEM;
	view->room = room;
	view->only = (long)inode->i_private - 1;
	view->cpu = -1;

	err = seq_open(file, &hw_branches_seq_ops);
	if (err)
		kvfree(view);
	else
		((struct seq_file *)file->private_data)->private = view;

	return err;
}

static int hw_branches_trace_release(struct inode *inode, struct file *file)
{
	kvfree(((struct seq_file *)file->private_data)->private);

	return seq_release(inode, file);
}

static const struct file_operations hw_branches_trace_fops = {
	.open		= hw_branches_trace_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= hw_branches_trace_release,
};

static int __init hw_branches_create_cpu(struct dentry *parent, long cpu)
{
	struct dentry *dir;
	char name[16];

	snprintf(name, sizeof(name), "cpu%ld", cpu);
	dir = tracefs_create_dir(name, parent);
	if (!dir)
		return -ENOMEM;

	trace_create_file("trace", TRACE_MODE_READ, dir, (void *)(cpu + 1),
			  &hw_branches_trace_fops);

	return 0;
}

static int __init hw_branches_create_files(void)
{
	struct dentry *dir, *cpus;
	int cpu, err;

	err = tracing_init_dentry();
	if (err)
		return err;

	dir = tracefs_create_dir("hw_branches", NULL);
	if (!dir)
		return -ENOMEM;

	trace_create_file("enable", TRACE_MODE_WRITE, dir, NULL, &hw_branches_enable_fops);
	trace_create_file("freeze", TRACE_MODE_WRITE, dir, (void *)&hw_branches_freeze_switch,
			  &hw_branches_switch_fops);
	trace_create_file("cpumask", TRACE_MODE_WRITE, dir, NULL, &hw_branches_cpumask_fops);
	trace_create_file("nr", TRACE_MODE_WRITE, dir, &hw_branches_nr_param,
			  &trace_min_max_fops);
	trace_create_file("crash_nr", TRACE_MODE_WRITE, dir, &hw_branches_crash_nr_param,
			  &trace_min_max_fops);
	trace_create_file("crash_all", TRACE_MODE_WRITE, dir,
			  (void *)&hw_branches_crash_all_switch, &hw_branches_switch_fops);
	trace_create_file("fold", TRACE_MODE_WRITE, dir, (void *)&hw_branches_fold_switch,
			  &hw_branches_switch_fops);
	trace_create_file("thaw_after", TRACE_MODE_WRITE, dir, &hw_branches_thaw_after_param,
			  &trace_min_max_fops);
	trace_create_file("trace", TRACE_MODE_READ, dir, NULL, &hw_branches_trace_fops);

	cpus = tracefs_create_dir("per_cpu", dir);
	if (!cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		err = hw_branches_create_cpu(cpus, cpu);
		if (err)
			return err;
	}
	hw_branches_dir = dir;

	return 0;
}
fs_initcall(hw_branches_create_files);
