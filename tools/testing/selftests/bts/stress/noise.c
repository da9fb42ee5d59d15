// SPDX-License-Identifier: GPL-2.0
/* Other activity in the system while traces are made, read and ended. */
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>

#include "../guest/traced.h"
#include "../guest/system.h"
#include "../guest/labs/bts/lab.h"
#include "noise.h"

#define RECORDER	"/sys/kernel/tracing/hw_branches/"
#define EVENTS		"/sys/kernel/tracing/events/"

static bool put(const char *path, const char *text)
{
	errno = -try_text(path, text);
	return !errno;
}

void noise_done(unsigned int kind)
{
	__atomic_add_fetch(&shared->noise_done[__builtin_ctz(kind)], 1, __ATOMIC_RELAXED);
}

/* Write to a file. Report a violation if that fails. */
static void must_put(const char *path, const char *text)
{
	if (!put(path, text))
		violation("'%s' to %s: %s", text, path, strerror(errno));
}

static void moment(unsigned int ms)
{
	usleep(rng(ms * 1000));
}

/*
 * State on which the results of requests depend. Only one noise process changes it.
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
	must_put(path, text);
	*value = to;
	change();
	noise_done(NOISE_SYSCTL);
}

static void switch_sysctl(void)
{
	set_global("/proc/sys/kernel/ptrace_bts", &shared->globals.sysctl, 1 + rng(2));
	moment(20);
	set_global("/proc/sys/kernel/ptrace_bts", &shared->globals.sysctl, 0);
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

/* Events that exclude traces */
enum event { EVENT_SAMPLES, EVENT_AUX, EVENT_LBR };

static enum event any_event(void)
{
	if (shared->noise & NOISE_LBR && chance(2))
		return EVENT_LBR;
	return intel_bts_type() >= 0 && chance(2) ? EVENT_AUX : EVENT_SAMPLES;
}

/* Returns whether a trace exists, or with @perhaps may exist, that keeps the hardware from perf. */
static bool any_firm_trace(bool perhaps)
{
	unsigned int i, j;

	for (i = 0; i < NR_TRACERS; i++) {
		struct tracer_shared *tracer = &shared->tracers[i];

		for (j = 0; j < NR_TRACEES; j++) {
			struct tracee_shared *t = &tracer->tracees[j];

			if (perhaps && (t->firm || t->pending))
				return true;
			if (!perhaps && t->firm && !t->pending && !tracer->dying &&
			    !(t->killed && t->killed == t->pid))
				return true;
		}
	}
	return false;
}

