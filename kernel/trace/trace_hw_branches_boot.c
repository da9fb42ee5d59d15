// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder: branches that are kept over a reboot, in hw_branches/last_boot
 *
 * The boot parameter reserve_mem=SIZE:ALIGN:hw_branches reserves memory. Hardware that records to
 * memory records there. If the branches are in registers, a freeze copies them to this memory. If
 * the machine is reset, the memory keeps its contents and the next boot reserves the same memory,
 * that boot can copy it before it is used again. Only the first open of last_boot finds the copy.
 * An orderly reboot or kexec erases the branches in this memory, unless the kernel crashes while it
 * shuts down the devices.
 *
 * The memory may contain anything. So each size, number or index in it is checked before it is used
 * to access memory. Addresses in it are never dereferenced. The previous boot may have had another
 * kernel, or the same kernel at another address, and it may have had the modules at other
 * addresses. So the memory also contains the addresses of that kernel and its modules.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <linux/buildid.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/syscore_ops.h>
#include <linux/tracefs.h>
#include <linux/vmalloc.h>

#include <asm/sections.h>

#include "trace.h"
#include "trace_hw_branches.h"

#define HW_BRANCHES_BOOT_MAGIC		0x736568636e617262ull
#define HW_BRANCHES_BOOT_VERSION	3
#define HW_BRANCHES_BOOT_MODULES	250

/**
 * struct hw_branches_boot_module - where the text of a module was, or its init text
 * @start:	the address of the text; 0 if this entry is free
 * @size:	the size of the text
 * @name:	the first 36 characters of the name of the module; " .init.text" follows if this
 *		entry is for the init text
 */
struct hw_branches_boot_module {
	u64	start;
	u64	size;
	char	name[48];
};

/**
 * struct hw_branches_boot_head - the beginning of the reserved memory
 * @magic:	HW_BRANCHES_BOOT_MAGIC
 * @version:	HW_BRANCHES_BOOT_VERSION
 * @cpus:	nr_cpu_ids of the kernel
 * @cpu_size:	the size of the memory of each CPU
 * @text:	the address of the kernel's text
 * @end:	the end of the kernel's image, which also has the init text
 * @build_id:	the build ID of the kernel; all 0 if the kernel does not know it
 * @sum:	the checksum of the fields above
 * @module:	the text of the modules, as many as fit
 *
 * The memory of the CPUs follows, at a multiple of the page size.
 */
struct hw_branches_boot_head {
	u64				magic;
	u32				version;
	u32				cpus;
	u64				cpu_size;
	u64				text;
	u64				end;
	u8				build_id[BUILD_ID_SIZE_MAX];
	u32				sum;
	struct hw_branches_boot_module	module[HW_BRANCHES_BOOT_MODULES];
};

#define HW_BRANCHES_BOOT_HEAD	PAGE_ALIGN(sizeof(struct hw_branches_boot_head))

/* The reserved memory in which this boot keeps its branches; NULL if it keeps none there */
static struct hw_branches_boot_head *hw_branches_boot_memory;

/* The copy of the previous boot's memory; NULL if there is no copy, or last_boot was opened */
static struct hw_branches_boot_head *hw_branches_boot_left;

/* The previous boot had the same kernel, perhaps at another address. */
static bool hw_branches_boot_same __ro_after_init;

/* Protects hw_branches_boot_left, and the modules in hw_branches_boot_memory. */
static DEFINE_MUTEX(hw_branches_boot_mutex);

static u32 hw_branches_boot_sum(const struct hw_branches_boot_head *head)
{
	return jhash(head, offsetof(struct hw_branches_boot_head, sum), 0);
}

/* Find the memory of a CPU: the memory of the CPUs begins after the head. */
static void *hw_branches_boot_cpu(struct hw_branches_boot_head *head, unsigned int cpu)
{
	return (void *)head + HW_BRANCHES_BOOT_HEAD + cpu * arch_hw_branches_boot_size();
}

/* Return the size of the head with the memory of all CPUs; 0 for NULL. */
static size_t hw_branches_boot_whole(const struct hw_branches_boot_head *head)
{
	return head ? HW_BRANCHES_BOOT_HEAD + (size_t)head->cpus * head->cpu_size : 0;
}

/*
 * At boot
 */

/* Tell whether an earlier boot may have left branches in this memory, in this kernel's layout. */
static bool __init hw_branches_boot_valid(const struct hw_branches_boot_head *head, u64 size)
{
	return head->magic == HW_BRANCHES_BOOT_MAGIC &&
	       head->version == HW_BRANCHES_BOOT_VERSION &&
	       head->sum == hw_branches_boot_sum(head) &&
	       head->cpu_size == arch_hw_branches_boot_size() &&
	       head->cpus <= (size_t)(size - HW_BRANCHES_BOOT_HEAD) / arch_hw_branches_boot_size();
}

