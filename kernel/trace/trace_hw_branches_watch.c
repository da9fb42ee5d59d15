// SPDX-License-Identifier: GPL-2.0
/*
 * Watchpoints that show the branches before an access: hw_branches/watch
 *
 *   echo '[MODULE:]SYMBOL[+OFFSET]|0xADDRESS[:1|2|4|8][:w|rw][:freeze]' > watch
 *   echo > watch
 *
 * The first line sets the watchpoint, the second one removes it. At an access to the memory, a
 * hardware breakpoint freezes the branch flight recorder. Then a work prints to the log the
 * branches that led to the access, the newest first, and after them those of the other CPUs. After
 * that, the work undoes the freeze; with 'freeze', the recorder stays frozen. A hit is ignored
 * while the recorder is off or frozen, or while an earlier hit is printed. Without 'freeze', at
 * most DEFAULT_RATELIMIT_BURST hits are printed in DEFAULT_RATELIMIT_INTERVAL.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/ctype.h>
#include <linux/hw_breakpoint.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <asm/sections.h>

#include "trace.h"
#include "trace_hw_branches.h"

/**
 * struct hw_branches_watch - a watchpoint
 * @attr:	the attributes of the breakpoint
 * @events:	the breakpoint on each CPU; NULL if the CPU is offline, or if setting it failed when
 *		the CPU came online
 * @module:	the module that the address is in, or NULL
 * @freeze:	leave the recorder frozen after a hit
 * @limit:	the rate limit of hits, used without @freeze
 * @text:	the text that was written to the file
 */
struct hw_branches_watch {
	struct perf_event_attr	attr;
	struct perf_event * __percpu *events;
	struct module		*module;
	bool			freeze;
	struct ratelimit_state	limit;
	char			text[KSYM_NAME_LEN];
};

static DEFINE_MUTEX(hw_branches_watch_mutex);
static struct hw_branches_watch *hw_branches_watching;

/*
 * The CPU and the instruction pointer of the hit that is being printed. If hw_branches_hit_taken is
 * 0, there is none. If it is 1, further hits are ignored.
 */
static atomic_t hw_branches_hit_taken;
static int hw_branches_hit_cpu;
static unsigned long hw_branches_hit_ip;

/*
 * Hits
 */

static void hw_branches_show_hit(void)
{
	struct hw_branches_match top = { .from = hw_branches_hit_ip };
	int cpu = hw_branches_hit_cpu;

	pr_info("watch hit on CPU %d, by the instruction before %pS\n", cpu, (void *)top.from);
	hw_branches_dump(hw_branches_log, cpu, hw_branches_count_newer(cpu, top));
}

static void hw_branches_hit_work(struct work_struct *work)
{
	hw_branches_show(hw_branches_show_hit);
	atomic_set_release(&hw_branches_hit_taken, 0);
}

static DECLARE_WORK(hw_branches_hit, hw_branches_hit_work);

static void hw_branches_hit_irq(struct irq_work *work)
{
	queue_work(system_dfl_wq, &hw_branches_hit);
}

static struct irq_work hw_branches_hit_irq_work = IRQ_WORK_INIT_HARD(hw_branches_hit_irq);

/* Called in the #DB handler. The interrupted code may hold locks, so a work prints the hit. */
static void hw_branches_hit_handler(struct perf_event *event, struct perf_sample_data *data,
				    struct pt_regs *regs)
{
	struct hw_branches_watch *watch = event->overflow_handler_context;
	int cpu = smp_processor_id();

	if (!READ_ONCE(hw_branches_on) || arch_hw_branches_frozen(cpu))
		return;
	if (atomic_cmpxchg_acquire(&hw_branches_hit_taken, 0, 1))
		return;
	if (!watch->freeze && !__ratelimit(&watch->limit)) {
		atomic_set_release(&hw_branches_hit_taken, 0);
		return;
	}

	if (watch->freeze)
		hw_branches_keep_frozen(true);
	/* hw_branches_hit_work() undoes this after it has printed the hit. */
	hw_branches_freeze_to_read();
	hw_branches_hit_cpu = cpu;
	hw_branches_hit_ip = instruction_pointer(regs);
	irq_work_queue(&hw_branches_hit_irq_work);
}

/*
 * Setting and removing the breakpoints
 */

static int hw_branches_arm_cpu(struct hw_branches_watch *watch, int cpu)
{
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&watch->attr, cpu, NULL,
						 hw_branches_hit_handler, watch);
	if (IS_ERR(event))
		return PTR_ERR(event);
	*per_cpu_ptr(watch->events, cpu) = event;

	return 0;
}

static void hw_branches_disarm_cpu(struct hw_branches_watch *watch, int cpu)
{
	struct perf_event **event = per_cpu_ptr(watch->events, cpu);

	if (*event)
		perf_event_release_kernel(*event);
	*event = NULL;
}

