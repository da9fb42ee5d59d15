// SPDX-License-Identifier: GPL-2.0
/*
 * A watchpoint that shows who has written, and how he got there.
 *
 *   watch MODULE
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "common.h"

#define DEVICE	"/dev/bts_crash"
#define OBJECT	"/sys/module/bts_crash/parameters/object"

struct hit {
	int hits;
	int traces;
	int nr;
	char top[256];
	int work;
};

static struct hit hits_of(const char *word)
{
	struct hit hit = { };
	char line[1024];

	skip_log();
	if (put(DEVICE, word))
		give_up("%s", word);
	usleep(200000);
	while (read_log(line, sizeof(line))) {
		char *arrow = strstr(line, " <- ");

		hit.hits += !!strstr(line, "watch hit on CPU");
		hit.traces += !!strstr(line, "Last branches of CPU");
		if (hit.traces != 1 || !arrow)
			continue;
		if (!hit.nr++)
			snprintf(hit.top, sizeof(hit.top), "%s", arrow + 4);
		hit.work += within(arrow + 4, "bts_crash_work");
	}
	return hit;
}

static bool shows(struct hit hit, const char *function)
{
	bool good = hit.hits == 1 && hit.traces == cpus() && hit.nr == 32 &&
		    within(hit.top, function);

	if (!good)
		printf("# %d hits, %d traces, %d branches, from %s\n", hit.hits, hit.traces,
		       hit.nr, hit.top);
	return good;
}

static void test_hits(void)
{
	char *object, text[64];
	struct hit hit;

	ok(!set("watch", "bts_crash_global:4") && is("watch", "bts_crash_global:4"),
	   "a global is watched");
	hit = hits_of("write");
	ok(shows(hit, "bts_crash_write") && hit.work >= 5, "written: by whom, and the way there");
	ok(!hits_of("read").hits, "read: that is not asked for");
	ok(shows(hits_of("write"), "bts_crash_write"), "written again");
	must_set("watch", "bts_crash_global:4:rw");
	ok(hits_of("read").hits == 1, "read: that is asked for");
	object = get("../../../module/bts_crash/parameters/object");
	snprintf(text, sizeof(text), "0x%llx:4:w", strtoull(object, NULL, 10));
	must_set("watch", text);
	ok(shows(hits_of("writeobject"), "bts_crash_write"), "an object of the slab is written");
	ok(!hits_of("write").hits, "the global is not watched any more");
	must_set("watch", "bts_crash_global:4:freeze");
	ok(shows(hits_of("write"), "bts_crash_write") && is("freeze", "1") && !recording(0),
	   "freeze: it stays frozen");
	ok(!hits_of("write").hits, "freeze: and is not hit again");
	must_set("freeze", "0");
	must_set("watch", "\n");
	ok(!hits_of("write").hits && is("watch", ""), "no watch, no hit");
}

static int breakpoint(int cpu, pid_t pid, void *address)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (unsigned long)address,
		.bp_len = HW_BREAKPOINT_LEN_4,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
}

static void test_refusals(void)
{
	static int slot[4], i;

	must_set("watch", "bts_crash_global:4");
	ok(set("watch", "no_such_symbol") == -ENOENT, "no such symbol");
	ok(set("watch", "0x1000:4") == -EFAULT, "an address of user space");
	ok(set("watch", "bts_crash_global:3") == -EINVAL &&
	   set("watch", "bts_crash_global:16") == -EINVAL &&
	   set("watch", "bts_crash_global:x") == -EINVAL, "no such length");
	ok(set("watch", "bts_crash_global+1:4") == -EINVAL, "not aligned");
	ok(is("watch", "bts_crash_global:4") && hits_of("write").hits == 1,
	   "refused: the former is in force");
	must_set("watch", "\n");
	for (i = 0; i < 4; i++)
		slot[i] = breakpoint(-1, 0, &slot[i]);
	ok(slot[3] >= 0 && set("watch", "bts_crash_global:4") == -ENOSPC, "no breakpoint left");
	for (i = 0; i < 4; i++)
		close(slot[i]);
}

/* perf's breakpoint of this program counts on. */
static void test_beside(void)
{
	static volatile int var;
	int fd = breakpoint(-1, 0, (void *)&var), i;
	long long count = 0;

	must_set("watch", "bts_crash_global:4");
	for (i = 0; i < 5; i++)
		var = i;
	ok(shows(hits_of("write"), "bts_crash_write"), "beside another breakpoint");
	ok(read(fd, &count, sizeof(count)) == sizeof(count) && count == 5,
	   "which counts on: %lld", count);
	close(fd);
}

/* A CPU that comes back is watched again. */
static void test_hotplug(void)
{
	static const char *const online = "/sys/devices/system/cpu/cpu1/online";

	if (put(online, "0") || put(online, "1"))
		give_up("%s", online);
	usleep(100000);
	run_on(1);
	ok(shows(hits_of("write"), "bts_crash_write"), "on a CPU that has come back");
	run_on(0);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s MODULE\n", argv[0]);
		return 2;
	}
	load(argv[1], "");
	open_log();
	must_set("enable", "1");
	run_on(0);
	usleep(20000);
	test_hits();
	/* messages are limited to 10 in 5 seconds */
	usleep(5000000);
	test_refusals();
	test_beside();
	test_hotplug();
	return finish();
}
