// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the buffer of a Debug Store in place, in any state
 *
 * In a crash, memory that the kernel or the hardware writes may be corrupt. Only the address
 * and the size of the buffer are constant; everything else is checked before it is used.
 */

#include <linux/math64.h>
#include <linux/uaccess.h>

#include <asm/bts.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>

#include "bts_ds_peek.h"

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

/* Read the index of a CPU's store, as a number of records. Return false if it is invalid. */
static bool bts_ds_index(int cpu, const void *base, u32 size, u32 *index)
{
	const void *at = (void *)ds_store(cpu) + DS_INDEX * ds_field_size();
	u64 field, offset;

	if (copy_from_kernel_nofault(&field, at, ds_field_size()))
		return false;
	offset = ds_word(&field, 0, ds_field_size()) - (unsigned long)base;
	if (offset > (u64)size * ds_record_size())
		return false;
	*index = div_u64(offset, ds_record_size());

	return true;
}

/**
 * ds_bts_peek - read a record without removing it
 * @cpu: the CPU
 * @circular: the buffer wraps
 * @newer: the number of newer records in the buffer
 * @rec: where to store the record; all 0 for the one before the oldest record of a buffer
 *	that has wrapped
 *
 * Any context, while @cpu does not record.
 *
 * Return: false if there is no such record.
 */
bool ds_bts_peek(int cpu, bool circular, u32 newer, struct bts_raw *rec)
{
	u32 size = BTS_BUFFER_SIZE / ds_record_size(), index;
	const void *base = ds_bts_buffer(cpu);
	struct bts_raw last;

	if (!bts_ds_index(cpu, base, size, &index))
		return false;

	if (newer >= index) {
		if (!circular || !bts_ds_read(base + (size - 1) * ds_record_size(), &last) ||
		    !(last.from || last.to))
			return false;
		newer -= index;
		if (newer > size - index)
			return false;
		/* Before the oldest record, say that records are missing. */
		if (newer == size - index) {
			*rec = (struct bts_raw) { };
			return true;
		}
		index = size;
	}

	return bts_ds_read(base + (index - newer - 1) * ds_record_size(), rec);
}
