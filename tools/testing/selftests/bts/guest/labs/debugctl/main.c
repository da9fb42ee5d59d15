// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/debugctl_lab. This module is for tests only: it looks up symbols that the kernel does
 * not export. The module builds against a stock kernel, too.
 */
#include <linux/hw_breakpoint.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>

#include <asm/apic.h>

#include "internal.h"
#include "lookup.h"

static lookup_func lookup;
static int (*lookup_size)(unsigned long addr, unsigned long *size, unsigned long *offset);
static struct apic *apic_driver;
static DEFINE_MUTEX(lab_mutex);
static unsigned long watched;

void *lab_symbol(const char *name)
{
	return (void *)lookup(name);
}

bool lab_symbol_size(void *addr, unsigned long *size)
{
	unsigned long offset;

	return lookup_size((unsigned long)addr, size, &offset);
}

void lab_send_nmi(unsigned int cpu)
{
	apic_driver->send_IPI(cpu, NMI_VECTOR);
}

static int find_symbols(void)
{
	struct apic **driver;

	lookup = find_lookup();
	if (!lookup)
		return -ENOENT;

	lookup_size = lab_symbol("kallsyms_lookup_size_offset");
	driver = lab_symbol("apic");
	if (!lookup_size || !driver)
		return -ENOENT;
	apic_driver = *driver;
	return 0;
}

static void fill_state(struct lab_state *state)
{
	unsigned long flags;

	local_irq_save(flags);
	state->msr = lab_msr();
	state->copy = lab_copy();
	state->cpu = smp_processor_id();
	local_irq_restore(flags);
	state->has_copy = LAB_HAS_COPY;
}

static void watch_hit(struct perf_event *bp, struct perf_sample_data *data, struct pt_regs *regs)
{
}

static int watch(void)
{
	struct perf_event * __percpu *bp;
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;
	bp = register_wide_hw_breakpoint(&attr, watch_hit, NULL);
	if (IS_ERR_PCPU(bp))
		return PTR_ERR_PCPU(bp);
	WRITE_ONCE(watched, watched + 1);
	unregister_wide_hw_breakpoint(bp);
	return 0;
}

static int set_lbr(const void __user *arg)
{
	unsigned long flags;
	u32 on;

	if (copy_from_user(&on, arg, sizeof(on)))
		return -EFAULT;
	local_irq_save(flags);
	lab_write_lbr(on);
	local_irq_restore(flags);
	return 0;
}

static long lab_request(unsigned int cmd, void __user *arg)
{
	union {
		struct lab_state state;
		struct lab_window window;
		struct lab_storm storm;
		struct lab_report report;
		u32 hits;
		u32 order;
	} u;

	switch (cmd) {
	case LAB_READ:
		fill_state(&u.state);
		return copy_to_user(arg, &u.state, sizeof(u.state)) ? -EFAULT : 0;
	case LAB_SET_LBR:
		return set_lbr(arg);
	case LAB_OPEN_WINDOW:
		if (copy_from_user(&u.window, arg, sizeof(u.window)))
			return -EFAULT;
		return lab_window_open(&u.window);
	case LAB_WINDOW_HITS:
		u.hits = lab_window_close();
		return copy_to_user(arg, &u.hits, sizeof(u.hits)) ? -EFAULT : 0;
	case LAB_STORM:
		if (copy_from_user(&u.storm, arg, sizeof(u.storm)))
			return -EFAULT;
		lab_storm_start(&u.storm);
		return 0;
	case LAB_REPORT:
		lab_storm_stop(&u.report);
		return copy_to_user(arg, &u.report, sizeof(u.report)) ? -EFAULT : 0;
	case LAB_WATCH:
		return watch();
	case LAB_REFUSE:
		if (copy_from_user(&u.order, arg, sizeof(u.order)))
			return -EFAULT;
		return lab_refuse(u.order);
	}
	return -ENOTTY;
}

static long lab_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	guard(mutex)(&lab_mutex);
	return lab_request(cmd, (void __user *)arg);
}

static const struct file_operations lab_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= lab_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice lab_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "debugctl_lab",
	.fops	= &lab_fops,
};

static int __init lab_init(void)
{
	int err = find_symbols();

	if (err)
		return err;
	err = lab_storm_init();
	if (err)
		return err;
	err = misc_register(&lab_device);
	if (err)
		lab_storm_exit();
	return err;
}

static void __exit lab_exit(void)
{
	misc_deregister(&lab_device);
	lab_window_close();
	lab_refuse(0);
	lab_storm_exit();
}

module_init(lab_init);
module_exit(lab_exit);

MODULE_DESCRIPTION("Looks at DEBUGCTL from inside, for the test bench");
MODULE_LICENSE("GPL");