static int open_event(enum event event)
{
	struct perf_event_attr attr = {
		.type = event == EVENT_AUX ? intel_bts_type() : PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = event == EVENT_AUX ? 0 : PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.exclude_hv = 1,
		.exclude_kernel = event != EVENT_AUX,
		.disabled = event != EVENT_LBR,
	};

	if (event == EVENT_SAMPLES) {
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_IP;
	}
	if (event == EVENT_LBR) {
		attr.sample_period = 1000;
		attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	}
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * After the last trace has ended, the hardware stays claimed for a while. Even so, perf gets it,
 * but not while a CPU goes offline or online. So with @again, retry on EBUSY for a second.
 */
static int open_event_beside_hotplug(enum event event, bool again)
{
	int fd, tries = 200;

	do {
		fd = open_event(event);
	} while (fd < 0 && errno == EBUSY && again && tries-- && !usleep(5000));
	return fd;
}

static void perf_comes_and_goes(bool recorder)
{
	uint32_t version = __atomic_load_n(&shared->version, __ATOMIC_SEQ_CST);
	bool sure = recorder || any_firm_trace(false), perhaps = recorder || any_firm_trace(true);
	int fd, err;

	change();
	fd = open_event_beside_hotplug(any_event(), !perhaps);
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
	noise_done(NOISE_PERF);
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
	must_put(path, trigger);
	moment(20);
	snprintf(end, sizeof(end), "!%s", trigger);
	must_put(path, end);
	must_put(RECORDER "freeze", "0");
}

static void watch(void)
{
	/* Nobody else uses hardware breakpoints here, so a watch always gets one. */
	must_put(RECORDER "watch", chance(2) ? "jiffies_64" : "panic_timeout:4:w:freeze");
	moment(20);
	must_put(RECORDER "watch", "\n");
	must_put(RECORDER "freeze", "0");
}

static void record(void)
{
	bool lbr = shared->noise & NOISE_LBR && chance(2);

	must_put(RECORDER "enable", lbr ? "lbr" : "bts");
	moment(20);
	switch (rng(5)) {
	case 0:
		must_put(RECORDER "freeze", "1");
		moment(10);
		must_put(RECORDER "freeze", "0");
		break;
	case 1:
		/* With last branch records, the recorder gives way to perf. */
		perf_comes_and_goes(!lbr);
		break;
	case 2:
		watch();
		break;
	default:
		pull_triggers();
	}
	must_put(RECORDER "enable", "0");
	noise_done(lbr ? NOISE_LBR : NOISE_RECORDER);
}

/*
 * A module that traces a CPU
 */

static void trace_cpu(void)
{
	static const uint32_t flags[] = {
		LAB_USER, LAB_KERNEL, LAB_USER | LAB_KERNEL | LAB_SCHED, LAB_KERNEL | LAB_IDLE,
	};
	struct lab_config config = {
		.target = LAB_CPU, .id = rng(get_nprocs_conf()),
		.flags = flags[rng(ARRAY_SIZE(flags))], .nr = 1 + rng(5000),
	};
	int fd = open("/dev/bts_lab", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, LAB_CONFIG, &config) || ioctl(fd, LAB_START)) {
		violation("a trace of CPU %d, flags %#x: %s", config.id, config.flags,
			  strerror(errno));
	} else {
		moment(20);
		perf_comes_and_goes(true);
	}
	/* Closing the file ends the trace. */
	close(fd);
}

static void module_comes_and_goes(const char *module)
{
	load_module(module, "");
	trace_cpu();
	if (syscall(SYS_delete_module, "bts_lab", O_NONBLOCK))
		violation("the module stays: %s", strerror(errno));
	noise_done(NOISE_MODULE);
}

static void disturb(unsigned int kinds, const char *module)
{
	uint32_t kind = rng(10);

	if (kinds & NOISE_MODULE && chance(6)) {
		module_comes_and_goes(module);
		return;
	}

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
 * CPU hotplug
 */

static void cpu_comes_and_goes(void)
{
	char path[80];
	int cpus = get_nprocs_conf();

	if (cpus < 2)
		return;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 1 + (int)rng(cpus - 1));
	/* Another task may have disabled CPU hotplug for a moment. */
	if (!put(path, "0"))
		return;
	moment(100);
	must_put(path, "1");
	noise_done(NOISE_HOTPLUG);
}

/* One process does CPU hotplug. Another one makes the other noise, without NOISE_KILL. */
static void noise_main(unsigned int kinds, unsigned int number, const char *module)
{
	rng_seed(shared->seed, 1000, number, 0);
	while (!shared->stop) {
		moment(kinds & NOISE_HOTPLUG ? 500 : 100);
		if (kinds & NOISE_HOTPLUG)
			cpu_comes_and_goes();
		else
			disturb(kinds, module);
	}
	_exit(0);
}

static void start(unsigned int kinds, unsigned int number, const char *module)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	if (!pid)
		noise_main(kinds, number, module);
	shared->noise_pids[number] = pid;
}

void noise_start(unsigned int kinds, const char *module)
{
	shared->noise = kinds;
	if (kinds & (NOISE_SYSCTL | NOISE_PERF | NOISE_RECORDER | NOISE_MODULE))
		start(kinds & ~NOISE_HOTPLUG, 0, module);
	if (kinds & NOISE_HOTPLUG)
		start(NOISE_HOTPLUG, 1, NULL);
}