static void __init hw_branches_boot_get_build_id(u8 *build_id)
{
#if IS_ENABLED(CONFIG_STACKTRACE_BUILD_ID) || IS_ENABLED(CONFIG_VMCORE_INFO)
	memcpy(build_id, vmlinux_build_id, BUILD_ID_SIZE_MAX);
#endif
}

static bool __init hw_branches_boot_is_same(const struct hw_branches_boot_head *head)
{
	u8 build_id[BUILD_ID_SIZE_MAX] = { };

	hw_branches_boot_get_build_id(build_id);

	return memchr_inv(build_id, 0, sizeof(build_id)) &&
	       !memcmp(build_id, head->build_id, sizeof(build_id)) &&
	       head->end - head->text == (unsigned long)_end - (unsigned long)_stext;
}

static void __init hw_branches_boot_copy(const struct hw_branches_boot_head *head)
{
	size_t size = hw_branches_boot_whole(head);

	/* If there is no memory, vmalloc() warns, and last_boot is empty. */
	hw_branches_boot_left = vmalloc(size);
	if (!hw_branches_boot_left)
		return;
	memcpy(hw_branches_boot_left, head, size);
	hw_branches_boot_same = hw_branches_boot_is_same(head);
}

/*
 * Erase the memory, and let this boot keep its branches there. Write the magic number and the
 * checksum last: if the machine is reset before, the next boot finds nothing.
 */
static void __init hw_branches_boot_use(struct hw_branches_boot_head *head, size_t size)
{
	unsigned int cpu;

	/* The previous boot may have had more CPUs. */
	memset(head, 0, size);
	head->version = HW_BRANCHES_BOOT_VERSION;
	head->cpus = nr_cpu_ids;
	head->cpu_size = arch_hw_branches_boot_size();
	head->text = (unsigned long)_stext;
	head->end = (unsigned long)_end;
	hw_branches_boot_get_build_id(head->build_id);
	for_each_possible_cpu(cpu)
		arch_hw_branches_boot_use(cpu, hw_branches_boot_cpu(head, cpu));
	head->magic = HW_BRANCHES_BOOT_MAGIC;
	head->sum = hw_branches_boot_sum(head);
	hw_branches_boot_memory = head;
}

/*
 * Called in an orderly reboot, halt, power-off or kexec (except a kexec that returns), after the
 * devices were shut down: erase the branches, for whatever runs next. The hardware still records to
 * the memory if it did so before, so the branches of the rest of the shutdown may stay there. If
 * the kernel crashes while it shuts down the devices, this function is not called.
 */
static void hw_branches_boot_forget(void *unused)
{
	unsigned int cpu;

	WRITE_ONCE(hw_branches_boot_memory->magic, 0);
	for_each_possible_cpu(cpu)
		arch_hw_branches_boot_erase(hw_branches_boot_cpu(hw_branches_boot_memory, cpu));
}

static const struct syscore_ops hw_branches_boot_syscore_ops = {
	.shutdown	= hw_branches_boot_forget,
};

static struct syscore hw_branches_boot_syscore = {
	.ops = &hw_branches_boot_syscore_ops,
};

/*
 * Copy the branches of the previous boot, and let this boot use the memory. Called before other
 * CPUs are started, and before perf has an event that uses the hardware.
 */
static int __init hw_branches_boot_early(void)
{
	u64 need = HW_BRANCHES_BOOT_HEAD + nr_cpu_ids * arch_hw_branches_boot_size();
	struct hw_branches_boot_head *head;
	phys_addr_t start, size;

	if (!reserve_mem_find_by_name("hw_branches", &start, &size))
		return 0;

	if (size < need || !PAGE_ALIGNED(start)) {
		pr_warn("reserve_mem: hw_branches needs %llu KiB, aligned to %lu\n",
			need / 1024, PAGE_SIZE);
		/* Erase the branches of an earlier boot, which may have had fewer CPUs. */
		memset(phys_to_virt(start), 0, size);
		return 0;
	}
	head = phys_to_virt(start);
	if (hw_branches_boot_valid(head, size))
		hw_branches_boot_copy(head);
	hw_branches_boot_use(head, size);
	/*
	 * The shutdown functions are called in reverse order of their registration. So
	 * hw_branches_boot_forget() is called after hw_branches_lbr_shutdown(), when no CPU saves
	 * last branch records any more.
	 */
	register_syscore(&hw_branches_boot_syscore);

	return 0;
}
early_initcall(hw_branches_boot_early);

/*
 * For the next boot
 */

