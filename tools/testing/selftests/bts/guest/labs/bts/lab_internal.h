/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_LAYER_LAB_INTERNAL_H
#define BTS_LAYER_LAB_INTERNAL_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/task_work.h>

#include <asm/bts.h>

#include "lab.h"

struct hw_branch;
struct hw_branches_cursor;

/* One open file. */
struct lab_file {
	struct mutex mutex;	/* held during each ioctl() and read() */
	struct lab_config config;
	struct bts_context *ctx;
	struct bts_status last;
	struct task_struct *task;
	atomic_t calls;
	struct callback_head work;
	bool queued;
	struct x86_bts_record *saved;
	u32 nr_saved;
	u32 read;
};

/*
 * The addresses of bts_source, bts_hold(), bts_release(), bts_flight_last() and ds_bts_peek(). The
 * kernel does not export these symbols to modules.
 */
extern struct lab_look_symbols {
	const struct bts_source **source;
	bool (*hold)(void);
	void (*release)(bool stopped);
	u32 (*last)(struct bts_context *ctx, int cpu, struct hw_branches_cursor *cursor, u32 newer,
		    struct hw_branch *out, u32 n);
	bool (*peek)(int cpu, bool circular, u32 newer, struct bts_raw *rec);
} lab_look_symbols;

int lab_look(struct lab_file *lab);
int lab_stale(void);
int lab_start(struct lab_file *lab);
int lab_end(struct lab_file *lab);
int lab_destroy(struct lab_file *lab);
void lab_status(struct lab_file *lab, struct lab_status *status);
int lab_read(struct lab_file *lab, struct x86_bts_record *rec, u32 n);

#endif /* BTS_LAYER_LAB_INTERNAL_H */
