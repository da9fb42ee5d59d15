// SPDX-License-Identifier: GPL-2.0
/* What else goes on in the system while traces are made, read, and ended. */
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>

#include "../bench/traced.h"
#include "noise.h"

#define RECORDER	"/sys/kernel/tracing/hw_branches/"
#define EVENTS		"/sys/kernel/tracing/events/"
#define AUX_PAGES	4

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return done;
}

static void moment(unsigned int ms)
{
	usleep(rng(ms * 1000));
}

/*
 * What is to be known of by whoever makes a request: one writer
 */

static void change(void)
{
	__atomic_add_fetch(&shared->globals.seq, 1, __ATOMIC_SEQ_CST);
}

static void set_global(const char *path, uint32_t *value, uint32_t to)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", to);
	change();
	if (!put(path, text))
		violation("%s to %s: %s", text, path, strerror(errno));
	*value = to;
	change();
}

static void switch_sysctl(void)
{
	set_global("/proc/sys/kernel/ptrace_bts", &shared->globals.sysctl, rng(2));
	moment(20);
	set_global("/proc/sys/kernel/ptrace_bts", &shared->globals.sysctl, 2);
}

static void switch_paranoid(void)
{
	const char *path = "/proc/sys/kernel/perf_event_paranoid";

	set_global(path, (uint32_t *)&shared->globals.paranoid, 1);
	moment(50);
	set_global(path, (uint32_t *)&shared->globals.paranoid, 2);
}

/*
 * perf
 */

static bool any_trace(bool perhaps)
{
	unsigned int i, j;

	for (i = 0; i < NR_TRACERS; i++) {
		struct tracer_shared *tracer = &shared->tracers[i];

		for (j = 0; j < NR_TRACEES; j++) {
			struct tracee_shared *t = &tracer->tracees[j];

			if (perhaps && (t->pages || t->pending))
				return true;
			if (!perhaps && t->pages && !t->pending && !tracer->dying &&
			    !(t->killed && t->killed == t->pid))
				return true;
		}
	}
	return false;
}

static int open_event(bool aux, int type)
{
	struct perf_event_attr attr = {
		.type = aux ? type : PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = aux ? 0 : PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.exclude_hv = 1,
		.exclude_kernel = !aux,
		.disabled = 1,
	};

	if (!aux) {
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_IP;
	}
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void perf_comes_and_goes(bool recorder)
{
	uint32_t version = __atomic_load_n(&shared->version, __ATOMIC_SEQ_CST);
	bool sure = recorder || any_trace(false), perhaps = recorder || any_trace(true);
	int type = intel_bts_type(), fd, err;

	change();
	fd = open_event(type >= 0 && chance(2), type);
	err = fd < 0 ? errno : 0;
	shared->globals.perf = fd >= 0;
	change();

	if (version == __atomic_load_n(&shared->version, __ATOMIC_SEQ_CST) &&
	    (sure ? err != EBUSY : err && !perhaps))
		violation("an event of perf: %d, traces: %s%s", err, sure ? "some" : "none",
			  recorder ? ", recorder" : "");
	if (err && err != EBUSY)
		violation("an event of perf: %d", err);
	if (fd < 0)
		return;
	moment(30);
	change();
	close(fd);
	shared->globals.perf = 0;
	change();
}

/*
 * The flight recorder and its triggers
 */

static const char *const triggers[] = {
	"branches:3", "branches:2:all", "branches:1:freeze",
};

static const char *const events[] = { "sched/sched_switch", "signal/signal_deliver" };

static void pull_triggers(void)
{
	const char *event = events[rng(ARRAY_SIZE(events))];
	const char *trigger = triggers[rng(ARRAY_SIZE(triggers))];
	char path[128], end[64];

	snprintf(path, sizeof(path), EVENTS "%s/trigger", event);
	if (!put(path, trigger))
		violation("%s to %s: %s", trigger, path, strerror(errno));
	moment(20);
	snprintf(end, sizeof(end), "!%s", trigger);
	if (!put(path, end))
		violation("%s to %s: %s", end, path, strerror(errno));
	put(RECORDER "freeze", "0");
}

static void record(void)
{
	if (!put(RECORDER "enable", "1")) {
		violation("the recorder: %s", strerror(errno));
		return;
	}
	moment(20);
	switch (rng(4)) {
	case 0:
		put(RECORDER "freeze", "1");
		moment(10);
		put(RECORDER "freeze", "0");
		break;
	case 1:
		perf_comes_and_goes(true);
		break;
	default:
		pull_triggers();
	}
	put(RECORDER "enable", "0");
}

static void disturb(unsigned int kinds)
{
	uint32_t kind = rng(10);

	if (kind < 2 && kinds & NOISE_SYSCTL)
		switch_sysctl();
	else if (kind < 4 && kinds & NOISE_SYSCTL)
		switch_paranoid();
	else if (kind < 8 && kinds & NOISE_PERF)
		perf_comes_and_goes(false);
	else if (kinds & NOISE_RECORDER)
		record();
}

/*
 * CPUs
 */

static void cpu_comes_and_goes(void)
{
	char path[80];
	int cpus = get_nprocs_conf();

	if (cpus < 2)
		return;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 1 + (int)rng(cpus - 1));
	put(path, "0");
	moment(100);
	if (!put(path, "1"))
		violation("%s: %s", path, strerror(errno));
}

/* One process for what is one piece of knowledge, and one for the CPUs. */
static void noise_main(unsigned int kinds, unsigned int number)
{
	rng_seed(shared->seed, 1000, number, 0);
	while (!shared->stop) {
		moment(kinds & NOISE_HOTPLUG ? 500 : 100);
		if (kinds & NOISE_HOTPLUG)
			cpu_comes_and_goes();
		else
			disturb(kinds);
	}
	_exit(0);
}

static pid_t start(unsigned int kinds, unsigned int number)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	if (!pid)
		noise_main(kinds, number);
	return pid;
}

void noise_start(unsigned int kinds)
{
	if (kinds & (NOISE_SYSCTL | NOISE_PERF | NOISE_RECORDER))
		start(kinds & ~NOISE_HOTPLUG, 0);
	if (kinds & NOISE_HOTPLUG)
		start(NOISE_HOTPLUG, 1);
}