#ifdef CONFIG_MODULES
/* Find the entry of the text that starts at @start, or a free entry if @start is 0; or NULL. */
static struct hw_branches_boot_module *hw_branches_boot_entry(u64 start)
{
	struct hw_branches_boot_module *entry = hw_branches_boot_memory->module;
	int i;

	for (i = 0; i < HW_BRANCHES_BOOT_MODULES; i++, entry++) {
		if (entry->start == start)
			return entry;
	}

	return NULL;
}

static void hw_branches_boot_add(const struct module *mod, enum mod_mem_type type)
{
	struct hw_branches_boot_module *entry = hw_branches_boot_entry(0);

	if (!mod->mem[type].base || !entry)
		return;
	snprintf(entry->name, sizeof(entry->name), "%.36s%s", mod->name,
		 type == MOD_INIT_TEXT ? " .init.text" : "");
	entry->size = mod->mem[type].size;
	entry->start = (unsigned long)mod->mem[type].base;
}

static void hw_branches_boot_delete(const struct module *mod, enum mod_mem_type type)
{
	struct hw_branches_boot_module *entry;

	if (!mod->mem[type].base)
		return;
	entry = hw_branches_boot_entry((unsigned long)mod->mem[type].base);
	if (entry)
		entry->start = 0;
}

/* Store the addresses of a module that is loaded. Delete them before the text is freed. */
static int hw_branches_boot_module(struct notifier_block *self, unsigned long state, void *data)
{
	const struct module *mod = data;

	guard(mutex)(&hw_branches_boot_mutex);

	switch (state) {
	case MODULE_STATE_COMING:
		hw_branches_boot_add(mod, MOD_TEXT);
		hw_branches_boot_add(mod, MOD_INIT_TEXT);
		break;
	case MODULE_STATE_LIVE:
		hw_branches_boot_delete(mod, MOD_INIT_TEXT);
		break;
	case MODULE_STATE_GOING:
		hw_branches_boot_delete(mod, MOD_TEXT);
		/* If its init function has failed, the module was never live. */
		hw_branches_boot_delete(mod, MOD_INIT_TEXT);
		break;
	}

	return NOTIFY_DONE;
}

static struct notifier_block hw_branches_boot_module_notifier = {
	.notifier_call	= hw_branches_boot_module,
};

/* Called after hw_branches_boot_early(), and before the first module is loaded. */
static int __init hw_branches_boot_watch_modules(void)
{
	return hw_branches_boot_memory ?
	       register_module_notifier(&hw_branches_boot_module_notifier) : 0;
}
core_initcall(hw_branches_boot_watch_modules);
#endif

/*
 * last_boot: the branches of the previous boot. Only the first open finds them.
 */

/**
 * struct hw_branches_boot_view - the state of an open last_boot
 * @left:	the copy of the previous boot's memory; NULL if none is left
 * @cpu:	the CPU whose branches are in @branch; -1 for none
 * @nr:		the number of branches in @branch
 * @source:	the source that has recorded them
 * @branch:	the branches, the newest first
 */
struct hw_branches_boot_view {
	struct hw_branches_boot_head	*left;
	int				cpu;
	u32				nr;
	const char			*source;
	struct hw_branch		branch[];
};

/*
 * Line CPU * HW_BRANCHES_BOOT_LINES is the headline of a CPU. The lines of its branches have the
 * numbers that follow.
 */
#define HW_BRANCHES_BOOT_LINES	0x10000

/* Tell whether line @pos exists. The caller has checked that @view->left has the line's CPU. */
static bool hw_branches_boot_line(struct hw_branches_boot_view *view, loff_t pos)
{
	int cpu = pos / HW_BRANCHES_BOOT_LINES;

	if (cpu != view->cpu) {
		view->nr = arch_hw_branches_boot_read(hw_branches_boot_cpu(view->left, cpu),
						      view->branch, &view->source);
		view->cpu = cpu;
	}

	return view->nr && pos % HW_BRANCHES_BOOT_LINES <= view->nr;
}

/* Move @pos to the first line at or after @pos that exists. Return NULL if there is none. */
static void *hw_branches_boot_start(struct seq_file *m, loff_t *pos)
{
	struct hw_branches_boot_view *view = m->private;

	while (view->left && *pos / HW_BRANCHES_BOOT_LINES < view->left->cpus) {
		if (hw_branches_boot_line(view, *pos))
			return pos;
		*pos = round_down(*pos, HW_BRANCHES_BOOT_LINES) + HW_BRANCHES_BOOT_LINES;
	}

	return NULL;
}

static void *hw_branches_boot_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;

	return hw_branches_boot_start(m, pos);
}

static void hw_branches_boot_stop(struct seq_file *m, void *v)
{
}

