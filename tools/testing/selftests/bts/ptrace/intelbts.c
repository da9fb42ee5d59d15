// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../guest/traced.h"
#include "../guest/tracee.h"
#include "intelbts.h"

void intel_bts_for_all(void)
{
	if (intel_bts_type() < 0)
		give_up("no intel_bts");
	write_file("/proc/sys/kernel/perf_event_paranoid", "-1");
}

int intel_bts_open(void)
{
	struct perf_event_attr attr = {
		.type = intel_bts_type(),
		.size = sizeof(attr),
		.exclude_kernel = 1,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int intel_bts_errno(void *unused)
{
	int fd = intel_bts_open();

	(void)unused;
	return fd < 0 ? -fd : 0;
}
