// SPDX-License-Identifier: GPL-2.0
/* Shared by the programs in this directory */
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "store.h"

#define INTEL_BTS	"/sys/bus/event_source/devices/intel_bts/type"

const char *const kind_name[NR_KINDS] = {
	[CYCLES]	= "cycles",
	[PERIOD1]	= "branches:u",
	[AUX]		= "intel_bts",
	[AUX_USER]	= "intel_bts:u",
};

bool kind_exists(enum kind kind)
{
	return kind < AUX || read_number(INTEL_BTS) >= 0;
}

/*
 * Map ring and AUX area. If the AUX area is read-only, the kernel overwrites old records in it.
 * Otherwise, perf stops BTS when the AUX area is full.
 */
static bool map_aux(struct trace *t, size_t page)
{
	struct perf_event_mmap_page *ring;

	t->ring = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (t->ring == MAP_FAILED)
		return false;
	ring = t->ring;
	ring->aux_offset = 2 * page;
	ring->aux_size = AUX_SIZE;
	t->aux = mmap(NULL, ring->aux_size, t->stops ? PROT_READ | PROT_WRITE : PROT_READ,
		      MAP_SHARED, t->fd, ring->aux_offset);
	return t->aux != MAP_FAILED;
}

bool trace_start(struct trace *t)
{
	return map_aux(t, sysconf(_SC_PAGESIZE)) && !ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0);
}

int event_open(enum kind kind, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_hv = 1,
		.disabled = kind >= AUX,
		.exclude_kernel = kind == AUX_USER,
	};
	int fd;

	if (kind == PERIOD1) {
		attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_IP;
		attr.exclude_kernel = 1;
	} else if (kind >= AUX) {
		attr.type = read_number(INTEL_BTS);
		attr.config = 0;
	}
	fd = perf_open(&attr, pid, cpu);
	return fd < 0 ? -errno : fd;
}

int trace_open(struct trace *t, enum kind kind, pid_t pid, int cpu)
{
	int err = event_open(kind, pid, cpu);

	*t = (struct trace){ .fd = err };
	if (err < 0)
		return err;
	if (kind < AUX || trace_start(t))
		return 0;
	err = -errno;
	trace_close(t);
	return err;
}

void trace_close(struct trace *t)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (t->aux && t->aux != MAP_FAILED)
		munmap(t->aux, AUX_SIZE);
	if (t->ring && t->ring != MAP_FAILED)
		munmap(t->ring, 2 * page);
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct trace){ .fd = -1 };
}

void keep_perf_on(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};

	if (perf_open(&attr, 0, -1) < 0)
		give_up("dummy event");
}

bool areas_are(bool loaded)
{
	int cpu, other, cpus = get_nprocs();

	for (cpu = 0; cpu < cpus; cpu++) {
		uint64_t area = read_msr(cpu, MSR_DS_AREA);

		if (!!area != loaded) {
			printf("# DS_AREA of CPU %d is %#llx\n", cpu, (unsigned long long)area);
			return false;
		}
		for (other = 0; area && other < cpu; other++) {
			if (read_msr(other, MSR_DS_AREA) == area) {
				printf("# DS_AREA of CPU %d is CPU %d's\n", cpu, other);
				return false;
			}
		}
	}
	return true;
}

static __attribute__((noinline)) void leaf(void)
{
	__asm__ volatile("");
}

pid_t start_spinner(int cpu)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	if (pid)
		return pid;
	if (cpu >= 0)
		pin_to(cpu);
	for (;;) {
		int i;

		for (i = 0; i < 10000; i++)
			leaf();
		sched_yield();
	}
}

void end_spinner(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

size_t read_text(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		give_up("%s", path);
	while (used + 1 < len && (n = read(fd, buf + used, len - 1 - used)) > 0)
		used += n;
	buf[used] = '\0';
	close(fd);
	return used;
}
