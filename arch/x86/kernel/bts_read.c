// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of branch traces: reading
 *
 * See bts.c for who may touch what.
 */

#include <linux/kernel.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "bts_internal.h"

static void bts_do_status(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;

	bts_ring_settle(ring);
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
 * bts_status - how a trace is doing
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

	bts_ring_settle(ring);
	call->ret = bts_ring_peek(ring, &call->seq, call->run);
}

/**
 * bts_peek - find records
 * @ctx: the context
 * @seq: the running number of the first that is wanted; that of the oldest one goes
 *	here if the wanted one is gone
 * @rec: where a pointer to it goes
 *
 * While the context is live on a CPU, what is found may be overwritten at any
 * time; bts_consume() tells.
 *
 * Return: how many stand in a row, 0 for none.
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
 * bts_consume - give up records that were read
 * @ctx: the context
 * @first: the running number of the first
 * @n: how many
 *
 * Return: how many of the oldest of them were overwritten since bts_peek(), so
 * that what was copied there is garbage.
 */
int bts_consume(struct bts_context *ctx, u64 first, u32 n)
{
	struct bts_call call = { .func = bts_do_consume, .seq = first, .n = n };

	return bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_consume);

/* How many are copied with interrupts off. */
#define BTS_READ_CHUNK	256

/*
 * Move some records from the ring to @call->rec. What comes next is @call->seq
 * if it has not been overwritten since the last time.
 */
static void bts_do_read(struct bts_call *call)
{
	struct bts_ring *ring = &call->ctx->ring;
	struct x86_bts_record *rec = call->rec;
	const struct x86_bts_record *run;
	u32 n, room = call->n;
	u64 oldest = 0;

	bts_ring_settle(ring);
	n = bts_ring_peek(ring, &oldest, &run);
	if (!call->end) {
		call->end = ring->head;
		call->seq = ring->tail;
	}
	if (!n || ring->tail >= call->end)
		return;

	if (ring->tail != call->seq) {
		bts_lost_mark(ring, rec++, ring->tail - call->seq);
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
 * bts_read - read records, oldest first, and take them out
 * @ctx: the context
 * @rec: where they go
 * @n: for how many there is room
 *
 * Of those that come in meanwhile, and the kernel makes some by reading, none is
 * read. If some are overwritten after older ones have been read, X86_BTS_LOST tells
 * how many.
 *
 * Return: how many there were.
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
 * bts_clear - forget all records
 * @ctx: the context
 */
void bts_clear(struct bts_context *ctx)
{
	struct bts_call call = { .func = bts_do_clear };

	bts_call(ctx, &call);
}
EXPORT_SYMBOL_IF_KUNIT(bts_clear);

