// SPDX-License-Identifier: GPL-2.0
/* Helpers for the module debugctl_lab, for events of perf, and for files. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "debugctl.h"

#define LAB_DEVICE	"/dev/debugctl_lab"
#define RING_PAGES	64

static int lab_fd = -1;

void load_lab(const char *path)
{
	load_module(path, "");
	lab_fd = open(LAB_DEVICE, O_RDWR | O_CLOEXEC);
	if (lab_fd < 0)
		give_up(LAB_DEVICE);
}

void lab(unsigned long request, void *arg)
{
	if (ioctl(lab_fd, request, arg))
		give_up("laboratory, request %lu", request & 0xff);
}

struct lab_state lab_read(void)
{
	struct lab_state state;

	lab(LAB_READ, &state);
	return state;
}

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

bool open_branches(struct branch_event *event, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	event->fd = perf_open(&attr, pid, -1);
	if (event->fd < 0)
		return false;
	event->size = (1 + RING_PAGES) * sysconf(_SC_PAGESIZE);
	event->page = mmap(NULL, event->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   event->fd, 0);
	if (event->page != MAP_FAILED)
		return true;
	close(event->fd);
	return false;
}

/* Count the samples in the ring, and empty it. */
uint64_t count_branches(struct branch_event *event)
{
	size_t size = RING_PAGES * sysconf(_SC_PAGESIZE);
	char *ring = (char *)event->page + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&event->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = event->page->data_tail;
	uint64_t n = 0;

	while (tail < head) {
		struct perf_event_header *record = (void *)(ring + tail % size);

		n += record->type == PERF_RECORD_SAMPLE;
		tail += record->size;
	}
	__atomic_store_n(&event->page->data_tail, tail, __ATOMIC_RELEASE);
	return n;
}

void close_branches(struct branch_event *event)
{
	munmap(event->page, event->size);
	close(event->fd);
}

long read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return text[0] ? strtol(text, NULL, 0) : -1;
}

bool write_text(const char *path, const char *text)
{
	return !try_text(path, text);
}
