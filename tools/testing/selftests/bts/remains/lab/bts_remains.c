// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter `how` selects what this module does when it is loaded:
 *
 *   panic, init, triple	end the kernel at once
 *   shutdown			end the kernel later, in the next orderly reboot
 *   head, body, records	write random bytes to the flight recorder's reserved memory
 *   data			fill CPU 0's buffer there with branches from and to init_task
 */
#include <linux/compiler.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/random.h>
#include <linux/reboot.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include <asm/desc_defs.h>

static char *how = "";
module_param(how, charp, 0400);

/* Hide the count from the compiler, which could optimize the branches away. */
static noinline __noclone int bts_remains_work(int n)
{
	int i, sum = 0;

	OPTIMIZER_HIDE_VAR(n);
	for (i = 0; i < n; i++) {
		barrier();
		OPTIMIZER_HIDE_VAR(i);
		sum += i;
	}
	return sum;
}

static noinline void bts_remains_panic(void)
{
	local_irq_disable();
	bts_remains_work(5);
	panic("as asked for by a test");
}

/* This function is in .init.text. Its addresses are recorded before the panic. */
static noinline int __init bts_remains_init_work(void)
{
	bts_remains_panic();
	return bts_remains_work(5);
}

/* Panic in an orderly reboot, after the other notifiers. */
static int bts_remains_reboot(struct notifier_block *self, unsigned long event, void *data)
{
	bts_remains_panic();
	return NOTIFY_DONE;
}

static struct notifier_block bts_remains_notifier = {
	.notifier_call	= bts_remains_reboot,
	.priority	= INT_MIN,
};

/* Without an IDT, any exception becomes a triple fault. */
static noinline void bts_remains_triple(void)
{
	const struct desc_ptr none = { };

	local_irq_disable();
	bts_remains_work(5);
	asm volatile("lidt %0\n\tint3" : : "m" (none));
}

/*
 * The layout of the reserved memory: a head with a checksum (up to HEAD), the list of modules (up
 * to MODULES), and for each CPU its LBRs, its Debug Store area and its buffer.
 */
#define HEAD		64
#define MODULES		(4 * PAGE_SIZE)
#define LBRS_AND_STORE	(2 * PAGE_SIZE)
#define BUFFER		SZ_64K

static int bts_remains_scribble(size_t from, size_t to)
{
	phys_addr_t start, size;

	if (!reserve_mem_find_by_name("hw_branches", &start, &size) || size < to)
		return -ENODEV;
	get_random_bytes(phys_to_virt(start) + from, to - from);
	return 0;
}

/* Leave the head and CPU 0's Debug Store area valid, so that the next boot reads CPU 0's buffer. */
static int bts_remains_scribble_records(void)
{
	return bts_remains_scribble(HEAD, MODULES) ?:
	       bts_remains_scribble(MODULES + LBRS_AND_STORE, MODULES + LBRS_AND_STORE + BUFFER);
}

/* Fill CPU 0's buffer with records that have addresses of the kernel's data. */
static int bts_remains_data(void)
{
	const u64 record[3] = { (unsigned long)&init_task, (unsigned long)&init_task, };
	phys_addr_t start, size;
	size_t at;

	if (!reserve_mem_find_by_name("hw_branches", &start, &size) ||
	    size < MODULES + LBRS_AND_STORE + BUFFER)
		return -ENODEV;
	for (at = 0; at + sizeof(record) <= BUFFER; at += sizeof(record))
		memcpy(phys_to_virt(start) + MODULES + LBRS_AND_STORE + at, record, sizeof(record));
	return 0;
}

static int __init bts_remains_init(void)
{
	if (!strcmp(how, "panic"))
		bts_remains_panic();
	else if (!strcmp(how, "init"))
		return bts_remains_init_work();
	else if (!strcmp(how, "shutdown"))
		return register_reboot_notifier(&bts_remains_notifier);
	else if (!strcmp(how, "triple"))
		bts_remains_triple();
	else if (!strcmp(how, "head"))
		return bts_remains_scribble(0, HEAD);
	else if (!strcmp(how, "body"))
		return bts_remains_scribble(HEAD, MODULES + 2 * (LBRS_AND_STORE + BUFFER));
	else if (!strcmp(how, "records"))
		return bts_remains_scribble_records();
	else if (!strcmp(how, "data"))
		return bts_remains_data();
	return -EINVAL;
}

static void __exit bts_remains_exit(void)
{
}

module_init(bts_remains_init);
module_exit(bts_remains_exit);
MODULE_DESCRIPTION("Ends of the kernel for tests of the branch flight recorder");
MODULE_LICENSE("GPL");
