// SPDX-License-Identifier: GPL-2.0
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../guest/tracee.h"
#include "uring.h"

static struct io_uring_params params;
static struct io_uring_sqe *requests;
static char *rings;
static int uring;

static void *map(unsigned long size, unsigned long what)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring,
			(off_t)what);

	if (at == MAP_FAILED)
		give_up("mmap");
	return at;
}

void uring_new(unsigned int flags, unsigned int idle)
{
	params.flags = flags;
	params.sq_thread_idle = idle;
	uring = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (uring < 0)
		give_up("io_uring_setup");
	if (!(params.features & IORING_FEAT_SINGLE_MMAP))
		give_up("an io_uring of one mapping");
	/* Each of the two mappings fits in a page. */
	rings = map(4096, IORING_OFF_SQ_RING);
	requests = map(4096, IORING_OFF_SQES);
}

int uring_ask(const struct io_uring_sqe *what)
{
	unsigned int *sq_tail = (unsigned int *)(rings + params.sq_off.tail);
	unsigned int *sq_array = (unsigned int *)(rings + params.sq_off.array);
	unsigned int *cq_head = (unsigned int *)(rings + params.cq_off.head);
	unsigned int cq_mask = *(unsigned int *)(rings + params.cq_off.ring_mask);
	struct io_uring_cqe *answers = (struct io_uring_cqe *)(rings + params.cq_off.cqes);
	int answer;

	requests[0] = *what;
	requests[0].flags |= IOSQE_ASYNC;
	sq_array[0] = 0;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, uring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		give_up("io_uring_enter");
	answer = answers[*cq_head & cq_mask].res;
	__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
	return answer;
}
