/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_KIT_LAB_INTERNAL_H
#define BTS_KIT_LAB_INTERNAL_H

#include <linux/types.h>

#include <asm/ds.h>

#include "lab.h"

/* Functions and variables of the kernel, most of which it does not export to modules. */
struct lab_kernel {
	int (*claim)(bool (*give_way)(bool privileged));
	void (*unclaim)(void);
	void (*write)(u64 bits);
	struct debug_store *(*store)(unsigned int cpu);
	void *(*buffer)(unsigned int cpu);
	const struct ds_layout *layout;
	const u8 *shift;
	unsigned long nmi_entry;
	unsigned long debug_entry;
	struct apic *apic;
};

extern struct lab_kernel lab_kernel;

void *lab_symbol(const char *name);

/* Move bits of DEBUGCTL to where this model has them: Netburst has other bits for BTS. */
u64 lab_bts_bits(u64 bits);
/*
 * Clear this CPU's buffer, and set up its Debug Store for @room records. @threshold and @index are
 * offsets in bytes. Call with interrupts off.
 */
void lab_reset_store(u32 room, u32 threshold, u32 index);
void lab_empty(void);
u32 lab_record_size(void);
/* Returns word @nr of record @i in this CPU's buffer. */
u64 lab_word(u32 i, u32 nr);
u32 lab_bytes(void);

int lab_run(struct kit_run *run);
int lab_record_init(void);
void lab_record_exit(void);

int lab_filter_start(bool off_os);
int lab_filter_look(struct kit_filter *found);

int lab_units(void);

#endif /* BTS_KIT_LAB_INTERNAL_H */