static void hw_branches_free_watch(struct hw_branches_watch *watch)
{
	int cpu;

	if (watch->events) {
		for_each_possible_cpu(cpu)
			hw_branches_disarm_cpu(watch, cpu);
		free_percpu(watch->events);
	}
	module_put(watch->module);
	kfree(watch);
}

static int hw_branches_arm(struct hw_branches_watch *watch)
{
	int cpu, err = 0;

	lockdep_assert_cpus_held();

	watch->events = alloc_percpu(struct perf_event *);
	if (!watch->events)
		return -ENOMEM;
	for_each_online_cpu(cpu) {
		err = hw_branches_arm_cpu(watch, cpu);
		if (err)
			break;
	}

	return err;
}

static void hw_branches_end_watch(void)
{
	lockdep_assert_held(&hw_branches_watch_mutex);

	if (!hw_branches_watching)
		return;

	hw_branches_free_watch(hw_branches_watching);
	hw_branches_watching = NULL;
}

/*
 * Wait until the last hit of a watchpoint that was removed has been printed. Until then, the hits
 * of the next watchpoint are ignored. Called without hw_branches_watch_mutex: hw_branches_show()
 * takes hw_branches_mutex, whose holder may wait for CPU hotplug, which may wait for
 * hw_branches_watch_mutex.
 */
static void hw_branches_flush_hits(void)
{
	irq_work_sync(&hw_branches_hit_irq_work);
	flush_work(&hw_branches_hit);
}

/* Set the breakpoint on this CPU. If that fails, the CPU comes online without it. */
static int hw_branches_cpu_online(unsigned int cpu)
{
	struct hw_branches_watch *watch;

	guard(mutex)(&hw_branches_watch_mutex);

	watch = hw_branches_watching;
	if (watch && hw_branches_arm_cpu(watch, cpu))
		pr_warn("%s is not watched on CPU %u: no breakpoint left there\n", watch->text,
			cpu);

	return 0;
}

static int hw_branches_cpu_offline(unsigned int cpu)
{
	guard(mutex)(&hw_branches_watch_mutex);

	if (hw_branches_watching)
		hw_branches_disarm_cpu(hw_branches_watching, cpu);

	return 0;
}

/*
 * The file
 */

static int hw_branches_count_symbol(void *data, unsigned long address)
{
	unsigned int *n = data;

	return ++*n > 1;
}

/*
 * Look up the address of a symbol. Refuse a name that several symbols of the kernel image have.
 * Refuse a per-CPU variable of a module: its address is an offset, not that of a copy. Per-CPU
 * variables of the kernel image are refused by hw_branches_parse_place().
 */
static int hw_branches_look_up(const char *name, unsigned long *address)
{
	unsigned int n = 0;

	*address = kallsyms_lookup_name(name);
	if (!*address)
		return -ENOENT;
	kallsyms_on_each_match_symbol(hw_branches_count_symbol, name, &n);
	if (n > 1)
		return -EADDRNOTAVAIL;
	if (n || is_module_address(*address))
		return 0;

	/* If the symbol is gone, the module was unloaded meanwhile. */
	return kallsyms_lookup_name(name) ? -EFAULT : -ENOENT;
}

/*
 * Parse [MODULE:]SYMBOL[+OFFSET] at the start of @text. Then move @text behind the ':' that
 * follows, or to NULL if none follows. The part before the first ':' is MODULE if it contains no
 * '+' and is not the name of a symbol.
 */
static int hw_branches_parse_symbol(char **text, unsigned long *address)
{
	char *name = *text, *end = name + strcspn(name, ":"), *plus;
	unsigned long offset = 0;
	char sep = *end;
	int err;

	*end = '\0';
	if (sep && !kallsyms_lookup_name(name) && !strchr(name, '+')) {
		*end = sep;
		end += 1 + strcspn(end + 1, ":");
		sep = *end;
		*end = '\0';
	}
	*text = sep ? end + 1 : NULL;

	plus = strchr(name, '+');
	if (plus)
		*plus++ = '\0';
	err = plus ? kstrtoul(plus, 0, &offset) : 0;
	if (!err)
		err = hw_branches_look_up(name, address);
	if (!err)
		*address += offset;

	return err;
}

#ifdef CONFIG_MODULES
/*
 * Keep the module that is watched from being unloaded. Refuse a module that is being loaded: if its
 * init function fails, the module is freed even if it is held. Refuse the memory that is freed
 * after that function has succeeded.
 */
static int hw_branches_hold_module(struct hw_branches_watch *watch)
{
	struct module *module;

	guard(rcu)();
	guard(preempt)();
	module = __module_address(watch->attr.bp_addr);
	if (!module)
		return 0;
	if (module->state == MODULE_STATE_COMING)
		return -EBUSY;
	if (within_module_init(watch->attr.bp_addr, module))
		return -EFAULT;
	if (!try_module_get(module))
		return -ENOENT;
	watch->module = module;

	return 0;
}
#else
static int hw_branches_hold_module(struct hw_branches_watch *watch)
{
	return 0;
}
#endif

