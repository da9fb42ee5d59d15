// SPDX-License-Identifier: GPL-2.0
/*
 * Record a trace that the oracle can check: intel_bts traces CPU 0 while the emulator logs each
 * instruction that it executes. Then save the records, and the code that ran, to files on the host.
 * The oracle (../oracle) compares the records with the log.
 *
 *   window user             user mode only
 *   window flags            sequence() in user mode only; the log has the registers, too
 *   window kernel RECORDS   user mode and kernel, until there are at least RECORDS records
 *
 * The printed line `# oracle ...` has the arguments for the oracle. The files are in the directory
 * of the test case.
 */
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../guest/handover.h"
#include "../guest/traced.h"
#include "../guest/workload.h"
#include "../guest/guest.h"

#define PAGE		4096ul
#define RING_PAGES	64ul
#define USER_ROUNDS	6

static struct perf_event_mmap_page *ring;
static u8 *aux;
static size_t aux_size;

static int open_cpu0(bool kernel)
{
	struct perf_event_attr attr = {
		.type = intel_bts_type(),
		.size = sizeof(attr),
		.disabled = 1,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};
	int fd;

	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	ring = mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -1;
	ring->aux_offset = (1 + RING_PAGES) * PAGE;
	ring->aux_size = aux_size;
	aux = mmap(NULL, aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   ring->aux_offset);
	return aux == MAP_FAILED ? -1 : fd;
}

/* Returns true if no AUX record reports lost data, and the ring has not wrapped. */
static bool aux_is_complete(void)
{
	const u8 *data = (const u8 *)ring + ring->data_offset;
	const struct perf_event_header *h;
	u64 pos, flags;

	for (pos = 0; pos < ring->data_head; pos += h->size) {
		h = (const void *)(data + pos % ring->data_size);
		if (h->type != PERF_RECORD_AUX)
			continue;
		flags = ((const u64 *)(h + 1))[2];
		if (flags & PERF_AUX_FLAG_TRUNCATED)
			return false;
	}
	return ring->data_head <= ring->data_size;
}

static bool trace_user(int fd)
{
	bool good = true;
	int i;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < USER_ROUNDS; i++)
		good &= workload_faults(WORKLOAD_FORK | WORKLOAD_TIMER);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return good;
}

static bool trace_flags(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	sequence(NULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return true;
}

static bool trace_kernel(int fd, u64 records)
{
	volatile u64 *head = (volatile u64 *)&ring->aux_head;
	bool good = true;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* The driver does not update aux_head at each record, so there may be more records. */
	while (good && *head < records * 24)
		good = workload_faults(WORKLOAD_FORK | WORKLOAD_TIMER) && workload_kernel();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return good;
}

int main(int argc, char **argv)
{
	bool kernel = argc > 2 && !strcmp(argv[1], "kernel"), good;
	bool flags = argc > 1 && !strcmp(argv[1], "flags");
	u64 records = kernel ? strtoull(argv[2], NULL, 0) : 1;
	cpu_set_t cpu0;
	int fd;

	plan(5);
	CPU_ZERO(&cpu0);
	CPU_SET(0, &cpu0);
	sched_setaffinity(0, sizeof(cpu0), &cpu0);
	/* Make room for @records and one piece of the buffer (4 MiB), as a power of two. */
	for (aux_size = 4 << 20; aux_size < records * 24 + (4 << 20);)
		aux_size *= 2;
	fd = open_cpu0(kernel);
	if (!ok(fd >= 0, "intel_bts on CPU 0")) {
		printf("# %s\n", strerror(errno));
		return finish();
	}
	workload_prepare();
	ok(workload_faults(WORKLOAD_FORK | WORKLOAD_TIMER), "workload untraced");
	hmp("singlestep on", NULL, 0);
	log_on(flags ? "exec,nochain,int,cpu" : "exec,nochain,int");
	good = kernel ? trace_kernel(fd, records) :
	       flags ? trace_flags(fd) : trace_user(fd);
	log_off();
	hmp("singlestep off", NULL, 0);
	ok(good, "workload traced");
	printf("# %llu bytes of records\n", (unsigned long long)ring->aux_head);
	ok(aux_is_complete() && ring->aux_head >= records * 24,
	   "records complete by the driver's account");
	ok(hand_over("records", (u64)aux, ring->aux_head, false) &&
	   hand_over_code(), "records and code handed over");
	hand_over_arguments();
	return finish();
}
