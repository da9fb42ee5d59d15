// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the file "watch": a watchpoint prints which code has accessed the watched memory, and
 * the branches that led to the access.
 *
 *   watch MODULE
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../guest/recorder.h"

#define DEVICE	"/dev/bts_crash"
#define OBJECT	"/sys/module/bts_crash/parameters/object"

struct hit {
	int hits;
	int traces;
	int lines;
	int nr;
	char to[256];		/* the newest branch */
	char from[256];
	int work;
	int suppressed;		/* number of messages about hits that are not printed */
};

static void read_hit(struct hit *hit)
{
	char line[1024];

	while (read_log(line, sizeof(line))) {
		char *arrow = strstr(line, " <- ");

		hit->hits += !!strstr(line, "watch hit on CPU");
		hit->suppressed += !!strstr(line, "suppressed");
		hit->traces += !!strstr(line, "Last branches of CPU");
		hit->lines += !!arrow;
		if (hit->traces != 1 || !arrow)
			continue;
		if (!hit->nr++) {
			if (sscanf(line, "%*d %255s", hit->to) != 1)
				give_up("no branch: %s", line);
			snprintf(hit->from, sizeof(hit->from), "%s", arrow + 4);
		}
		hit->work += within(arrow + 4, "bts_crash_work");
	}
}

/*
 * Write @word to the module, and read what the watchpoint prints. If @wanted, wait up to five
 * seconds for the first line, which may come late on a busy host.
 */
static struct hit hits_of(const char *word, bool wanted)
{
	int lines, tries = wanted ? 25 : 1;
	struct hit hit = { };

	skip_log();
	if (try_text(DEVICE, word))
		give_up("%s", word);
	do {
		lines = hit.lines;
		usleep(200000);
		read_hit(&hit);
	} while (hit.lines > lines || (!hit.lines && --tries));
	return hit;
}

/*
 * The newest branch is the #DB in @function. If a #DB clears TR, it is not recorded. Then the
 * newest branch leads to @function.
 */
static bool shows(struct hit hit, const char *function)
{
	bool good = hit.hits == 1 && hit.traces == cpus() && hit.nr == 32 &&
		    (within(hit.from, function) || within(hit.to, function));

	if (!good)
		printf("# %d hits, %d traces, %d branches, to %s from %s\n", hit.hits, hit.traces,
		       hit.nr, hit.to, hit.from);
	return good;
}

static void test_hits(void)
{
	char *object, text[64];
	struct hit hit;

	ok(!set("watch", "bts_crash_global:4") && is("watch", "bts_crash_global:4"),
	   "a global is watched");
	hit = hits_of("write", true);
	ok(shows(hit, "bts_crash_write") && hit.work >= 5, "written: by whom, and the way there");
	ok(!hits_of("read", false).hits, "read: that is not asked for");
	ok(shows(hits_of("write", true), "bts_crash_write"), "written again");
	must_set("watch", "bts_crash_global:4:rw");
	ok(hits_of("read", true).hits == 1, "read: that is asked for");
	object = get("../../../module/bts_crash/parameters/object");
	snprintf(text, sizeof(text), "0x%llx:4:w", strtoull(object, NULL, 10));
	must_set("watch", text);
	ok(shows(hits_of("writeobject", true), "bts_crash_write"),
	   "an object of the slab is written");
	ok(!hits_of("write", false).hits, "the global is not watched any more");
	must_set("watch", "bts_crash:bts_crash_global:4:w");
	ok(shows(hits_of("write", true), "bts_crash_write"), "a symbol of a module by name");
	ok(syscall(SYS_delete_module, "bts_crash", O_NONBLOCK) < 0,
	   "which stays while it is watched");
	must_set("watch", "bts_crash_global:4:freeze");
	ok(shows(hits_of("write", true), "bts_crash_write") && is("freeze", "1") && !recording(0),
	   "freeze: it stays frozen");
	ok(!hits_of("write", false).hits, "freeze: and is not hit again");
	must_set("freeze", "0");
	must_set("watch", "\n");
	ok(!hits_of("write", false).hits && is("watch", ""), "no watch, no hit");
}

/* Returns the number of hits that are printed within @ms. */
static int hits_in(int ms)
{
	struct hit hit = { };

	usleep(ms * 1000);
	read_hit(&hit);
	return hit.hits;
}

static bool soon_frozen(void)
{
	int tries = 100;

	while (!is("freeze", "1") && --tries)
		usleep(10000);
	return tries;
}

/* Watch a variable that is written at each tick. The recorder must limit what it prints. */
static void test_limit(void)
{
	struct hit hit = { };
	int frozen, tries;

	skip_log();
	must_set("watch", "jiffies_64:8:w");
	/* Wait until the interval of the limit, 5 seconds, is over. */
	usleep(6000000);
	read_hit(&hit);
	must_set("watch", "\n");
	ok(hit.hits && hit.hits <= 20, "of a variable that is always written some are printed: %d",
	   hit.hits);
	ok(!hit.suppressed, "the limit prints nothing itself");
	must_set("watch", "jiffies_64:8:w:freeze");
	for (frozen = 0; frozen < 12 && soon_frozen(); frozen++)
		must_set("freeze", "0");
	ok(frozen == 12, "no limit keeps a hit from freezing: %d times", frozen);
	must_set("watch", "\n");
	must_set("freeze", "0");
	skip_log();
	must_set("watch", "jiffies_64:8:w");
	for (tries = 0; tries < 20 && !hits_in(300); tries++)
		;
	ok(tries < 20, "set anew, the limit begins anew");
	must_set("watch", "\n");
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

/* Return a name that several variables of the kernel have. The name depends on the compiler. */
static const char *ambiguous_name(void)
{
	static const char *const names[] = { "__func__.0", "init_completion.__key" };
	char line[512], name[256];
	unsigned int seen[ARRAY_SIZE(names)] = { };
	FILE *f = fopen("/proc/kallsyms", "re");
	size_t i;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %255s", name) != 1)
			continue;
		for (i = 0; i < ARRAY_SIZE(names); i++)
			seen[i] += !strcmp(name, names[i]);
	}
	if (f)
		fclose(f);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (seen[i] > 1)
			return names[i];
	}
	give_up("no name that several variables have");
}

