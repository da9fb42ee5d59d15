// SPDX-License-Identifier: GPL-2.0
/* Events of perf that record branches on the stock kernel too, and the comparison of records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "traced.h"
#include "guest.h"

#define PAGE		4096ul
#define BTS_RECORD	24

struct sample {
	struct perf_event_header header;
	u64 ip;
	u64 addr;
};

void recs_add(struct recs *recs, u64 from, u64 to)
{
	if (recs->nr == recs->room) {
		recs->room = recs->room ? recs->room * 2 : 4096;
		recs->rec = realloc(recs->rec, recs->room * sizeof(*recs->rec));
		if (!recs->rec)
			abort();
	}
	recs->rec[recs->nr++] = (struct rec){ .from = from, .to = to };
}

void recs_free(struct recs *recs)
{
	free(recs->rec);
	*recs = (struct recs){ };
}

static void add_user(struct recs *recs, u64 from, u64 to)
{
	if (!((from | to) >> 63))
		recs_add(recs, from, to);
}

int intel_bts_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/intel_bts/type", "r");
	int type = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &type) != 1)
		type = -1;
	fclose(f);
	return type;
}

static size_t power_of_two(size_t pages)
{
	size_t n = 1;

	while (n < pages)
		n *= 2;
	return n;
}

int source_open(struct source *s, enum source_kind kind, size_t room)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	size_t pages = power_of_two(room * sizeof(struct sample) / PAGE + 1);

	*s = (struct source){ .kind = kind };
	if (kind == SOURCE_AUX) {
		attr.type = intel_bts_type();
	} else {
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	}
	s->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	s->ring_size = (1 + (kind == SOURCE_AUX ? 16 : pages)) * PAGE;
	s->ring = mmap(NULL, s->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       s->fd, 0);
	if (s->ring == MAP_FAILED)
		return -errno;
	if (kind != SOURCE_AUX)
		return 0;
	s->aux_size = pages * PAGE;
	s->ring->aux_offset = s->ring_size;
	s->ring->aux_size = s->aux_size;
	s->aux = mmap(NULL, s->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      s->fd, s->ring_size);
	return s->aux == MAP_FAILED ? -errno : 0;
}

void source_close(struct source *s)
{
	if (s->aux)
		munmap(s->aux, s->aux_size);
	munmap(s->ring, s->ring_size);
	close(s->fd);
}

/*
 * Append the ring's samples with two user addresses to @out, unless @out is NULL. Returns false if
 * samples or data of the AUX area were lost.
 */
static bool collect_ring(struct source *s, struct recs *out)
{
	const u8 *data = (const u8 *)s->ring + s->ring->data_offset;
	u64 pos = s->ring->data_tail, head = s->ring->data_head;
	const struct perf_event_header *h;
	const struct sample *sample;
	bool complete = true;

	/* The ring has room for all expected samples, so it must not have wrapped. */
	if (head > s->ring->data_size)
		return false;
	for (; pos < head; pos += h->size) {
		h = (const void *)(data + pos);
		if (h->type == PERF_RECORD_SAMPLE && out) {
			sample = (const void *)h;
			add_user(out, sample->ip, sample->addr);
		} else if (h->type == PERF_RECORD_LOST ||
			   h->type == PERF_RECORD_LOST_SAMPLES) {
			complete = false;
		} else if (h->type == PERF_RECORD_AUX) {
			/* The header is followed by offset, size and flags. */
			u64 flags = ((const u64 *)(h + 1))[2];

			complete &= !(flags & PERF_AUX_FLAG_TRUNCATED);
		}
	}
	s->ring->data_tail = head;
	return complete;
}

bool source_collect(struct source *s, struct recs *out)
{
	const u64 *rec;
	bool complete;
	u64 pos;

	complete = collect_ring(s, s->kind == SOURCE_AUX ? NULL : out);
	if (s->kind != SOURCE_AUX)
		return complete;
	if (s->ring->aux_head > s->aux_size || s->ring->aux_head % BTS_RECORD)
		return false;
	for (pos = s->ring->aux_tail; pos < s->ring->aux_head; pos += BTS_RECORD) {
		rec = (const u64 *)(s->aux + pos);
		/* The kernel pads the area with zeros. */
		if (rec[0] || rec[1])
			add_user(out, rec[0], rec[1]);
	}
	s->ring->aux_tail = s->ring->aux_head;
	return complete;
}

bool same_records(const struct recs *got, const struct recs *want)
{
	size_t i, j;

	for (i = 0; i < got->nr && i < want->nr; i++) {
		if (memcmp(&got->rec[i], &want->rec[i], sizeof(struct rec)))
			break;
	}
	if (i == got->nr && i == want->nr)
		return true;
	printf("# record %zu of %zu, %zu expected\n", i, got->nr, want->nr);
	for (j = i; j < i + 4; j++) {
		if (j < want->nr)
			printf("#  expected %#llx -> %#llx\n",
			       (unsigned long long)want->rec[j].from,
			       (unsigned long long)want->rec[j].to);
		if (j < got->nr)
			printf("#  recorded %#llx -> %#llx\n",
			       (unsigned long long)got->rec[j].from,
			       (unsigned long long)got->rec[j].to);
	}
	return false;
}