static const struct hw_branches_boot_module *
hw_branches_boot_find_module(const struct hw_branches_boot_head *left, u64 address)
{
	const struct hw_branches_boot_module *entry = left->module;
	int i;

	for (i = 0; i < HW_BRANCHES_BOOT_MODULES; i++, entry++) {
		/* No module is larger than the area of modules: the entry was overwritten. */
		if (entry->size > MODULES_END - MODULES_VADDR)
			continue;
		if (entry->start && address - entry->start < entry->size)
			return entry;
	}

	return NULL;
}

/*
 * If the previous boot had the same kernel, it may have been at another address. Translate only
 * addresses in the image of that kernel. The memory may contain anything: print any other address
 * as it is, even if it is in the image of this kernel. So the file does not tell where this kernel
 * is.
 */
static void hw_branches_boot_name(struct seq_file *m, u64 address)
{
	const struct hw_branches_boot_view *view = m->private;
	const struct hw_branches_boot_head *left = view->left;
	const struct hw_branches_boot_module *module;
	u64 offset = address - left->text;
	unsigned long here = (unsigned long)_stext + offset;
	bool in_image = hw_branches_boot_same && offset < left->end - left->text;

	module = hw_branches_boot_find_module(left, address);
	if (address == HW_BRANCH_USER)
		seq_puts(m, "user mode");
	else if (in_image && core_kernel_text(here))
		seq_printf(m, "%pS", (void *)here);
	else if (in_image)
		/* For example in data, or in init text that is freed */
		seq_printf(m, "_stext+%#llx", offset);
	else if (module)
		seq_printf(m, "%#llx [%*pE]", address - module->start,
			   (int)strnlen(module->name, sizeof(module->name)), module->name);
	else
		seq_printf(m, "%#llx", address);
}

static int hw_branches_boot_show(struct seq_file *m, void *v)
{
	const struct hw_branches_boot_view *view = m->private;
	const struct hw_branches_boot_head *left = view->left;
	u32 nr = *(loff_t *)v % HW_BRANCHES_BOOT_LINES;
	const struct hw_branch *branch;

	if (!nr) {
		seq_printf(m, "Last branches of CPU %d before the boot, newest first, %u follow, ",
			   view->cpu, view->nr);
		seq_printf(m, "source %s%s, kernel %*phN", view->source,
			   hw_branches_source_mark(view->source), BUILD_ID_SIZE_MAX,
			   left->build_id);
		/* If both boots had the same kernel, it may be at the same address: hide that. */
		if (!hw_branches_boot_same)
			seq_printf(m, " at %#llx", left->text);
		seq_puts(m, ":\n");
		return 0;
	}
	branch = &view->branch[nr - 1];
	seq_printf(m, " %3d ", view->cpu);
	if (!branch->from && !branch->to) {
		seq_puts(m, "-- some are missing here --\n");
		return 0;
	}
	hw_branches_boot_name(m, branch->to);
	seq_puts(m, " <- ");
	hw_branches_boot_name(m, branch->from);
	seq_putc(m, '\n');

	return 0;
}

static const struct seq_operations hw_branches_boot_seq_ops = {
	.start	= hw_branches_boot_start,
	.next	= hw_branches_boot_next,
	.stop	= hw_branches_boot_stop,
	.show	= hw_branches_boot_show,
};

static int hw_branches_boot_open(struct inode *inode, struct file *file)
{
	struct hw_branches_boot_view *view;
	int err;

	err = tracing_check_open_get_tr(NULL);
	if (err)
		return err;

	view = kvzalloc(struct_size(view, branch, arch_hw_branches_boot_most()), GFP_KERNEL);
	if (!view)
		return -ENOMEM;
	err = seq_open(file, &hw_branches_boot_seq_ops);
	if (err) {
		kvfree(view);
		return err;
	}
	view->cpu = -1;
	scoped_guard(mutex, &hw_branches_boot_mutex)
		swap(view->left, hw_branches_boot_left);
	((struct seq_file *)file->private_data)->private = view;

	return 0;
}

static int hw_branches_boot_release(struct inode *inode, struct file *file)
{
	struct hw_branches_boot_view *view = ((struct seq_file *)file->private_data)->private;

	kvfree_sensitive(view->left, hw_branches_boot_whole(view->left));
	kvfree_sensitive(view, struct_size(view, branch, arch_hw_branches_boot_most()));

	return seq_release(inode, file);
}

static const struct file_operations hw_branches_boot_fops = {
	.open		= hw_branches_boot_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= hw_branches_boot_release,
};

static int __init hw_branches_boot_init(void)
{
	if (!hw_branches_boot_memory)
		return 0;

	/* If the kernel is locked down, for example, there is no directory. */
	if (hw_branches_dir)
		trace_create_file("last_boot", TRACE_MODE_READ, hw_branches_dir, NULL,
				  &hw_branches_boot_fops);

	return 0;
}
late_initcall(hw_branches_boot_init);
