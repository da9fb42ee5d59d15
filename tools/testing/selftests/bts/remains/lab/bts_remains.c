// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter `how` selects what this module does when it is loaded:
 *
 *   panic, init, triple	end the kernel at once
 *   shutdown			end the kernel later, in the next orderly reboot
 *   head, body, records	write random bytes to the flight recorder's reserved memory
 *   data			fill CPU 0's buffer there with branches from and to init_task
 *   module			the same, and claim that a module has all addresses
 *   end			the same, and claim that the image of the kernel was larger
 *   moved			the same, and claim that the kernel was at another address
 *   rest			write random bytes to the part of this memory that no CPU uses
 *   last			the same; and when the kernel is about to reset the machine, tell
 *				whether the branches are erased
 *   lbrs, free			test whether the LBRs of all CPUs in this memory, or the part that
 *				no CPU uses, are erased: then the error is ENODATA, else EBUSY
 */
#include <linux/compiler.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/jhash.h>
#include <linux/kprobes.h>
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
#define CPU_SIZE	(LBRS_AND_STORE + BUFFER)
#define TEXT_AT		24
#define END_AT		32
#define SUM_AT		60

struct bts_remains_area {
	void	*start;
	size_t	size;
};

static int bts_remains_find(struct bts_remains_area *area)
{
	phys_addr_t start, size;

	if (!reserve_mem_find_by_name("hw_branches", &start, &size))
		return -ENODEV;
	area->start = phys_to_virt(start);
	area->size = size;
	return 0;
}

/* Find the part of the reserved memory that no CPU uses: all of it, if it is too small. */
static int bts_remains_find_rest(struct bts_remains_area *area)
{
	size_t used = MODULES + nr_cpu_ids * CPU_SIZE;
	int err = bts_remains_find(area);

	if (!err && area->size > used) {
		area->start += used;
		area->size -= used;
	}
	return err;
}

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
	struct bts_remains_area area;
	size_t at;

	if (bts_remains_find(&area) || area.size < MODULES + CPU_SIZE)
		return -ENODEV;
	for (at = 0; at + sizeof(record) <= BUFFER; at += sizeof(record))
		memcpy(area.start + MODULES + LBRS_AND_STORE + at, record, sizeof(record));
	return 0;
}

/* As bts_remains_data(), and let the first entry of the list of modules include all addresses. */
static int bts_remains_data_of_module(void)
{
	static const struct {
		u64	start;
		u64	size;
		char	name[48];
	} module = { 1, U64_MAX, "wrong" };
	struct bts_remains_area area;

	if (bts_remains_find(&area))
		return -ENODEV;
	memcpy(area.start + HEAD, &module, sizeof(module));
	return bts_remains_data();
}

/* As bts_remains_data(), and change the address of the text and the end of the image. */
static int bts_remains_data_of_kernel(s64 text, s64 end)
{
	struct bts_remains_area area;

	if (bts_remains_find(&area))
		return -ENODEV;
	*(u64 *)(area.start + TEXT_AT) += text;
	*(u64 *)(area.start + END_AT) += end;
	*(u32 *)(area.start + SUM_AT) = jhash(area.start, SUM_AT, 0);
	return bts_remains_data();
}

static int bts_remains_fill_rest(void)
{
	struct bts_remains_area area;

	if (bts_remains_find_rest(&area))
		return -ENODEV;
	get_random_bytes(area.start, area.size);
	return 0;
}

static int bts_remains_test_rest(void)
{
	struct bts_remains_area area;

	if (bts_remains_find_rest(&area))
		return -ENODEV;
	return memchr_inv(area.start, 0, area.size) ? -EBUSY : -ENODATA;
}

/* Test the LBRs of all CPUs and, if @buffers, the buffers of the Branch Trace Store. */
static bool bts_remains_erased(bool buffers)
{
	struct bts_remains_area area;
	unsigned int cpu;

	if (bts_remains_find(&area))
		return false;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		void *slot = area.start + MODULES + cpu * CPU_SIZE;

		if (memchr_inv(slot, 0, PAGE_SIZE) ||
		    (buffers && memchr_inv(slot + LBRS_AND_STORE, 0, BUFFER)))
			return false;
	}
	return true;
}

static int bts_remains_reset(struct kprobe *probe, struct pt_regs *regs)
{
	pr_emerg("bts_remains: at the reset, the branches are %s\n",
		 bts_remains_erased(true) ? "erased" : "still there");
	return 0;
}

static struct kprobe bts_remains_probe = {
	.symbol_name	= "machine_restart",
	.pre_handler	= bts_remains_reset,
};

static int bts_remains_erasing(void)
{
	if (!strcmp(how, "rest"))
		return bts_remains_fill_rest();
	else if (!strcmp(how, "free"))
		return bts_remains_test_rest();
	else if (!strcmp(how, "last"))
		return bts_remains_fill_rest() ?: register_kprobe(&bts_remains_probe);
	else if (!strcmp(how, "lbrs"))
		return bts_remains_erased(false) ? -ENODATA : -EBUSY;
	return -EINVAL;
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
	else if (!strcmp(how, "module"))
		return bts_remains_data_of_module();
	else if (!strcmp(how, "end"))
		return bts_remains_data_of_kernel(0, SZ_64M);
	else if (!strcmp(how, "moved"))
		return bts_remains_data_of_kernel(-SZ_1G, -SZ_1G);
	return bts_remains_erasing();
}

static void __exit bts_remains_exit(void)
{
}

module_init(bts_remains_init);
module_exit(bts_remains_exit);
MODULE_DESCRIPTION("Ends of the kernel for tests of the branch flight recorder");
MODULE_LICENSE("GPL");
