// SPDX-License-Identifier: GPL-2.0
/*
 * After a trace, the kernel keeps the hardware for some seconds, for the next trace. An event of
 * perf that counts branches with period 1 takes the hardware back. If the event joins a group, perf
 * holds the mutex of the group's perf_event_context then. CPU hotplug takes this mutex, too. Open
 * such events while their CPU goes offline and online: there must be no deadlock.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/tracee.h"

#define ONLINE		"/sys/devices/system/cpu/cpu1/online"
#define CPU		1
#define ROUNDS		200

static int event_open(uint64_t config, uint64_t period, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, CPU, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Make and end a trace, so that the kernel keeps the hardware. Then open an event that joins a
 * group. The event counts branches with period 1, and so takes the hardware back. Returns 0 or
 * -errno.
 */
static int take_back(struct tracee *t)
{
	int leader, sibling;

	if (bts_config(t->pid, TRACE | ALLOC, RECORDS(100), 0) ||
	    bts_config(t->pid, PTRACE_BTS_F_END, 0, 0))
		give_up("a trace");
	leader = event_open(PERF_COUNT_HW_CPU_CYCLES, 0, -1);
	if (leader < 0)
		return leader;
	sibling = event_open(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1, leader);
	if (sibling >= 0)
		close(sibling);
	close(leader);
	return sibling < 0 ? sibling : 0;
}

static pid_t start_switching(void)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	while (!pid) {
		write_file(ONLINE, "0");
		write_file(ONLINE, "1");
	}
	return pid;
}

int main(void)
{
	struct tracee t = tracee_new();
	int i, err, taken = 0, odd = 0;
	pid_t switcher;

	ok(!take_back(&t), "an event that joins a group takes the hardware");
	switcher = start_switching();
	for (i = 0; i < ROUNDS; i++) {
		err = take_back(&t);
		taken += !err;
		/* The CPU may be offline (-ENODEV) or changing its state (-EBUSY). */
		odd += err && err != -ENODEV && err != -EBUSY;
	}
	kill(switcher, SIGKILL);
	waitpid(switcher, NULL, 0);
	write_file(ONLINE, "1");
	printf("# %d of %d rounds took it\n", taken, ROUNDS);
	ok(!odd, "and does so, or is refused, while the CPU comes and goes");
	ok(!take_back(&t), "and takes it behind that");
	tracee_end(&t);
	return finish();
}
