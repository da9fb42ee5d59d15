// SPDX-License-Identifier: GPL-2.0
/*
 * The Debug Store in memory that is kept over a reboot
 */

#include <linux/hw_branches.h>
#include <linux/init.h>

#include <asm/bts.h>
#include <asm/ds.h>

#include "bts_ds_boot.h"
#include "bts_ds_peek.h"
#include "bts_internal.h"

/**
 * bts_ds_boot_use - place the Debug Store of a CPU in memory that is kept over a reboot
 * @cpu: any possible CPU
 * @memory: the memory, which is overwritten
 *
 * Called in an early_initcall, see ds_use_memory().
 */
void __init bts_ds_boot_use(unsigned int cpu, struct bts_ds_boot *memory)
{
	ds_use_memory(cpu, &memory->store, memory->buffer);
}

/**
 * bts_ds_boot_most - tell how many branches bts_ds_boot_read() copies at most
 *
 * Return: the number.
 */
u32 bts_ds_boot_most(void)
{
	if (!ds_has(DS_BTS))
		return 0;

	/* One more, for the record of all 0 that stands for missing older records. */
	return BTS_BUFFER_SIZE / ds_record_size() + 1;
}

/**
 * bts_ds_boot_read - copy the branches that the kernel of the previous boot has left
 * @memory: a copy of the memory that the previous boot used, which may contain anything
 * @out: where to store the branches, the newest first
 *
 * Return: the number of branches.
 */
u32 bts_ds_boot_read(const struct bts_ds_boot *memory, struct hw_branch *out)
{
	struct bts_raw raw, older;
	u32 at, got = 0;

	if (!ds_has(DS_BTS))
		return 0;

	for (at = 0; ds_bts_peek_copy(&memory->store, memory->buffer, at, &raw); at++) {
		if (!bts_flight_wants(&raw))
			continue;
		if (!ds_bts_peek_copy(&memory->store, memory->buffer, at + 1, &older))
			older = (struct bts_raw) { };
		out[got++] = bts_flight_branch(&raw, &older);
	}

	return got;
}
