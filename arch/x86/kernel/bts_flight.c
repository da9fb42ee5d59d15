// SPDX-License-Identifier: GPL-2.0
/*
 * Reading flight recorders, the contexts with BTS_FLIGHT, in place
 *
 * After a crash the records cannot be delivered to the contexts: a reader can take no
 * lock, and must not change what it reads. So these functions read the buffer of the
 * source in place, the newest record first, and then the ring of the context, which holds
 * the records that were delivered before. Their comments have the exceptions.
 */

#include <linux/cleanup.h>
#include <linux/hw_branches.h>
#include <linux/irqflags.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include <asm/processor.h>

#include "bts_internal.h"

/**
 * bts_hold - stop recording on this CPU for a short time
 *
 * Called with interrupts off, or in an NMI. The caller calls bts_release() soon. Unlike a
 * freeze, this marks no gap in any context.
 *
 * Return: the argument for bts_release(): false if this CPU is held already, or if this machine has
 * no hardware source; otherwise true.
 */
bool bts_hold(void)
{
	/*
	 * Do not use lockdep_assert_irqs_disabled(): in a BUG(), lockdep may not know yet that
	 * interrupts are off. debugctl_write_bts() tests the interrupt flag instead.
	 */
	if (!bts_source->id)
		return false;

	bts_note_cleared();

	return bts_source->hold();
}

/**
 * bts_release - undo bts_hold()
 * @stopped: what bts_hold() returned
 */
void bts_release(bool stopped)
{
	if (stopped)
		bts_source->release();
}

/**
 * bts_flight_wants - tell whether a flight recorder shows a record
 * @raw: the record
 *
 * Any context.
 *
 * Return: true for a branch to the kernel, a jump for which bts_is_stray_jump() returns true, or a
 * record of all 0, which stands for missing records.
 */
bool bts_flight_wants(const struct bts_raw *raw)
{
	return raw->to >= TASK_SIZE_MAX || !(raw->from || raw->to) ||
	       bts_is_stray_jump(raw);
}

/**
 * bts_flight_branch - turn a record into what a flight recorder shows
 * @raw: the record
 * @older: the record before it; all 0 if there is none
 *
 * If the branch comes from user mode, its source becomes HW_BRANCH_USER. A branch from below
 * TASK_SIZE_MAX comes from user mode, unless the branch before it was a jump of the kernel to
 * this address. If an interrupt or NMI arrives between the two, this function does not recognize
 * the jump, as the branch before is the return from the interrupt or NMI. Any context.
 *
 * Return: the branch.
 */
struct hw_branch bts_flight_branch(const struct bts_raw *raw, const struct bts_raw *older)
{
	struct hw_branch branch = { .from = raw->from, .to = raw->to, };

	if (raw->from < TASK_SIZE_MAX && (raw->from || raw->to) &&
	    !(older->to == raw->from && bts_is_stray_jump(older)))
		branch.from = HW_BRANCH_USER;

	return branch;
}

/*
 * Move @cursor towards the newest record until at most @newer branches are newer than @cursor, or
 * until a record cannot be read.
 */
static void bts_flight_back(int cpu, struct hw_branches_cursor *cursor, u32 newer)
{
	struct bts_raw raw;

	while (cursor->newer > newer && bts_source->peek(cpu, --cursor->at, &raw))
		cursor->newer -= bts_flight_wants(&raw);
}

/*
 * Read up to @n branches from the buffer of the source. If fewer are found, @cursor has moved past
 * the oldest record, or to a record that cannot be read.
 */
static u32 bts_flight_buffer(int cpu, struct hw_branches_cursor *cursor, u32 newer,
			     struct hw_branch *out, u32 n)
{
	struct bts_raw raw, older;
	u32 got = 0;

	bts_flight_back(cpu, cursor, newer);
	for (; got < n && bts_source->peek(cpu, cursor->at, &raw); cursor->at++) {
		if (!bts_flight_wants(&raw) || cursor->newer++ < newer)
			continue;
		if (!bts_source->peek(cpu, cursor->at + 1, &older))
			older = (struct bts_raw) { };
		out[got++] = bts_flight_branch(&raw, &older);
	}

	return got;
}

/*
 * Read a record of the ring. Return false if there is none, or if it cannot be read: then *@raw is
 * all 0. A record that is not a branch is read as all 0, too, which stands for missing records.
 */
static bool bts_flight_get(const struct bts_ring *ring, u64 index, struct bts_raw *raw)
{
	const struct x86_bts_record *at = bts_ring_at(ring, index);
	struct x86_bts_record rec;

	*raw = (struct bts_raw) { };
	if (!at || copy_from_kernel_nofault(&rec, at, sizeof(rec)))
		return false;
	if (rec.type == X86_BTS_BRANCH) {
		raw->from = rec.branch.from;
		raw->to = rec.branch.to;
	}

	return true;
}

/*
 * Tell whether records are missing between the buffer and @ring, and neither has a mark there.
 * @cursor is behind the oldest record of the buffer.
 */
static bool bts_flight_gap(int cpu, const struct bts_ring *ring,
			   const struct hw_branches_cursor *cursor)
{
	struct bts_raw raw;

	if ((!ring->gap && !ring->unmarked) || !bts_flight_get(ring, 0, &raw))
		return false;

	return !cursor->at || !bts_source->peek(cpu, cursor->at - 1, &raw) || raw.from || raw.to;
}

