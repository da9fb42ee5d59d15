// SPDX-License-Identifier: GPL-2.0
/*
 * The kit's device. It claims BTS from the first experiment until its file is closed, so that
 * neither perf nor a branch trace uses BTS meanwhile. This module uses symbols that the kernel does
 * not export to modules, and is only for the image that "vmtest.sh image" makes.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/intel_ds.h>

#include "internal.h"
#include "lookup.h"

struct lab_kernel lab_kernel;

static lookup_func lookup;
static DEFINE_MUTEX(lab_mutex);

void *lab_symbol(const char *name)
{
	return (void *)lookup(name);
}

static int find_symbols(void)
{
	struct lab_kernel *k = &lab_kernel;
	struct apic **driver;

	lookup = find_lookup();
	if (!lookup)
		return -ENOENT;

	driver = lab_symbol("apic");
	k->claim = lab_symbol("ds_claim_bts");
	k->unclaim = lab_symbol("ds_unclaim_bts");
	k->write = lab_symbol("ds_bts_write");
	k->store = lab_symbol("ds_store");
	k->buffer = lab_symbol("ds_bts_buffer");
	k->layout = lab_symbol("ds_layout");
	k->shift = lab_symbol("debugctl_bts_shift");
	k->nmi_entry = (unsigned long)lab_symbol("asm_exc_nmi");
	k->debug_entry = (unsigned long)lab_symbol("asm_exc_debug");
	if (!driver || !k->claim || !k->unclaim || !k->write || !k->store || !k->buffer ||
	    !k->layout || !k->shift || !k->nmi_entry || !k->debug_entry)
		return -ENOENT;
	k->apic = *driver;
	return 0;
}

u64 lab_bts_bits(u64 bits)
{
	return bits >> *lab_kernel.shift;
}

u32 lab_record_size(void)
{
	return lab_kernel.layout->record;
}

static void set_field(enum ds_field field, u64 val)
{
	ds_set_word(lab_kernel.store(smp_processor_id()), ds_word_nr(DS_BTS, field),
		    lab_kernel.layout->field, val);
}

void lab_reset_store(u32 room, u32 threshold, u32 index)
{
	void *buffer = lab_kernel.buffer(smp_processor_id());
	unsigned long base = (unsigned long)buffer;

	memset(buffer, 0, BTS_BUFFER_SIZE);
	set_field(DS_BASE, base);
	set_field(DS_INDEX, base + index);
	set_field(DS_MAXIMUM, base + room * lab_record_size());
	set_field(DS_THRESHOLD, base + threshold);
}

/* Let the next record be the first one of the buffer. */
void lab_empty(void)
{
	set_field(DS_INDEX, (unsigned long)lab_kernel.buffer(smp_processor_id()));
}

u64 lab_word(u32 i, u32 nr)
{
	void *buffer = lab_kernel.buffer(smp_processor_id());

	return ds_word(buffer + i * lab_record_size(), nr, lab_kernel.layout->field);
}

u32 lab_bytes(void)
{
	unsigned int cpu = smp_processor_id();

	return ds_word(lab_kernel.store(cpu), ds_word_nr(DS_BTS, DS_INDEX),
		       lab_kernel.layout->field) - (unsigned long)lab_kernel.buffer(cpu);
}

static int run_ioctl(void __user *arg)
{
	struct kit_run run;
	int err;

	if (copy_from_user(&run, arg, sizeof(run)))
		return -EFAULT;
	err = lab_run(&run);
	if (err)
		return err;
	return copy_to_user(arg, &run, sizeof(run)) ? -EFAULT : 0;
}

static int look_ioctl(void __user *arg)
{
	struct kit_filter found = { }, in;
	int err;

	if (copy_from_user(&in, arg, sizeof(in)))
		return -EFAULT;
	found.after = in.after;
	err = lab_filter_look(&found);
	if (err)
		return err;
	return copy_to_user(arg, &found, sizeof(found)) ? -EFAULT : 0;
}

static long lab_request(unsigned int cmd, void __user *arg)
{
	u32 off;

	switch (cmd) {
	case KIT_LAB_RUN:
		return run_ioctl(arg);
	case KIT_LAB_FILTER:
		if (copy_from_user(&off, arg, sizeof(off)))
			return -EFAULT;
		return lab_filter_start(off);
	case KIT_LAB_LOOK:
		return look_ioctl(arg);
	case KIT_LAB_UNITS:
		return lab_units();
	}
	return -ENOTTY;
}

static bool claimed;

static long lab_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	int err;

	guard(mutex)(&lab_mutex);
	if (!claimed && cmd != KIT_LAB_UNITS) {
		err = lab_kernel.claim(NULL);
		if (err)
			return err;
		claimed = true;
	}
	return lab_request(cmd, (void __user *)arg);
}

static int lab_release(struct inode *inode, struct file *file)
{
	guard(mutex)(&lab_mutex);
	if (claimed)
		lab_kernel.unclaim();
	claimed = false;
	return 0;
}

static const struct file_operations lab_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= lab_ioctl,
	.release	= lab_release,
};

static struct miscdevice lab_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "kit_lab",
	.mode	= 0600,
	.fops	= &lab_fops,
};

static int __init lab_init(void)
{
	int err = find_symbols() ?: lab_record_init();

	if (err)
		return err;
	err = misc_register(&lab_device);
	if (err)
		lab_record_exit();
	return err;
}

static void __exit lab_exit(void)
{
	misc_deregister(&lab_device);
	lab_record_exit();
}

module_init(lab_init);
module_exit(lab_exit);

MODULE_DESCRIPTION("Experiments with the Debug Store, for the image of vmtest.sh");
MODULE_LICENSE("GPL");
