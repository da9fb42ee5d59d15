// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the files of the branch flight recorder: modes, contents, valid and invalid writes.
 *
 *   files all
 *   files missing		without hardware that the recorder can use
 *   files booted CPUS		started by the boot parameter; CPUS: digits, or '-' for none
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/recorder.h"

static const struct {
	const char *name;
	mode_t mode;
} files[] = {
	{ "enable", 0640 },
	{ "freeze", 0640 },
	{ "cpumask", 0640 },
	{ "nr", 0640 },
	{ "crash_nr", 0640 },
	{ "crash_all", 0640 },
	{ "thaw_after", 0640 },
	{ "fold", 0640 },
	{ "trace", 0440 },
	{ "per_cpu/cpu0/trace", 0440 },
};

static void test_modes(void)
{
	struct stat st;
	char path[128];
	size_t i;
	int status;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), RECORDER "/%s", files[i].name);
		ok(!stat(path, &st) && (st.st_mode & 07777) == files[i].mode && !st.st_uid,
		   "%s: root only", files[i].name);
	}
	if (!fork()) {
		if (setuid(65534))
			_exit(2);
		for (i = 0; i < ARRAY_SIZE(files); i++) {
			snprintf(path, sizeof(path), RECORDER "/%s", files[i].name);
			if (open(path, O_RDONLY) >= 0 || errno != EACCES ||
			    open(path, O_WRONLY) >= 0 || errno != EACCES)
				_exit(1);
		}
		_exit(0);
	}
	wait(&status);
	ok(!status, "nobody else gets in");
}

static void test_defaults(void)
{
	char *readme;

	ok(is("enable", "0"), "off at boot");
	ok(is("freeze", "0") && is("nr", "32"), "not frozen, 32 to be printed");
	ok(is("crash_nr", "32") && is("crash_all", "0"), "in a crash 32 of that CPU");
	ok(is("thaw_after", "0") && is("fold", "1"), "no thaw after a time, lines are folded");
	ok(!strchr(get("cpumask"), '0'), "all CPUs wanted");
	ok(!count_lines(get("trace"), -1, NULL), "nothing in the trace");
	readme = get("../README");
	ok(strstr(readme, "hw_branches/"), "README tells of it");
	free(readme);
}

/* No file may warn that it cannot allocate as much as a write has. */
static void test_large(void)
{
	static const char *const files[] = { "cpumask", "enable", "freeze", "nr", "watch" };
	size_t size = 8 << 20, i;
	char *text = malloc(size);

	if (!text)
		give_up("no memory");
	memset(text, '1', size - 1);
	text[size - 1] = '\0';
	for (i = 0; i < ARRAY_SIZE(files); i++)
		ok(set(files[i], text) < 0, "%s: 8 MiB", files[i]);
	free(text);
}

static void test_refusals(void)
{
	ok(set("enable", "2") == -EINVAL && set("enable", "") == -EINVAL &&
	   set("enable", "x") == -EINVAL, "enable: no such value");
	ok(set("freeze", "1") == -ENXIO, "freeze: the recorder is off");
	ok(set("nr", "0") == -EINVAL && set("nr", "10001") == -EINVAL &&
	   set("nr", "x") == -EINVAL && is("nr", "32"), "nr: out of bounds");
	ok(set("cpumask", "0") == -EINVAL && set("cpumask", "x") == -EINVAL &&
	   set("cpumask", "100000") < 0, "cpumask: no CPU, no mask, no such CPU");
	test_large();
	ok(is("enable", "0"), "still off");
	ok(!set("nr", "10000") && is("nr", "10000") && !set("nr", "1") && !set("nr", "32"),
	   "nr: the bounds");
}

static bool all_recording(void)
{
	int cpu;

	for (cpu = 0; cpu < cpus(); cpu++) {
		if (!recording(cpu))
			return false;
	}
	return true;
}

/*
 * Between two branches, code runs forward. So if the target of a branch and the source of the next
 * newer branch are in the same function, the address of the source must not be lower than that of
 * the target. Check that for the branches of @cpu in @trace, which has the newest first. More than
 * @least pairs must be in the same function.
 */
