// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the buffer of a Debug Store in place, whatever state it is in
 *
 * In a crash nothing that the kernel or the hardware writes can be relied upon: where
 * the buffer is and how long is known, and the rest is checked.
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

/* The index of a CPU's store as a number of records, false if it is none. */
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
 * ds_bts_peek - read a record and leave it
 * @cpu: whose
 * @circular: the buffer wraps
 * @newer: so many are newer
 * @rec: where it goes; all 0 behind the last one of a buffer that has wrapped
 *
 * Any context, while nothing is recorded there.
 *
 * Return: false if there is none.
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
		/* Behind the last one, the remark that some are missing */
		if (newer == size - index) {
			*rec = (struct bts_raw) { };
			return true;
		}
		index = size;
	}

	return bts_ds_read(base + (index - newer - 1) * ds_record_size(), rec);
}
