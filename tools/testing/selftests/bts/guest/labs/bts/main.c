// SPDX-License-Identifier: GPL-2.0
/* The device /dev/bts_lab. This module is for tests only. */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/msr.h>

#include "bts_internal.h"
#include "lab_internal.h"
#include "lookup.h"

#define BOUNCE	512

/* About the number of branches that lab_nmi() takes in each NMI. */
static int nmi_branches;

static int lab_nmi(unsigned int cmd, struct pt_regs *regs)
{
	int left = READ_ONCE(nmi_branches);

	while (left-- > 0)
		barrier();
	return NMI_DONE;
}

static int register_nmi(void)
{
	return register_nmi_handler(NMI_LOCAL, lab_nmi, 0, "bts_lab");
}

/* Register lab_nmi() again, so that it runs after bts_ds_last_nmi(), if that is registered. */
static int set_nmi_branches(const char *val, const struct kernel_param *kp)
{
	int err = param_set_int(val, kp);

	if (err)
		return err;
	unregister_nmi_handler(NMI_LOCAL, "bts_lab");

	return register_nmi();
}

static const struct kernel_param_ops nmi_branches_ops = {
	.set	= set_nmi_branches,
	.get	= param_get_int,
};
module_param_cb(nmi_branches, &nmi_branches_ops, &nmi_branches, 0600);

static int find_symbols(void)
{
	lookup_func lookup = find_lookup();

	if (!lookup)
		return -ENOENT;

	lab_look_symbols.source = (void *)lookup("bts_source");
	lab_look_symbols.hold = (void *)lookup("bts_hold");
	lab_look_symbols.release = (void *)lookup("bts_release");
	lab_look_symbols.last = (void *)lookup("bts_flight_last");
	lab_look_symbols.peek = (void *)lookup("ds_bts_peek");
	return lab_look_symbols.source && lab_look_symbols.hold && lab_look_symbols.release &&
	       lab_look_symbols.last && lab_look_symbols.peek ? 0 : -ENOENT;
}

static int lab_config(struct lab_file *lab, const void __user *arg)
{
	struct lab_config config;
	struct x86_bts_record *saved;

	if (copy_from_user(&config, arg, sizeof(config)))
		return -EFAULT;
	if (lab->ctx)
		return -EBUSY;
	saved = __vmalloc_array(config.room + 1, sizeof(*saved), GFP_KERNEL);
	if (!saved)
		return -ENOMEM;
	vfree(lab->saved);
	lab->saved = saved;
	lab->nr_saved = 0;
	lab->read = 0;
	lab->config = config;
	memset(&lab->last, 0, sizeof(lab->last));
	atomic_set(&lab->calls, 0);
	return 0;
}

static int lab_get(struct lab_file *lab, struct lab_get __user *arg)
{
	const struct x86_bts_record *run;
	struct x86_bts_record rec;
	struct bts_status status;
	u64 index, seq;

	if (!lab->ctx)
		return -ENXIO;
	if (get_user(index, &arg->index))
		return -EFAULT;
	bts_status(lab->ctx, &status);
	if (index >= status.held)
		return -EINVAL;
	seq = status.next - 1 - index;
	if (bts_peek(lab->ctx, &seq, &run) <= 0)
		return -EINVAL;
	rec = *run;
	return copy_to_user(&arg->rec, &rec, sizeof(rec)) ? -EFAULT : 0;
}

static int lab_put_status(struct lab_file *lab, void __user *arg)
{
	struct lab_status status;

	lab_status(lab, &status);
	return copy_to_user(arg, &status, sizeof(status)) ? -EFAULT : 0;
}

/* Returns by which factor lockdep, KASAN or KCSAN may multiply branches, or 1 without them. */
static u32 lab_weight(void)
{
	return IS_ENABLED(CONFIG_PROVE_LOCKING) || IS_ENABLED(CONFIG_KASAN) ||
	       IS_ENABLED(CONFIG_KCSAN) ? 16 : 1;
}

static int lab_put_cpu(void __user *arg)
{
	struct lab_cpu cpu = {
		.context_size = sizeof(struct bts_context) + sizeof(struct bts_task),
		.weight = lab_weight(),
	};
	unsigned long flags;

	local_irq_save(flags);
	rdmsrq(MSR_IA32_DEBUGCTLMSR, cpu.debugctl);
	cpu.cpu = smp_processor_id();
	local_irq_restore(flags);
	return copy_to_user(arg, &cpu, sizeof(cpu)) ? -EFAULT : 0;
}

static DECLARE_COMPLETION(napped);

static void end_nap(struct timer_list *unused)
{
	complete(&napped);
}

static DEFINE_TIMER(nap_timer, end_nap);

/* Sleep for 20 ms. On PREEMPT_RT, timers of a CPU that goes down do not run: use CPU 0's. */
static void nap(void)
{
	nap_timer.expires = jiffies + msecs_to_jiffies(20);
	add_timer_on(&nap_timer, 0);
	wait_for_completion(&napped);
	/* end_nap() may still be running: wait for its end before the timer is used again. */
	timer_delete_sync(&nap_timer);
}