static void test_refusals(void)
{
	static int slot[4], i;

	must_set("watch", "bts_crash_global:4");
	ok(set("watch", "no_such_symbol") == -ENOENT &&
	   set("watch", "bts_crash:no_such_symbol") == -ENOENT &&
	   set("watch", "no_such_module:bts_crash_global") == -ENOENT, "no such symbol");
	ok(set("watch", ambiguous_name()) == -EADDRNOTAVAIL, "two of that name");
	ok(set("watch", "0x1000:4") == -EFAULT, "an address of user space");
	ok(set("watch", "runqueues:8") == -EFAULT &&
	   set("watch", "bts_crash_percpu:4") == -EFAULT &&
	   set("watch", "bts_crash:bts_crash_percpu:4") == -EFAULT, "a per-CPU variable");
	ok(set("watch", "bts_crash_global:3") == -EINVAL &&
	   set("watch", "bts_crash_global:16") == -EINVAL &&
	   set("watch", "bts_crash_global:x") == -EINVAL, "no such length");
	ok(set("watch", "bts_crash_global+1:4") == -EINVAL, "not aligned");
	ok(is("watch", "bts_crash_global:4") && hits_of("write", true).hits == 1,
	   "refused: the former is in force");
	must_set("watch", "\n");
	for (i = 0; i < 4; i++)
		slot[i] = breakpoint(-1, 0, &slot[i]);
	ok(slot[3] >= 0 && set("watch", "bts_crash_global:4") == -ENOSPC, "no breakpoint left");
	for (i = 0; i < 4; i++)
		close(slot[i]);
}

/* A breakpoint of perf in this program must work beside the watchpoint. */
static void test_beside(void)
{
	static volatile int var;
	int fd = breakpoint(-1, 0, (void *)&var), i;
	long long count = 0;
	ssize_t got;

	must_set("watch", "bts_crash_global:4");
	for (i = 0; i < 5; i++)
		var = i;
	ok(shows(hits_of("write", true), "bts_crash_write"), "beside another breakpoint");
	got = read(fd, &count, sizeof(count));
	ok(got == sizeof(count) && count == 5, "which counts on: %lld", count);
	close(fd);
}

#define DR(nr)		offsetof(struct user, u_debugreg[nr])
#define DR7_WRITE_4(nr)	(2ul << 2 * (nr) | 0xdul << (16 + 4 * (nr)))

static volatile int traced_var;

/* Start a tracee that stops by SIGSTOP before each write to traced_var. */
static pid_t start_tracee(void)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		for (;;) {
			raise(SIGSTOP);
			traced_var++;
		}
	}
	waitpid(pid, NULL, 0);
	return pid;
}

/* Set up to four hardware breakpoints in the tracee, until that fails. Returns their number. */
static int arm(pid_t pid)
{
	unsigned long dr7 = 0;
	int i;

	for (i = 0; i < 4; i++) {
		dr7 |= DR7_WRITE_4(i);
		if (ptrace(PTRACE_POKEUSER, pid, DR(i), &traced_var) ||
		    ptrace(PTRACE_POKEUSER, pid, DR(7), dr7))
			break;
	}
	return i;
}

/* Returns whether the tracee, continued twice, stops at breakpoint 0 and then by its SIGSTOP. */
static bool stops(pid_t pid)
{
	int status = 0;

	ptrace(PTRACE_POKEUSER, pid, DR(6), 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
	    !(ptrace(PTRACE_PEEKUSER, pid, DR(6), 0) & 1))
		return false;
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
}

/* A debugger's breakpoints work beside the watchpoint. All share the four debug registers. */
static void test_beside_debugger(void)
{
	pid_t pid = start_tracee();
	int armed;

	must_set("watch", "bts_crash_global:4");
	armed = arm(pid);
	ok(armed == 3 && errno == ENOSPC, "a debugger gets the other breakpoints: %d", armed);
	ok(stops(pid) && stops(pid), "its tracee stops there");
	ok(shows(hits_of("write", true), "bts_crash_write"), "and the kernel is watched");
	ok(stops(pid), "and the tracee still stops");
	must_set("watch", "\n");
	ok(arm(pid) == 4 && stops(pid), "not watched, the debugger gets them all");
	ok(set("watch", "bts_crash_global:4") == -ENOSPC && is("watch", ""), "and none is left");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	must_set("watch", "bts_crash_global:4");
}

/* A CPU that comes back online is watched again. */
static void test_hotplug(void)
{
	static const char *const online = "/sys/devices/system/cpu/cpu1/online";

	if (try_text(online, "0") || try_text(online, "1"))
		give_up("%s", online);
	usleep(100000);
	pin_to(1);
	ok(shows(hits_of("write", true), "bts_crash_write"), "on a CPU that has come back");
	pin_to(0);
	ok(shows(hits_of("write", true), "bts_crash_write"), "and on the one that was there");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s MODULE\n", argv[0]);
		return 2;
	}
	load_module(argv[1], "");
	open_log();
	must_set("fold", "0");
	must_set("enable", "1");
	pin_to(0);
	usleep(20000);
	test_hits();
	test_limit();
	test_refusals();
	test_beside();
	test_beside_debugger();
	test_hotplug();
	return finish();
}
