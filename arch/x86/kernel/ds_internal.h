/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of ds_store.c for ds.c */
#ifndef _X86_DS_INTERNAL_H
#define _X86_DS_INTERNAL_H

#include <linux/types.h>

#include <asm/ds.h>

int ds_alloc(enum ds_part part, size_t size, size_t record);
void ds_reset(enum ds_part part, unsigned int cpu, size_t size, size_t record);
void ds_free(enum ds_part part);

#endif /* _X86_DS_INTERNAL_H */
