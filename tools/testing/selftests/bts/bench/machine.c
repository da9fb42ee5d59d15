// SPDX-License-Identifier: GPL-2.0
/*
 * Check that the kernel detects the PMU and the Debug Store of the emulated machine, and which
 * events perf allows.
 *
 *   machine pti|nopti		whether the kernel uses page-table isolation
 */
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../guest/traced.h"
#include "../guest/guest.h"

#define READ_ALL	3

static bool kernel_said(const char *words)
{
	static char log[1 << 18];
	int n;

	n = klogctl(READ_ALL, log, sizeof(log) - 1);
	if (n < 0)
		return false;
	log[n] = '\0';
	return strstr(log, words);
}

/* Try to open an event. Returns 0, or -errno. */
static int try_event(u32 type, u64 config, bool kernel)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.disabled = 1,
		.exclude_kernel = !kernel,
	};
	int fd;

	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	bool nopti = argc > 1 && !strcmp(argv[1], "nopti");
	char answer[1024];

	plan(8);
	ok(cpu_has("bts") && cpu_has("ds_cpl") && cpu_has("dtes64"), "features of the processor");
	ok(kernel_said("Intel PMU driver"), "Intel PMU driver");
	ok(cpu_has("pti") == !nopti, "page-table isolation");
	/* With page-table isolation, the kernel does not register intel_bts. */
	ok((intel_bts_type() >= 0) == nopti, "intel_bts %s",
	   nopti ? "present" : "absent");
	ok(!try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false),
	   "period-1 event for user mode");
	ok(!nopti || !try_event(intel_bts_type(), 0, true),
	   "intel_bts with the kernel");
	ok(!hmp("info bts", answer, sizeof(answer)) && strstr(answer, "cpu0 records=") &&
	   strstr(answer, "total records="), "counters from outside");
	ok(!bts_counter("faults"), "no fault of the Debug Store");
	return finish();
}
