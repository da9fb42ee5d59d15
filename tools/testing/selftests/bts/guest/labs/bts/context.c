// SPDX-License-Identifier: GPL-2.0
/* The context (struct bts_context) of an open file of /dev/bts_lab, from creation to end. */
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/vmalloc.h>

#include "lab_internal.h"

static_assert(sizeof(struct lab_record) == sizeof(struct x86_bts_record));
static_assert(LAB_USER == BTS_USER && LAB_KERNEL == BTS_KERNEL && LAB_ENTRY == BTS_ENTRY &&
	      LAB_SCHED == BTS_SCHED && LAB_STOP == BTS_STOP_FULL && LAB_IDLE == BTS_IDLE &&
	      LAB_FLIGHT == BTS_FLIGHT);

/* Move the oldest records from the ring to lab->saved, as many as there is room for. */
static int save(struct lab_file *lab)
{
	int n = bts_read(lab->ctx, lab->saved + lab->nr_saved, lab->config.room - lab->nr_saved);

	if (n > 0)
		lab->nr_saved += n;
	return n;
}

/* Runs in the traced task, before it returns to user mode or exits. */
static void save_work(struct callback_head *work)
{
	struct lab_file *lab = container_of(work, struct lab_file, work);

	WRITE_ONCE(lab->queued, false);
	/* If the trace has just been ended by LAB_END or LAB_DESTROY, ctx is NULL. */
	if (lab->ctx)
		save(lab);
}

static void overflow(struct bts_context *ctx, void *data)
{
	struct lab_file *lab = data;

	atomic_inc(&lab->calls);
	if (lab->config.overflow != LAB_SAVE || READ_ONCE(lab->queued))
		return;
	WRITE_ONCE(lab->queued, true);
	init_task_work(&lab->work, save_work);
	if (task_work_add(lab->task, &lab->work, TWA_RESUME))
		WRITE_ONCE(lab->queued, false);
}

static int find_task(struct lab_file *lab)
{
	if (lab->config.target == LAB_SELF) {
		lab->task = get_task_struct(current);
		return 0;
	}
	rcu_read_lock();
	lab->task = get_pid_task(find_vpid(lab->config.id), PIDTYPE_PID);
	rcu_read_unlock();
	return lab->task ? 0 : -ESRCH;
}

static void drop_task(struct lab_file *lab)
{
	if (lab->task)
		put_task_struct(lab->task);
	lab->task = NULL;
}

int lab_start(struct lab_file *lab)
{
	struct bts_attr attr = {
		.flags = lab->config.flags | (lab->config.flags & LAB_USER ? BTS_SOFT_FILTER : 0),
		.nr = lab->config.nr,
		.overflow = lab->config.overflow ? overflow : NULL,
		.data = lab,
	};
	int err = 0;

	if (lab->ctx)
		return -EEXIST;
	/* If all saved records of an earlier trace were read, use the room again. */
	if (lab->read == lab->nr_saved) {
		lab->read = 0;
		lab->nr_saved = 0;
	}
	if (lab->config.target == LAB_CPU)
		return bts_create_cpu(lab->config.id, &attr, &lab->ctx);

	err = find_task(lab);
	if (err)
		return err;
	err = bts_create_task(lab->task, &attr, &lab->ctx);
	if (err)
		drop_task(lab);
	return err;
}

int lab_destroy(struct lab_file *lab)
{
	if (!lab->ctx)
		return -ENXIO;
	bts_status(lab->ctx, &lab->last);
	bts_destroy(lab->ctx);
	lab->ctx = NULL;
	drop_task(lab);
	return 0;
}

int lab_end(struct lab_file *lab)
{
	int err;

	if (!lab->ctx)
		return -ENXIO;
	/*
	 * If records were lost with LAB_STOP, a second read returns the X86_BTS_LOST record. Do
	 * not read other traces twice: records that are overwritten between the two reads would
	 * be missing without an X86_BTS_LOST record.
	 */
	err = save(lab);
	if (err > 0 && lab->config.flags & LAB_STOP)
		err = save(lab);
	return err < 0 ? err : lab_destroy(lab);
}

void lab_status(struct lab_file *lab, struct lab_status *status)
{
	struct bts_status is = lab->last;

	if (lab->ctx)
		bts_status(lab->ctx, &is);
	*status = (struct lab_status){
		.flags = is.flags & ~BTS_SOFT_FILTER,
		.nr = is.nr,
		.held = is.held,
		.gaps = is.gaps,
		.lost = is.lost,
		.overwritten = is.overwritten,
		.source = is.source,
		.calls = atomic_read(&lab->calls),
		.saved = lab->nr_saved - lab->read,
	};
}

int lab_read(struct lab_file *lab, struct x86_bts_record *rec, u32 n)
{
	u32 saved = min(n, lab->nr_saved - lab->read);

	if (!saved)
		return lab->ctx ? bts_read(lab->ctx, rec, n) : 0;
	memcpy(rec, lab->saved + lab->read, array_size(saved, sizeof(*rec)));
	lab->read += saved;
	return saved;
}
