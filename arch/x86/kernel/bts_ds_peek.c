// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the buffer of a Debug Store in any state, in place or in a copy
 *
 * In a crash, memory that the kernel or the hardware writes may be corrupt. The address and the
 * size of the buffer are constant. The index is checked before it is used, and a read that faults
 * does not crash.
 */

#include <linux/math64.h>
#include <linux/uaccess.h>

#include <asm/bts.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>

#include "bts_ds_peek.h"

static u32 bts_ds_size(void)
{
	return BTS_BUFFER_SIZE / ds_record_size();
}

static bool bts_ds_read(const void *at, struct bts_raw *rec)
{
	struct bts_raw raw;

	if (copy_from_kernel_nofault(&raw, at, ds_record_size()))
		return false;
	rec->from = ds_word(&raw, 0, ds_field_size());
	rec->to = ds_word(&raw, 1, ds_field_size());
	rec->flags = ds_word(&raw, 2, ds_field_size());

	return true;
}

static bool bts_ds_word(const struct debug_store *ds, enum ds_field nr, u64 *val)
{
	u64 field;

	if (copy_from_kernel_nofault(&field, (void *)ds + nr * ds_field_size(), ds_field_size()))
		return false;
	*val = ds_word(&field, 0, ds_field_size());

	return true;
}

/*
 * Read the index of a store, as a number of records. @base is the address of its buffer. Return
 * false if the index is invalid.
 */
static bool bts_ds_index(const struct debug_store *ds, u64 base, u32 *index)
{
	u64 at;

	if (!bts_ds_word(ds, DS_INDEX, &at) ||
	    at - base > (u64)bts_ds_size() * ds_record_size())
		return false;
	*index = div_u64(at - base, ds_record_size());

	return true;
}

/* See ds_bts_peek(). @index is where the hardware writes the next record of the buffer at @base. */
static bool bts_ds_peek_at(const void *base, u32 index, bool circular, u32 newer,
			   struct bts_raw *rec)
{
	u32 size = bts_ds_size();
	struct bts_raw last;

	if (newer >= index) {
		if (!circular || !bts_ds_read(base + (size - 1) * ds_record_size(), &last) ||
		    !(last.from || last.to))
			return false;
		newer -= index;
		if (newer > size - index)
			return false;
		/* A record of all 0 before the oldest one stands for missing records. */
		if (newer == size - index) {
			*rec = (struct bts_raw) { };
			return true;
		}
		index = size;
	}

	return bts_ds_read(base + (index - newer - 1) * ds_record_size(), rec);
}

/**
 * ds_bts_peek - read a record without removing it
 * @cpu: the CPU
 * @circular: the buffer is circular, so that it may have wrapped
 * @newer: the number of newer records in the buffer
 * @rec: where to store the record; all 0 for the one before the oldest record of a buffer
 *	that has wrapped
 *
 * Any context, while @cpu does not record.
 *
 * Return: false if there is no such record, or if it cannot be read.
 */
bool ds_bts_peek(int cpu, bool circular, u32 newer, struct bts_raw *rec)
{
	const void *base = ds_bts_buffer(cpu);
	u32 index;

	return bts_ds_index(ds_store(cpu), (unsigned long)base, &index) &&
	       bts_ds_peek_at(base, index, circular, newer, rec);
}

/**
 * ds_bts_peek_copy - read a record in the copy of a buffer that may be circular
 * @store: the copy of the store
 * @buffer: the copy of the buffer
 * @newer: the number of newer records in the buffer
 * @rec: see ds_bts_peek()
 *
 * The copies may contain anything. They may be of another boot, if its kernel used the same layout
 * of a Debug Store.
 *
 * Return: false if there is no such record.
 */
bool ds_bts_peek_copy(const struct debug_store *store, const void *buffer, u32 newer,
		      struct bts_raw *rec)
{
	u64 base;
	u32 index;

	return bts_ds_word(store, DS_BASE, &base) && base && bts_ds_index(store, base, &index) &&
	       bts_ds_peek_at(buffer, index, true, newer, rec);
}