/* Read the ring. If @gap, all 0 is read first, which stands for missing records. */
static u32 bts_flight_ring(const struct bts_ring *ring, bool gap, u32 newer,
			   struct hw_branch *out, u32 n)
{
	struct bts_raw raw = { }, older;
	u32 got, at;

	for (got = 0; got < n; got++) {
		at = newer + got;
		if (gap && !at) {
			out[got] = (struct hw_branch) { };
			continue;
		}
		at -= gap;
		if (!bts_flight_get(ring, at, &raw))
			break;
		bts_flight_get(ring, at + 1, &older);
		out[got] = bts_flight_branch(&raw, &older);
	}

	return got;
}

/* Read the buffer, and then @ring. If @late, the buffer is from before this context: skip it. */
static u32 bts_flight_both(int cpu, bool late, const struct bts_ring *ring,
			   struct hw_branches_cursor *cursor, u32 newer,
			   struct hw_branch *out, u32 n)
{
	struct bts_raw raw;
	u32 got = 0;

	if (!late)
		got = bts_flight_buffer(cpu, cursor, newer, out, n);
	/*
	 * While @cpu drains its buffer, records that are in the buffer may be in the ring, too. So
	 * skip the ring, unless the buffer is empty.
	 */
	if (bts_source->draining(cpu) && bts_source->peek(cpu, 0, &raw))
		return got;

	if (got == n)
		return got;
	newer += got;

	return got + bts_flight_ring(ring, bts_flight_gap(cpu, ring, cursor), newer - cursor->newer,
				     out + got, n - got);
}

/**
 * bts_flight_last - copy the last records of a flight recorder without removing them
 * @ctx: a context with BTS_FLIGHT
 * @cpu: its CPU
 * @cursor: the position of the reader after the last call; all 0 for the first call
 * @newer: the number of newest branches to skip
 * @out: where to store the branches, the newest first
 * @n: the number of branches to copy at most
 *
 * Any context and any CPU, while @cpu is frozen, held or offline. The code that crashed may have
 * overwritten the context or its ring: reading through a bad pointer in there does not crash, and
 * if the context cannot be read, only the buffer is read. Nothing is read from a CPU whose records
 * are from before a thaw, see branch_is_outdated().
 *
 * Return: the number of branches that were copied.
 */
u32 bts_flight_last(struct bts_context *ctx, int cpu, struct hw_branches_cursor *cursor, u32 newer,
		    struct hw_branch *out, u32 n)
{
	bool again = false, late;
	struct bts_ring ring;
	u64 head;
	u32 got;

	if (bts_outdated(cpu))
		return 0;

	/*
	 * A CPU that is held may still handle a pending PMI, and a frozen CPU may still finish a
	 * drain: both move the records from the buffer to the ring. Then ring.head changes: read
	 * again. Once is enough: another drain finds records only if the CPU still records. If the
	 * drain adds an X86_BTS_LOST record to the ring, all older records are one position farther
	 * back, and the caller may get one branch twice.
	 */
	do {
		if (copy_from_kernel_nofault(&ring, &ctx->ring, sizeof(ring)) ||
		    get_kernel_nofault(late, &ctx->late)) {
			ring = (struct bts_ring) { };
			late = false;
		}
		barrier();
		if (cursor->moved != ring.head)
			*cursor = (struct hw_branches_cursor) { .moved = ring.head, };
		got = bts_flight_both(cpu, late, &ring, cursor, newer, out, n);
		barrier();
		again = !again && !get_kernel_nofault(head, &ctx->ring.head) && head != ring.head;
	} while (again);

	return got;
}

struct bts_flight_call {
	struct bts_context	*ctx;
	struct hw_branch	*out;
	u32			n;
	int			ret;
};

static void bts_flight_copy_here(void *info)
{
	struct hw_branches_cursor cursor = { };
	struct bts_flight_call *call = info;
	bool stopped;

	guard(irqsave)();
	stopped = bts_hold();
	call->ret = bts_flight_last(call->ctx, call->ctx->cpu, &cursor, 0, call->out, call->n);
	bts_release(stopped);
}

/**
 * bts_flight_copy - copy the last records of a flight recorder that may be recording
 * @ctx: a context with BTS_FLIGHT
 * @out: where to store the branches, the newest first
 * @n: the number of branches to copy at most
 *
 * Called in a task, with interrupts on. If the CPU is online, this waits until it has copied them.
 *
 * Return: the number of branches that were copied.
 */
int bts_flight_copy(struct bts_context *ctx, struct hw_branch *out, u32 n)
{
	struct bts_flight_call call = { .ctx = ctx, .out = out, .n = n };
	struct hw_branches_cursor cursor = { };
	u32 got;

	/*
	 * If this fails, the CPU is offline, and does not record. Do not take the lock of CPU
	 * hotplug: code that holds it may have crashed.
	 */
	if (!smp_call_function_single(ctx->cpu, bts_flight_copy_here, &call, 1))
		return call.ret;
	got = bts_flight_last(ctx, ctx->cpu, &cursor, 0, out, n);
	/* The CPU may have come online meanwhile. */
	if (!smp_call_function_single(ctx->cpu, bts_flight_copy_here, &call, 1))
		return call.ret;

	return got;
}
