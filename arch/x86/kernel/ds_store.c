// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of the Debug Store: its layout, and its buffers in the CPU entry area
 *
 * ds.c calls ds_alloc() and ds_free() with ds_mutex held.
 */
#define pr_fmt(fmt) "x86/ds: " fmt

#include <linux/cpufeature.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/vmcore_info.h>

#include <asm/cpu_entry_area.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>
#include <asm/tlbflush.h>

#include "ds_internal.h"

/**
 * struct ds_cpu - the buffers of a CPU's Debug Store
 * @pages:	the memory of the buffer of each half, which is mapped into the entry area; NULL
 *		while the half has no user
 * @store:	the memory of the store from ds_use_memory(); NULL if the store is cpu_debug_store
 * @buffer:	the memory for the BTS buffer from ds_use_memory(); NULL if ds_alloc() allocates it
 */
struct ds_cpu {
	void	*pages[DS_NR_PARTS];
	void	*store;
	void	*buffer;
};

static DEFINE_PER_CPU(struct ds_cpu, ds_cpu);
static size_t ds_size[DS_NR_PARTS];

struct ds_layout ds_layout __ro_after_init;

/**
 * ds_choose_layout - find the sizes that the hardware uses in its Debug Store
 * @ds:		CPUID says that there is a Debug Store
 * @dtes64:	CPUID says that its fields have 64 bits, also in 32-bit mode ("64 Bit Format of the
 *		DS Save Area" in volume 3 of Intel's manual)
 * @kernel64:	the kernel runs in 64-bit mode
 *
 * Return: the layout; all 0 if the kernel cannot use a Debug Store.
 */
struct ds_layout ds_choose_layout(bool ds, bool dtes64, bool kernel64)
{
	struct ds_layout layout = {};

	if (!ds)
		return layout;

	if (dtes64)
		layout.field = sizeof(u64);
	else if (!kernel64)
		layout.field = sizeof(u32);

	layout.record = 3 * layout.field;

	return layout;
}

/**
 * ds_has - tell whether this machine has BTS, or PEBS
 * @part:	which of both halves of the Debug Store
 *
 * Return: true if the processor has this half, in a layout that the kernel can use.
 */
bool ds_has(enum ds_part part)
{
	if (!ds_layout.field)
		return false;
	if (part == DS_BTS)
		return boot_cpu_has(X86_FEATURE_BTS);

	/* perf parses PEBS records in their 64-bit forms only. */
	return ds_layout.field == sizeof(u64) && boot_cpu_has(X86_FEATURE_PEBS);
}

/**
 * ds_store - find the Debug Store of a CPU
 * @cpu:	any possible CPU
 *
 * Return: its constant address in the CPU entry area.
 */
struct debug_store *ds_store(unsigned int cpu)
{
	return &get_cpu_entry_area(cpu)->cpu_debug_store;
}

static void *ds_buffer(enum ds_part part, unsigned int cpu)
{
	struct debug_store_buffers *buffers;

	buffers = &get_cpu_entry_area(cpu)->cpu_debug_buffers;

	return part == DS_BTS ? buffers->bts_buffer : buffers->pebs_buffer;
}

/*
 * Map @pages into the entry area at @buffer; if @pages is NULL, unmap @buffer. A mapping that this
 * removes or replaces may be in TLBs of other CPUs until the caller flushes them. Where nothing was
 * mapped, no flush is needed.
 */
static void ds_map(void *buffer, size_t size, void *pages)
{
	size_t at;

	/* cea_set_pte() flushes one page from this CPU's TLB. It must run with preemption off. */
	preempt_disable();
	for (at = 0; at < size; at += PAGE_SIZE)
		cea_set_pte(buffer + at, pages ? virt_to_phys(pages + at) : 0,
			    pages ? PAGE_KERNEL : PAGE_NONE);
	preempt_enable();
}

/**
 * ds_bts_buffer - tell where the BTS buffer of a CPU is mapped
 * @cpu:	the CPU
 *
 * Any context. This does not read the store, which a crash may have overwritten.
 *
 * Return: the address of BTS_BUFFER_SIZE bytes in the CPU entry area. The buffer is mapped there
 * while the BTS half has a user.
 */
void *ds_bts_buffer(unsigned int cpu)
{
	return ds_buffer(DS_BTS, cpu);
}

/**
 * ds_reset - set the positions in one half of a store to those of an empty buffer
 * @part:	the half
 * @cpu:	its CPU
 * @size:	bytes of the buffer; 0 if there is no buffer, and then all positions become 0
 * @record:	bytes of a record
 */