/*
 * Wait until the caller's CPU begins to go offline, and delay that by 0.3 s: migration is disabled
 * meanwhile. Returns -ETIMEDOUT if the CPU stays online for 20 seconds. Not for CPU 0, whose timer
 * wakes nap().
 */
static int lab_stay(void)
{
	int naps = 1000, more = 15;

	migrate_disable();
	while (naps-- && cpu_active(smp_processor_id()))
		nap();
	while (more--)
		nap();
	migrate_enable();
	return naps < 0 ? -ETIMEDOUT : 0;
}

static long lab_request(struct lab_file *lab, unsigned int cmd, unsigned long arg)
{
	u32 freezes;

	switch (cmd) {
	case LAB_START:
		return lab_start(lab);
	case LAB_END:
		return lab_end(lab);
	case LAB_CONFIG:
		return lab_config(lab, (void __user *)arg);
	case LAB_DESTROY:
		return lab_destroy(lab);
	case LAB_STATUS:
		return lab_put_status(lab, (void __user *)arg);
	case LAB_GET:
		return lab_get(lab, (void __user *)arg);
	case LAB_CLEAR:
		if (!lab->ctx)
			return -ENXIO;
		bts_clear(lab->ctx);
		return 0;
	case LAB_FLUSH:
		return bts_flush_cpu(arg);
	case LAB_FREEZE:
		bts_freeze_all(false);
		return 0;
	case LAB_UNFREEZE:
		freezes = bts_freezes();
		if (arg == LAB_OVERTAKEN)
			bts_freeze_all(false);
		else if (arg == LAB_LATE)
			bts_unfreeze_all(freezes--);
		bts_unfreeze_all(freezes);
		return 0;
	case LAB_READ_CPU:
		return lab_put_cpu((void __user *)arg);
	case LAB_STAY:
		return lab_stay();
	case LAB_LOOK:
		return lab_look(lab);
	case LAB_STALE:
		return lab_stale();
	}
	return -ENOTTY;
}

static long lab_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct lab_file *lab = file->private_data;

	guard(mutex)(&lab->mutex);
	return lab_request(lab, cmd, arg);
}

static ssize_t lab_do_read(struct lab_file *lab, char __user *buf, size_t size)
{
	struct x86_bts_record *bounce = kmalloc_array(BOUNCE, sizeof(*bounce), GFP_KERNEL);
	size_t done = 0;
	int n, want;

	if (!bounce)
		return -ENOMEM;
	/*
	 * Reading adds records if the kernel is recorded, so the ring may never get empty: stop
	 * after a read that returns fewer records than were asked for.
	 */
	do {
		want = min_t(size_t, BOUNCE, (size - done) / sizeof(*bounce));
		n = lab_read(lab, bounce, want);
		if (n > 0 && copy_to_user(buf + done, bounce, n * sizeof(*bounce)))
			n = -EFAULT;
		if (n > 0)
			done += n * sizeof(*bounce);
	} while (n > 0 && n == want);
	kfree(bounce);
	return done ?: n;
}

static ssize_t lab_file_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct lab_file *lab = file->private_data;

	guard(mutex)(&lab->mutex);
	return lab_do_read(lab, buf, size);
}

static int lab_open(struct inode *inode, struct file *file)
{
	struct lab_file *lab = kzalloc(sizeof(*lab), GFP_KERNEL);

	if (!lab)
		return -ENOMEM;
	mutex_init(&lab->mutex);
	file->private_data = lab;
	return 0;
}

static int lab_release(struct inode *inode, struct file *file)
{
	struct lab_file *lab = file->private_data;
	int err = lab_destroy(lab);

	if (err && err != -ENXIO) {
		pr_warn("bts_lab: a context is left behind: %d\n", err);
		return 0;
	}
	vfree(lab->saved);
	kfree(lab);
	return 0;
}

static const struct file_operations lab_fops = {
	.owner		= THIS_MODULE,
	.open		= lab_open,
	.release	= lab_release,
	.read		= lab_file_read,
	.unlocked_ioctl	= lab_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice lab_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "bts_lab",
	.mode	= 0666,
	.fops	= &lab_fops,
};

static int __init lab_init(void)
{
	int err = find_symbols() ?: register_nmi();

	if (err)
		return err;
	err = misc_register(&lab_device);
	if (err)
		unregister_nmi_handler(NMI_LOCAL, "bts_lab");
	return err;
}

static void __exit lab_exit(void)
{
	misc_deregister(&lab_device);
	unregister_nmi_handler(NMI_LOCAL, "bts_lab");
}

module_init(lab_init);
module_exit(lab_exit);

MODULE_DESCRIPTION("Branch traces for the test bench");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("GPL");