static bool in_one_piece(const char *trace, int cpu, size_t least)
{
	struct line last = { .cpu = -1 }, line;
	size_t followed = 0;
	unsigned int to, from;

	while (next_line(&trace, &line)) {
		size_t len = strcspn(line.to, "+");

		if (line.cpu != cpu)
			continue;
		if (last.cpu == cpu && line.to[len] &&
		    !strncmp(line.to, last.from, len + 1) &&
		    sscanf(line.to + len, "+0x%x", &to) == 1 &&
		    sscanf(last.from + len, "+0x%x", &from) == 1) {
			if (from < to) {
				printf("# from %s, after arriving at %s\n", last.from, line.to);
				return false;
			}
			followed++;
		}
		last = line;
	}
	printf("# CPU %d: %zu branches follow from one another\n", cpu, followed);
	return followed > least;
}

/* The ring holds 2730 branches. The hardware's buffer holds 5461 if addresses have 32 bits. */
#define MOST	8200

static void test_trace(void)
{
	size_t n, least = read_debugctl(0) & DEBUGCTL_OFF_USR ? 2500 : 500;
	char *trace, name[64];
	int cpu;

	for (cpu = 0; cpu < cpus(); cpu++) {
		pin_to(cpu);
		snprintf(name, sizeof(name), "per_cpu/cpu%d/trace", cpu);
		trace = get(name);
		n = count_lines(trace, cpu, NULL);
		ok(n > least && n < MOST && in_one_piece(trace, cpu, least / 2),
		   "CPU %d: %zu branches", cpu, n);
		ok(count_lines(trace, -1, NULL) == n, "CPU %d: and no other in its file", cpu);
		free(trace);
	}
	trace = get("trace");
	for (cpu = 0; cpu < cpus(); cpu++) {
		n = count_lines(trace, cpu, NULL);
		ok(n > least && n < MOST, "all: %zu branches of CPU %d", n, cpu);
	}
	free(trace);
}

/*
 * A function that is called shortly before a freeze stops recording. Its branches must be in the
 * trace. Older branches may be missing, as debugging options add many.
 */
#define FREEZE_END	"arch_hw_branches_freeze"

