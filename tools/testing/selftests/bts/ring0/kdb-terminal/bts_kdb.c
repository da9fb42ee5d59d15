// SPDX-License-Identifier: GPL-2.0
/*
 * A terminal for kdb without a user. When kdb is entered next, it reads what was written to
 * /dev/bts_kdb, and then 'go' again and again. Reading /dev/bts_kdb returns what kdb has printed
 * since the write, up to 64 KiB.
 */
#include <linux/fs.h>
#include <linux/kgdb.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/serial_core.h>
#include <linux/uaccess.h>

static const char leave[] = "go\n";

static char typed[128];
static size_t nr_typed, nr_read;

static char shown[1 << 16];
static size_t nr_shown;

/* Before each key, report once that there is none: kdb_input_flush() reads keys until then. */
static int terminal_read_char(void)
{
	static bool none;
	size_t at;

	none = !none;
	if (none)
		return NO_POLL_CHAR;
	at = nr_read++;
	return at < nr_typed ? typed[at] : leave[(at - nr_typed) % strlen(leave)];
}

static void terminal_write_char(u8 c)
{
	if (nr_shown < sizeof(shown))
		shown[nr_shown++] = c;
}

static struct kgdb_io terminal_io = {
	.name		= "bts_kdb",
	.read_char	= terminal_read_char,
	.write_char	= terminal_write_char,
};

static ssize_t terminal_write(struct file *file, const char __user *buf, size_t size,
			      loff_t *pos)
{
	if (size > sizeof(typed))
		return -EINVAL;
	if (copy_from_user(typed, buf, size))
		return -EFAULT;
	nr_typed = size;
	nr_read = 0;
	nr_shown = 0;
	return size;
}

static ssize_t terminal_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	return simple_read_from_buffer(buf, size, pos, shown, nr_shown);
}

static const struct file_operations terminal_fops = {
	.owner	= THIS_MODULE,
	.read	= terminal_read,
	.write	= terminal_write,
};

static struct miscdevice terminal_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "bts_kdb",
	.mode	= 0600,
	.fops	= &terminal_fops,
};

static int __init terminal_init(void)
{
	int err = kgdb_register_io_module(&terminal_io);

	if (err)
		return err;
	err = misc_register(&terminal_device);
	if (err)
		kgdb_unregister_io_module(&terminal_io);
	return err;
}

static void __exit terminal_exit(void)
{
	misc_deregister(&terminal_device);
	kgdb_unregister_io_module(&terminal_io);
}

module_init(terminal_init);
module_exit(terminal_exit);

MODULE_DESCRIPTION("A scripted terminal for kdb");
MODULE_LICENSE("GPL");