static int hw_branches_parse_place(char **text, unsigned long *address)
{
	int err;

	if (isdigit(**text))
		err = kstrtoul(strsep(text, ":"), 0, address);
	else
		err = hw_branches_parse_symbol(text, address);
	if (err)
		return err;

	/*
	 * Refuse an address of user space: it means different memory in each process. Refuse the
	 * part of the kernel image that is freed after boot. With SMP, the symbol of a per-CPU
	 * variable of the image has an address in one of these ranges, and no CPU uses the memory
	 * there.
	 */
	if (*address < TASK_SIZE_MAX || init_section_contains((void *)*address, 1))
		return -EFAULT;

	return 0;
}

/*
 * Look up the address again: before hw_branches_hold_module(), the module may have been unloaded,
 * and another one loaded at the same address.
 */
static int hw_branches_check_place(const struct hw_branches_watch *watch)
{
	char *all __free(kfree) = kstrdup(watch->text, GFP_KERNEL), *text = all;
	unsigned long address;
	int err;

	if (!all)
		return -ENOMEM;
	err = hw_branches_parse_place(&text, &address);

	return err ?: address == watch->attr.bp_addr ? 0 : -ENOENT;
}

static int hw_branches_parse_how(struct hw_branches_watch *watch, const char *how)
{
	unsigned int len;

	if (!strcmp(how, "w")) {
		watch->attr.bp_type = HW_BREAKPOINT_W;
	} else if (!strcmp(how, "rw")) {
		watch->attr.bp_type = HW_BREAKPOINT_RW;
	} else if (!strcmp(how, "freeze")) {
		watch->freeze = true;
	} else {
		if (kstrtouint(how, 10, &len) || len > sizeof(u64) || !is_power_of_2(len))
			return -EINVAL;
		watch->attr.bp_len = len;
	}

	return 0;
}

static int hw_branches_parse_watch(struct hw_branches_watch *watch, char *text)
{
	unsigned long address;
	char *how;
	int err;

	hw_breakpoint_init(&watch->attr);
	watch->attr.bp_type = HW_BREAKPOINT_W;
	watch->attr.bp_len = sizeof(long);

	err = hw_branches_parse_place(&text, &address);
	if (!err)
		watch->attr.bp_addr = address;
	while (!err && (how = strsep(&text, ":")))
		err = hw_branches_parse_how(watch, how);

	return err;
}

static int hw_branches_set_watch(char *text)
{
	struct hw_branches_watch *watch;
	int err;

	watch = kzalloc_obj(*watch);
	if (!watch)
		return -ENOMEM;

	ratelimit_state_init(&watch->limit, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);
	/*
	 * Without this flag, __ratelimit() may print a message before the freeze, and the branches
	 * of the printing would be recorded.
	 */
	ratelimit_set_flags(&watch->limit, RATELIMIT_MSG_ON_RELEASE);
	strscpy(watch->text, text);

	guard(cpus_read_lock)();
	guard(mutex)(&hw_branches_watch_mutex);
	/* If the new watchpoint is refused, the old one stays. */
	err = hw_branches_parse_watch(watch, text) ?: hw_branches_hold_module(watch) ?:
	      hw_branches_check_place(watch) ?: hw_branches_arm(watch);
	if (err) {
		hw_branches_free_watch(watch);
		return err;
	}
	hw_branches_end_watch();
	hw_branches_watching = watch;

	return 0;
}

static ssize_t hw_branches_watch_write(struct file *file, const char __user *buf, size_t size,
				       loff_t *pos)
{
	char *all __free(kfree) = NULL, *text;
	int err = 0;

	if (size >= KSYM_NAME_LEN)
		return -E2BIG;
	all = memdup_user_nul(buf, size);
	if (IS_ERR(all))
		return PTR_ERR(all);

	text = strim(all);
	if (*text) {
		err = hw_branches_set_watch(text);
	} else {
		guard(mutex)(&hw_branches_watch_mutex);
		hw_branches_end_watch();
	}
	hw_branches_flush_hits();

	return err ?: size;
}

static int hw_branches_watch_show(struct seq_file *m, void *v)
{
	guard(mutex)(&hw_branches_watch_mutex);
	seq_printf(m, "%s\n", hw_branches_watching ? hw_branches_watching->text : "");

	return 0;
}

static int hw_branches_watch_open(struct inode *inode, struct file *file)
{
	return tracing_check_open_get_tr(NULL) ?:
	       single_open(file, hw_branches_watch_show, NULL);
}

static const struct file_operations hw_branches_watch_fops = {
	.open		= hw_branches_watch_open,
	.read		= seq_read,
	.write		= hw_branches_watch_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int __init hw_branches_watch_init(void)
{
	int ret;

	if (!hw_branches_dir)
		return 0;

	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "trace/hw_branches:online",
					hw_branches_cpu_online, hw_branches_cpu_offline);
	if (ret < 0)
		return ret;
	trace_create_file("watch", TRACE_MODE_WRITE, hw_branches_dir, NULL,
			  &hw_branches_watch_fops);

	return 0;
}
late_initcall(hw_branches_watch_init);
