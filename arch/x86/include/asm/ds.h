/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Debug Store: allocation and arbitration of DS_AREA and of its buffers
 */
#ifndef _ASM_X86_DS_H
#define _ASM_X86_DS_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/wordpart.h>

struct debug_store;

/* The two independent halves of a Debug Store: for branches, and for samples of events */
enum ds_part {
	DS_BTS,
	DS_PEBS,
	DS_NR_PARTS,
};

/* The fields that both halves have, in the order in which the hardware has them. */
enum ds_field {
	DS_BASE,
	DS_INDEX,
	DS_MAXIMUM,
	DS_THRESHOLD,
	DS_NR_FIELDS,
};

/**
 * struct ds_layout - the sizes that the hardware uses
 * @field:	bytes of a field of the store, and of a field of a BTS record
 * @record:	bytes of a BTS record: from, to and flags
 *
 * Both are 0 if there is no Debug Store that this kernel can use.
 */
struct ds_layout {
	u8	field;
	u8	record;
};

#ifdef CONFIG_CPU_SUP_INTEL

extern struct ds_layout ds_layout;

struct ds_layout ds_choose_layout(bool ds, bool dtes64, bool kernel64);

bool ds_has(enum ds_part part);
int ds_get_bts(void);
int ds_get_pebs(size_t size, size_t record);
void ds_put(enum ds_part part);

void ds_use_memory(unsigned int cpu, void *store, void *buffer);
struct debug_store *ds_store(unsigned int cpu);
void *ds_bts_buffer(unsigned int cpu);
unsigned long ds_area(void);

void ds_bts_write(u64 bits);
void ds_expect_late_pmi(void);
void ds_late_pmi_arrived(void);
void ds_expect_perf_pmi(void);
bool ds_late_pmi_due(void);
bool ds_claim_late_pmi(void);
bool ds_bts_has_pmi(void);
bool ds_bts_hold(void);
void ds_bts_release(void);

int ds_claim_bts(bool (*give_way)(bool privileged));
bool __must_check ds_give_way(bool privileged);
void ds_end_give_way(void);
void ds_unclaim_bts(void);
bool ds_bts_claimed(void);

void ds_resume(void);
void ds_save_vmcoreinfo(void);

/* A 64-bit kernel uses only stores with fields of 64 bits, so there this is a constant. */
static inline unsigned int ds_field_size(void)
{
	return IS_ENABLED(CONFIG_X86_64) ? sizeof(u64) : ds_layout.field;
}

static inline unsigned int ds_record_size(void)
{
	return 3 * ds_field_size();
}

/* Read word @nr of a store or of a record. @width is the size of a word in bytes: 4 or 8. */
static inline u64 ds_word(const void *p, unsigned int nr, unsigned int width)
{
	if (width == sizeof(u64))
		return READ_ONCE(((const u64 *)p)[nr]);

	return READ_ONCE(((const u32 *)p)[nr]);
}

static inline void ds_set_word(void *p, unsigned int nr, unsigned int width,
			       u64 val)
{
	if (width == sizeof(u64))
		WRITE_ONCE(((u64 *)p)[nr], val);
	else
		WRITE_ONCE(((u32 *)p)[nr], lower_32_bits(val));
}

static inline unsigned int ds_word_nr(enum ds_part part, enum ds_field field)
{
	return part * DS_NR_FIELDS + field;
}

static inline u64 ds_read(const struct debug_store *ds, enum ds_part part,
			  enum ds_field field)
{
	return ds_word(ds, ds_word_nr(part, field), ds_field_size());
}

static inline void ds_write(struct debug_store *ds, enum ds_part part,
			    enum ds_field field, u64 val)
{
	ds_set_word(ds, ds_word_nr(part, field), ds_field_size(), val);
}

#else /* CONFIG_CPU_SUP_INTEL */

static inline bool ds_give_way(bool privileged) { return false; }
static inline void ds_end_give_way(void) { }
static inline void ds_unclaim_bts(void) { }
static inline bool ds_bts_claimed(void) { return false; }
static inline bool ds_bts_has_pmi(void) { return false; }
static inline bool ds_bts_hold(void) { return false; }
static inline void ds_bts_release(void) { }
static inline void ds_resume(void) { }
static inline void ds_save_vmcoreinfo(void) { }

#endif /* CONFIG_CPU_SUP_INTEL */

#endif /* _ASM_X86_DS_H */