void ds_reset(enum ds_part part, unsigned int cpu, size_t size, size_t record)
{
	struct debug_store *ds = ds_store(cpu);
	u64 base = size ? (unsigned long)ds_buffer(part, cpu) : 0;
	u64 nr = size ? size / record : 0;

	ds_write(ds, part, DS_BASE, base);
	ds_write(ds, part, DS_INDEX, base);
	ds_write(ds, part, DS_MAXIMUM, base + nr * record);
	/* Leave room for the records that the hardware writes until the PMI is handled. */
	ds_write(ds, part, DS_THRESHOLD, base + (nr - nr / 16) * record);

	if (part == DS_PEBS) {
		/* perf sets the threshold and these values when it enables an event. */
		ds->pebs_interrupt_threshold = 0;
		memset(ds->pebs_event_reset, 0, sizeof(ds->pebs_event_reset));
	}
}

/*
 * Return a buffer, filled with 0. If @part is DS_BTS and ds_use_memory() was called for @cpu, this
 * is the memory that it got; otherwise newly allocated memory, or NULL.
 */
static void *ds_alloc_pages(enum ds_part part, unsigned int cpu, size_t size)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN;
	void *buffer = per_cpu(ds_cpu, cpu).buffer;
	struct page *page;

	if (part == DS_BTS && buffer)
		return memset(buffer, 0, size);
	page = alloc_pages_node(cpu_to_node(cpu), gfp, get_order(size));

	return page ? page_address(page) : NULL;
}

static void ds_free_pages(enum ds_part part, unsigned int cpu)
{
	struct ds_cpu *ds = per_cpu_ptr(&ds_cpu, cpu);

	if (ds->pages[part] && ds->pages[part] == ds->buffer)
		memset(ds->buffer, 0, ds_size[part]);
	else
		free_pages((unsigned long)ds->pages[part], get_order(ds_size[part]));
	ds->pages[part] = NULL;
}

/**
 * ds_free - unmap and free the buffers of one half of the stores of all possible CPUs
 * @part:	the half, to which no CPU writes any more
 *
 * The memory from ds_use_memory() is not freed, but cleared.
 */
void ds_free(enum ds_part part)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (!per_cpu(ds_cpu, cpu).pages[part])
			continue;

		ds_reset(part, cpu, 0, 0);
		ds_map(ds_buffer(part, cpu), ds_size[part], NULL);
	}
	/* Flush the whole TLB once: the entry areas of the CPUs are far apart. */
	flush_tlb_all();

	for_each_possible_cpu(cpu)
		ds_free_pages(part, cpu);
}

/**
 * ds_alloc - allocate and map the buffers of one half of the stores of all possible CPUs
 * @part:	the half
 * @size:	bytes of each buffer
 * @record:	bytes of a record
 *
 * Return: 0 or -ENOMEM.
 */
int ds_alloc(enum ds_part part, size_t size, size_t record)
{
	unsigned int cpu;
	void *pages;

	ds_size[part] = size;

	for_each_possible_cpu(cpu) {
		pages = ds_alloc_pages(part, cpu, size);
		if (!pages) {
			pr_warn_once("no %zu KiB of contiguous memory for CPU %u\n",
				     size / 1024, cpu);
			ds_free(part);
			return -ENOMEM;
		}

		per_cpu(ds_cpu, cpu).pages[part] = pages;
		ds_map(ds_buffer(part, cpu), size, pages);
		ds_reset(part, cpu, size, record);
	}

	return 0;
}

/**
 * ds_use_memory - place the store and the BTS buffer of a CPU in the caller's memory
 * @cpu:	any possible CPU
 * @store:	a page for the store
 * @buffer:	BTS_BUFFER_SIZE bytes for the buffer, at a multiple of the page size
 *
 * Called in an early_initcall, before the Debug Store has a user, and before other CPUs may
 * have the mapping of the store in their TLBs. The memory is never given back.
 */
void __init ds_use_memory(unsigned int cpu, void *store, void *buffer)
{
	struct ds_cpu *ds = per_cpu_ptr(&ds_cpu, cpu);

	ds->store = memset(store, 0, PAGE_SIZE);
	ds->buffer = memset(buffer, 0, BTS_BUFFER_SIZE);
	ds_map(ds_store(cpu), PAGE_SIZE, store);
}

#ifdef CONFIG_VMCORE_INFO
/**
 * ds_save_vmcoreinfo - add to vmcoreinfo where a crash dump has the stores and buffers
 */
void ds_save_vmcoreinfo(void)
{
#ifdef CONFIG_SMP
	VMCOREINFO_SYMBOL(__per_cpu_offset);
#endif
	VMCOREINFO_NUMBER(nr_cpu_ids);
	VMCOREINFO_SYMBOL(cpu_debug_store);
	VMCOREINFO_SYMBOL(ds_cpu);
	VMCOREINFO_OFFSET(ds_cpu, pages);
	VMCOREINFO_OFFSET(ds_cpu, store);
	vmcoreinfo_append_str("NUMBER(ds_field)=%u\n", ds_layout.field);
}
#endif
