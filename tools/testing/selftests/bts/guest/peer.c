// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"

#define AREA_SIZE	(4UL << 20)
#define RECORD_SIZE	24	/* of the AUX area: from, to, flags */

struct peer {
	int fd;
	bool aux;
	struct perf_event_mmap_page *page;
	const char *area;
	uint64_t sum;		/* of from ^ to of all branches that were read */
};

void fail(const char *fmt, ...)
{
	va_list ap;

	printf("1..1\nnot ok 1 - figure # ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
}

void report(double value)
{
	printf("1..1\n# measure %.2f\nok 1 - figure\n", value);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

static int intel_bts_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/intel_bts/type", "r");
	int type;

	if (!f || fscanf(f, "%d", &type) != 1)
		fail("no intel_bts: the guest needs pti=off");
	fclose(f);
	return type;
}

static void *map(int fd, size_t size, off_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (p == MAP_FAILED)
		fail("mmap of %zu bytes of the event: %s", size, strerror(errno));
	return p;
}

struct peer *peer_open(const char *name, pid_t pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	size_t page = sysconf(_SC_PAGESIZE), ring = AREA_SIZE;
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		fail("no memory");
	peer->aux = !strcmp(name, "intel_bts");
	if (peer->aux) {
		attr.type = intel_bts_type();
		ring = page;
	} else {
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	}
	peer->fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (peer->fd < 0)
		fail("perf_event_open of %s: %s", name, strerror(errno));
	peer->page = map(peer->fd, page + ring, 0);
	peer->area = (char *)peer->page + page;
	if (peer->aux) {
		peer->page->aux_offset = page + ring;
		peer->page->aux_size = AREA_SIZE;
		peer->area = map(peer->fd, AREA_SIZE, page + ring);
	}
	return peer;
}

void peer_enable(struct peer *peer)
{
	if (ioctl(peer->fd, PERF_EVENT_IOC_ENABLE, 0))
		fail("enable: %s", strerror(errno));
}

void peer_disable(struct peer *peer)
{
	if (ioctl(peer->fd, PERF_EVENT_IOC_DISABLE, 0))
		fail("disable: %s", strerror(errno));
}

/* Records consist of whole words, so no word crosses the end of the area. */
static uint64_t word(const struct peer *peer, uint64_t at)
{
	return *(const volatile uint64_t *)(peer->area + (at & (AREA_SIZE - 1)));
}

static unsigned long read_samples(struct peer *peer)
{
	uint64_t head = __atomic_load_n(&peer->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = peer->page->data_tail;
	union {
		struct perf_event_header header;
		uint64_t word;
	} first;
	unsigned long count = 0;

	for (; tail < head; tail += first.header.size) {
		first.word = word(peer, tail);
		if (first.header.type == PERF_RECORD_LOST)
			fail("the ring lost branches");
		if (first.header.type != PERF_RECORD_SAMPLE)
			continue;
		peer->sum += word(peer, tail + 8) ^ word(peer, tail + 16);
		count++;
	}
	__atomic_store_n(&peer->page->data_tail, tail, __ATOMIC_RELEASE);
	return count;
}

static void check_aux(struct peer *peer)
{
	uint64_t head = __atomic_load_n(&peer->page->data_head, __ATOMIC_ACQUIRE);
	const char *ring = (char *)peer->page + sysconf(_SC_PAGESIZE);
	uint64_t at = peer->page->data_tail;
	size_t size = peer->page->data_size;

	/* The sizes of records are multiples of 8 bytes, so no word crosses the ring's end. */
	while (at < head) {
		const struct perf_event_header *header = (const void *)(ring + at % size);

		if (header->type == PERF_RECORD_AUX &&
		    *(uint64_t *)(ring + (at + 24) % size) & PERF_AUX_FLAG_TRUNCATED)
			fail("the AUX area lost branches");
		at += header->size;
	}
	__atomic_store_n(&peer->page->data_tail, head, __ATOMIC_RELEASE);
}

static unsigned long read_records(struct peer *peer)
{
	uint64_t head = __atomic_load_n(&peer->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = peer->page->aux_tail;
	unsigned long count = 0;

	while (tail < head) {
		size_t left = AREA_SIZE - (tail & (AREA_SIZE - 1));

		if (left < RECORD_SIZE) {
			tail += left;
			continue;
		}
		/* The kernel pads the area with zeros. */
		if (word(peer, tail)) {
			peer->sum += word(peer, tail) ^ word(peer, tail + 8);
			count++;
		}
		tail += RECORD_SIZE;
	}
	__atomic_store_n(&peer->page->aux_tail, head, __ATOMIC_RELEASE);
	check_aux(peer);
	return count;
}

unsigned long peer_read(struct peer *peer)
{
	return peer->aux ? read_records(peer) : read_samples(peer);
}

void peer_skip(struct peer *peer)
{
	struct perf_event_mmap_page *page = peer->page;

	if (peer->aux)
		page->aux_tail = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
	page->data_tail = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}
