// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of branch traces: reading
 *
 * See bts.c for the locking rules.
 */

#include <linux/kernel.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "bts_internal.h"

static void bts_do_status(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;

	bts_ring_put_due_lost(ring);
	*call->status = (struct bts_status) {
		.flags		= call->ctx->attr.flags,
		.nr		= ring->nr,
		.held		= bts_ring_held(ring),
		.gaps		= ring->gaps,
		.lost		= ring->lost,
		.overwritten	= ring->overwritten + ring->head - ring->tail -
				  bts_ring_held(ring),
		.source		= call->ctx->source->id,
		.record_flags	= bts_record_flags(call->ctx->source),
		.next		= ring->head,
		.revoked	= bts_is_revoked(call->ctx),
	};
}

/**
 * bts_status - get the status of a context
 * @ctx: the context
 * @status: filled in
 */
void bts_status(struct bts_context *ctx, struct bts_status *status)
{
	struct bts_call call = { .func = bts_do_status, .status = status };

	bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_status);

static void bts_do_peek(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;

	bts_ring_put_due_lost(ring);
	call->ret = bts_ring_peek(ring, &call->seq, call->run);
}

/**
 * bts_peek - find records without removing them
 * @ctx: the context
 * @seq: the sequence number of the first record that is wanted; if that record is gone,
 *	the number of the oldest one is stored here
 * @rec: where to store a pointer to the first record that was found
 *
 * While the context is live on a CPU, the records may be overwritten at any time.
 * bts_consume() tells whether they were.
 *
 * Return: the number of contiguous records there, 0 if there are none.
 */
int bts_peek(struct bts_context *ctx, u64 *seq, const struct x86_bts_record **rec)
{
	struct bts_call call = { .func = bts_do_peek, .seq = *seq, .run = rec };
	int n = bts_call(ctx, &call);

	*seq = call.seq;
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(bts_peek);

static void bts_do_consume(struct bts_call *call)
{
	struct bts_context *ctx = call->ctx;

	call->ret = bts_ring_consume(&ctx->ring, call->seq, call->n);
	if (bts_ring_held(&ctx->ring) < ctx->attr.nr)
		ctx->full = false;
}

/**
 * bts_consume - remove records that were read, and all older ones
 * @ctx: the context
 * @first: the sequence number of the first record
 * @n: the number of records
 *
 * Return: the number of these records, beginning with the oldest, that were overwritten
 * since bts_peek(): the caller's copies of them may be invalid.
 */
int bts_consume(struct bts_context *ctx, u64 first, u32 n)
{
	struct bts_call call = { .func = bts_do_consume, .seq = first, .n = n };

	return bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_consume);

/* The largest number of records to copy at a time, with interrupts off */
#define BTS_READ_CHUNK	256

/*
 * Move up to BTS_READ_CHUNK records from the ring to @call->rec. For the first chunk, @call->end is
 * 0: begin with the oldest record, and set @call->end to the sequence number at which bts_read()
 * ends. For the others, begin with @call->seq. If that record was overwritten since the last chunk,
 * store an X86_BTS_LOST record first. But if all records before @call->end were overwritten, store
 * nothing.
 */
static void bts_do_read(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;
	struct x86_bts_record *rec = call->rec;
	const struct x86_bts_record *run;
	u32 n, room = call->n;
	u64 oldest = 0;

	bts_ring_put_due_lost(ring);
	n = bts_ring_peek(ring, &oldest, &run);
	if (!call->end) {
		call->end = ring->head;
		call->seq = ring->tail;
	}
	if (!n || ring->tail >= call->end)
		return;

	if (ring->tail != call->seq) {
		bts_make_lost_record(ring, rec++, ring->tail - call->seq);
		room--;
		call->seq = ring->tail;
	}

	n = min3(n, room, (u32)BTS_READ_CHUNK);
	n = min_t(u64, n, call->end - call->seq);
	memcpy(rec, run, array_size(n, sizeof(*run)));
	call->n = n;
	bts_do_consume(call);
	call->seq += n;
	call->ret = rec + n - call->rec;
}

/**
 * bts_read - read records, oldest first, and remove them
 * @ctx: the context
 * @rec: where to store the records
 * @n: the number of records that there is room for
 *
 * Records that are added after the first ones were copied are not read: if the kernel is recorded,
 * the call itself adds records. If records are overwritten after older ones have been read, an
 * X86_BTS_LOST record tells how many. Exception: there is no such record if no newer record is left
 * to be read.
 *
 * Return: the number of records stored.
 */
int bts_read(struct bts_context *ctx, struct x86_bts_record *rec, u32 n)
{
	struct bts_call call = { .func = bts_do_read, };
	u32 done = 0;
	int got;

	while (done < n) {
		call.rec = rec + done;
		call.n = n - done;
		call.ret = 0;
		got = bts_call(ctx, &call);
		if (got <= 0)
			return done ?: got;
		done += got;
	}

	return done;
}
EXPORT_SYMBOL_IF_KUNIT(bts_read);

static void bts_do_clear(struct bts_call *call)
{
	bts_ring_clear(&call->ctx->ring);
	call->ctx->full = false;
}

/**
 * bts_clear - remove all records
 * @ctx: the context
 */
void bts_clear(struct bts_context *ctx)
{
	struct bts_call call = { .func = bts_do_clear };

	bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_clear);

