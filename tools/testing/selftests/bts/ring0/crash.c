// SPDX-License-Identifier: GPL-2.0
/*
 * Crashes that are survived, and what the recorder prints of them.
 *
 *   crash MODULE KIND TIMES	task, console, recursive, meet, sysrq
 *   crash MODULE die KIND	one that is not: the host reads the console
 */
#include <signal.h>
#include <sys/wait.h>

#include "common.h"

#define DEVICE	"/dev/bts_crash"
#define NR	32	/* how many are printed */

/* What the log says of one crash. */
struct dump {
	int traces;		/* how many CPUs' */
	int first;		/* which CPU's came first */
	int since;		/* how many branches it left out */
	int nr;			/* how many it printed */
	int fault;		/* which of them left the faulting function, -1 for none */
	int work;		/* how many were in the function that was called before */
	int others;		/* how many were printed of other CPUs */
	int running;		/* CPUs that had not stopped */
	bool bad;		/* a message that has no business there */
};

static bool is_bad(const char *line)
{
	return strstr(line, "WARNING:") || strstr(line, "RCU") || strstr(line, "deadlock") ||
	       strstr(line, "sleeping function") || strstr(line, "scheduling while") ||
	       (strstr(line, "BUG:") && !strstr(line, "address: 0000000000000b75"));
}

static void take_branch(struct dump *d, const char *line)
{
	char *arrow = strstr(line, " <- ");

	if (d->traces > 1) {
		d->others++;
		return;
	}
	if (within(arrow + 4, "bts_crash_fault") && d->fault < 0)
		d->fault = d->nr;
	d->work += within(arrow + 4, "bts_crash_work");
	d->nr++;
}

static struct dump read_dump(void)
{
	struct dump d = { .fault = -1, .first = -1 };
	int cpu, since;
	char line[1024];

	while (read_log(line, sizeof(line))) {
		if (sscanf(line, "Last branches of CPU %d, newest first, %d more since then",
			   &cpu, &since) == 2) {
			if (!d.traces++) {
				d.first = cpu;
				d.since = since;
			}
		} else if (d.traces && line[0] == ' ' && strstr(line, " <- ")) {
			take_branch(&d, line);
		}
		d.running += !!strstr(line, "did not stop");
		if (is_bad(line)) {
			printf("# %s\n", line);
			d.bad = true;
		}
	}
	return d;
}

static pid_t start_crash(const char *kind, int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	run_on(cpu);
	put(DEVICE, kind);
	_exit(0);
}

static bool crash_once(const char *kind, int cpu)
{
	int status;

	waitpid(start_crash(kind, cpu), &status, 0);
	return WIFSIGNALED(status);
}

static bool good(const struct dump *d, int cpu, int traces)
{
	bool all = d->first == cpu && d->nr == NR && !d->fault && d->work >= 5 &&
		   d->traces == traces && d->others <= NR * (traces - 1) &&
		   (d->others || cpus() == 1) && !d->running && !d->bad;

	if (!all)
		printf("# CPU %d first of %d: %d, fault at %d, %d before; others %d, %d running\n",
		       d->first, d->traces, d->nr, d->fault, d->work, d->others, d->running);
	return all;
}

/* Does the recorder go on? Work may have to do it. */
static bool goes_on(void)
{
	int cpu, tries;

	for (cpu = 0; cpu < cpus(); cpu++) {
		for (tries = 0; !recording(cpu); tries++) {
			if (tries == 100)
				return false;
			usleep(10000);
		}
	}
	return true;
}

static void test_task(const char *kind, int times)
{
	int i, found = 0, survived = 0, on = 0, since = 0;

	for (i = 0; i < times; i++) {
		int cpu = i % cpus();
		struct dump d;

		skip_log();
		survived += crash_once(kind, cpu);
		d = read_dump();
		found += good(&d, cpu, cpus());
		on += goes_on();
		since = d.since > since ? d.since : since;
		/* messages are limited to 10 in 5 seconds */
		usleep(510000);
	}
	ok(survived == times, "%s: %d oopses", kind, times);
	ok(found == times, "%s: each with its trace, the fault on top", kind);
	ok(on == times, "%s: recording went on", kind);
	/* how many branches from the fault to the freeze, at most */
	printf("# measure %d\n", since);
	ok(since > 0 && since < 300, "%s: soon frozen", kind);
}

/*
 * Both are told of. Here CPUs run in turn: the NMI of the first finds the second
 * before it crashes, and there is no trace of that, which must be said.
 */
static void test_meet(void)
{
	int tops[2] = { }, cpu = -1, early = 0, oopses = 0;
	pid_t one, two;
	char line[1024];

	skip_log();
	one = start_crash("meet", 0);
	two = start_crash("meet", 1);
	waitpid(one, NULL, 0);
	waitpid(two, NULL, 0);
	while (read_log(line, sizeof(line))) {
		if (sscanf(line, "Last branches of CPU %d,", &cpu) == 1)
			continue;
		oopses += !!strstr(line, "Oops:");
		early += !!strstr(line, "had stopped recording before it crashed");
		if (line[0] == ' ' && strstr(line, "asm_exc_page_fault+0x0") &&
		    strstr(line, "<- bts_crash_fault+"))
			tops[cpu]++;
	}
	ok(oopses == 2 && tops[0] + tops[1] >= 1 && tops[0] + tops[1] + early >= 2,
	   "two CPUs at once: %d with the fault, %d stopped before", tops[0] + tops[1], early);
	ok(goes_on(), "two CPUs at once: recording went on");
}

/* From the keyboard's way in: nothing has crashed, and nothing stays frozen. */
static void test_sysrq(void)
{
	struct dump d;

	must_set("enable", "0");
	skip_log();
	put("/proc/sysrq-trigger", "B");
	d = read_dump();
	ok(!d.traces, "sysrq: off, nothing is printed");
	must_set("enable", "1");
	usleep(20000);
	must_set("nr", "100");
	put("/proc/sysrq-trigger", "B");
	d = read_dump();
	ok(d.traces == cpus() && d.nr == 100 && d.others == 100 * (cpus() - 1) && !d.running,
	   "sysrq: %d branches, %d of others", d.nr, d.others);
	ok(goes_on(), "sysrq: recording goes on");
	must_set("freeze", "1");
	put("/proc/sysrq-trigger", "B");
	usleep(100000);
	ok(!recording(0), "sysrq: who froze it before is not forgotten");
}

static void test_recursive(void)
{
	struct dump d;

	skip_log();
	ok(crash_once("recursive", 0), "recursive: survived");
	d = read_dump();
	ok(d.first == 0 && !d.fault && d.nr == NR && d.traces >= cpus(),
	   "recursive: the first fault");
	ok(goes_on(), "recursive: recording went on");
}

static int die(const char *kind)
{
	run_on(0);
	printf("# die\n");
	fflush(stdout);
	put(DEVICE, kind);
	sleep(5);
	printf("Bail out! still here\n");
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s MODULE KIND TIMES | MODULE die KIND\n", argv[0]);
		return 2;
	}
	load(argv[1], "");
	must_set("enable", "1");
	usleep(20000);
	if (!strcmp(argv[2], "die"))
		return die(argv[3]);
	open_log();
	if (!strcmp(argv[2], "meet"))
		test_meet();
	else if (!strcmp(argv[2], "recursive"))
		test_recursive();
	else if (!strcmp(argv[2], "sysrq"))
		test_sysrq();
	else
		test_task(argv[2], atoi(argv[3]));
	if (!strcmp(argv[2], "console"))
		put(DEVICE, "unlock");
	return finish();
}