/* Make system calls on CPU 0 before the freeze: what other tasks do may not be folded. */
static void freeze_calls(void)
{
	pid_t pid = fork();
	int calls, status;

	if (!pid) {
		pin_to(0);
		for (calls = 0; calls < 300; calls++)
			syscall(SYS_getppid);
		must_set("freeze", "1");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		give_up("the freeze");
}

static void test_fold(void)
{
	size_t plain, folded;
	char *trace;

	freeze_calls();
	trace = get("per_cpu/cpu0/trace");
	plain = count_lines(trace, 0, NULL);
	free(trace);
	must_set("fold", "1");
	trace = get("per_cpu/cpu0/trace");
	folded = count_lines(trace, 0, NULL);
	ok(folded && folded < plain / 2 && strstr(trace, " branches\n"),
	   "folded: %zu lines of %zu branches", folded, plain);
	free(trace);
	must_set("fold", "0");
	must_set("freeze", "0");
	usleep(20000);
}

static void test_freeze(void)
{
	const char *const file = "per_cpu/cpu0/trace";
	char *before, *after;
	long long n;

	pin_to(0);
	must_set("freeze", "1");
	usleep(20000);
	n = bts_counter("records");
	before = get(file);
	usleep(20000);
	after = get(file);
	ok(is("freeze", "1") && bts_counter("records") == n, "frozen: nothing is recorded");
	ok(!strcmp(before, after) && count_lines(before, 0, FREEZE_END) > 0,
	   "frozen: the trace stays");
	must_set("freeze", "0");
	usleep(20000);
	ok(is("freeze", "0") && bts_counter("records") > n && all_recording(), "it goes on");
	free(after);
	after = get(file);
	ok(strstr(after, "missing") && count_lines(after, 0, FREEZE_END) > 0,
	   "what was frozen is still there, behind a gap");
	free(before);
	free(after);
}

/*
 * After a thaw, an idle CPU makes few branches until the next freeze. A mark must separate them
 * from those that the CPU kept in the first freeze. If it made more than the hardware's buffer
 * holds, a mark is behind the oldest of the buffer.
 */
static void test_idle(void)
{
	char *trace, *mark;

	if (cpus() < 2)
		return;
	pin_to(0);
	must_set("freeze", "1");
	usleep(20000);
	must_set("freeze", "0");
	must_set("freeze", "1");
	usleep(20000);
	trace = get("per_cpu/cpu1/trace");
	mark = strstr(trace, "missing");
	if (mark)
		*mark = '\0';
	ok(mark && count_lines(trace, 1, NULL) <= 2740,
	   "frozen twice: %zu branches of an idle CPU, and a mark", count_lines(trace, 1, NULL));
	free(trace);
	must_set("freeze", "0");
}

static void test_cpumask(void)
{
	bool others = false;
	char hex[16];
	int cpu;

	must_set("cpumask", "1");
	for (cpu = 1; cpu < cpus(); cpu++)
		others |= recording(cpu);
	ok(recording(0) && !others && is("enable", "bts"), "cpumask: CPU 0 only");
	ok(cpus() == 1 || !count_lines(get("per_cpu/cpu1/trace"), -1, NULL),
	   "no trace of others");
	snprintf(hex, sizeof(hex), "%x", (1 << cpus()) - 1);
	must_set("cpumask", hex);
	ok(all_recording(), "cpumask: all again");
	must_set("enable", "0");
	must_set("cpumask", "1");
	must_set("enable", "1");
	ok(recording(0) && (cpus() == 1 || !recording(1)), "cpumask: set before");
	must_set("enable", "0");
	must_set("cpumask", hex);
}

static void test_off(void)
{
	int cpu, on = 0;

	must_set("enable", "1");
	must_set("freeze", "1");
	must_set("enable", "0");
	for (cpu = 0; cpu < cpus(); cpu++)
		on += !!(read_debugctl(cpu) & DEBUGCTL_BTS_BITS);
	ok(!on && ds_area_is_cleared(0) && is("freeze", "0"), "off: the hardware, too");
	ok(!count_lines(get("trace"), -1, NULL) && trace_names_source("trace"),
	   "off: nothing left");
	must_set("enable", "1");
	ok(all_recording(), "on after off while frozen");
	must_set("enable", "0");
	ok(!bts_counter("faults"), "no record without a buffer");
}

static int all(void)
{
	test_modes();
	test_defaults();
	test_refusals();
	must_set("enable", "1");
	ok(is("enable", "bts") && all_recording(), "on: the hardware records on all CPUs");
	usleep(50000);
	must_set("fold", "0");
	test_trace();
	test_fold();
	test_freeze();
	test_idle();
	test_cpumask();
	test_off();
	return finish();
}

static int missing(void)
{
	ok(set("enable", "1") == -EOPNOTSUPP && set("enable", "bts") == -EOPNOTSUPP &&
	   set("enable", "lbr") == -EOPNOTSUPP && is("enable", "0"), "no hardware");
	ok(set("freeze", "1") == -ENXIO, "nothing to freeze");
	ok(!count_lines(get("trace"), -1, NULL), "nothing in the trace");
	return finish();
}

/* Check that only the CPUs in @list record, without a write to "enable". '-' stands for no CPU. */
static int booted(const char *list)
{
	int cpu;

	ok(is("enable", *list == '-' ? "0" : "bts"), "on since boot");
	for (cpu = 0; cpu < cpus(); cpu++)
		ok(recording(cpu) == !!strchr(list, '0' + cpu), "CPU %d", cpu);
	return finish();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "all"))
		return all();
	if (argc == 2 && !strcmp(argv[1], "missing"))
		return missing();
	if (argc == 3 && !strcmp(argv[1], "booted"))
		return booted(argv[2]);
	fprintf(stderr, "usage: %s all|missing|booted CPUS\n", argv[0]);
	return 2;
}
