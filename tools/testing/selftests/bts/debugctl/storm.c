// SPDX-License-Identifier: GPL-2.0
/*
 * Run several writers of DEBUGCTL at the same time on all CPUs: block-step, perf's BTS with its
 * PMIs, FREEZE_IN_SMM, and NMIs from the test module (guest/labs/debugctl/lab.h) and from the
 * emulator's monitor. In each NMI, the module inverts LBR. The module also compares the MSR with
 * the kernel's copy.
 *
 * storm MODULE kept|lost SECONDS: kept: a kernel that loses no write of LBR; lost: the stock kernel
 */
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/debugctl.h"
#include "../guest/walk.h"

#define FREEZE_ON_SMI	"/sys/devices/cpu/freeze_on_smi"
#define MAX_CHILDREN	64
#define OWN_LOOPS	50

/* Counters in shared memory, which the children increment. */
struct counters {
	unsigned long walks;
	unsigned long wrong_walks;
	unsigned long steps;
	unsigned long wrong_steps;
	unsigned long samples;
	unsigned long flips;
	unsigned long monitor_nmis;
};

static struct counters *counters;
static pid_t children[MAX_CHILDREN];
static unsigned int nr_children;

#define count(what, n)	__atomic_add_fetch(&counters->what, n, __ATOMIC_RELAXED)

static void start_child(void (*run)(int), int arg)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	if (!pid) {
		setpgid(0, 0);
		run(arg);
		_exit(1);
	}
	children[nr_children++] = pid;
}

/* Block-step tracees that may migrate to any CPU. The tracer stays on @cpu. */
static void block_step_walks(int cpu)
{
	struct stops stops;
	cpu_set_t all;
	pid_t pid;

	memset(&all, 0xff, sizeof(all));
	pin_to(cpu);
	for (;;) {
		pid = start_walk();
		sched_setaffinity(pid, sizeof(all), &all);
		step_through(pid, PTRACE_SINGLEBLOCK, &stops);
		if (!only_branch_targets(&stops, 0) || !finish_walk(pid))
			count(wrong_walks, 1);
		count(walks, 1);
	}
}

static volatile sig_atomic_t traps;

static void on_trap(int signal)
{
	(void)signal;
	traps++;
}

/* Single-step this task by TF on @cpu. If another task's BTF stayed on, traps would be missing. */
static void own_steps(int cpu)
{
	const struct sigaction action = { .sa_handler = on_trap, };

	pin_to(cpu);
	sigaction(SIGTRAP, &action, NULL);
	for (;;) {
		traps = 0;
		step_myself(OWN_LOOPS);
		if (traps != 2 * OWN_LOOPS + 3)
			count(wrong_steps, 1);
		count(steps, 1);
		usleep(1000);
	}
}

static void many_branches(int cpu)
{
	struct branch_event event;
	unsigned int i;

	pin_to(cpu);
	if (!open_branches(&event, 0))
		give_up("perf's BTS");
	for (;;) {
		for (i = 0; i < 100000; i++)
			asm volatile("");
		count(samples, count_branches(&event));
	}
}

static void flip_freeze_on_smi(int unused)
{
	(void)unused;
	for (;;) {
		if (!write_text(FREEZE_ON_SMI, counters->flips & 1 ? "1" : "0"))
			give_up(FREEZE_ON_SMI);
		count(flips, 1);
		usleep(2000);
	}
}

static void nmi_from_monitor(int unused)
{
	(void)unused;
	for (;;) {
		if (hmp("nmi", NULL, 0))
			give_up("no monitor");
		count(monitor_nmis, 1);
		usleep(5000);
	}
}

static void end_children(void)
{
	unsigned int i;

	for (i = 0; i < nr_children; i++)
		kill(-children[i], SIGKILL);
	for (i = 0; i < nr_children; i++)
		waitpid(children[i], NULL, 0);
}

static unsigned int still_running(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr_children; i++)
		n += waitpid(children[i], NULL, WNOHANG) == 0;
	return n;
}

static void judge(const struct lab_report *report, bool kept, unsigned int running)
{
	ok(running == nr_children, "%u of %u workers ran to the end", running, nr_children);
	ok(report->nmis > 200 && report->observed > 200,
	   "%llu NMIs, %llu observations", report->nmis, report->observed);
	ok(counters->walks && !counters->wrong_walks, "%lu block-stepped walks, %lu wrong",
	   counters->walks, counters->wrong_walks);
	ok(counters->steps && !counters->wrong_steps,
	   "%lu times a task stepped itself, %lu wrong", counters->steps,
	   counters->wrong_steps);
	ok(counters->samples > 100 && counters->flips > 2 && counters->monitor_nmis > 2,
	   "%lu records, %lu flips of FREEZE_IN_SMM, %lu NMIs from the monitor",
	   counters->samples, counters->flips, counters->monitor_nmis);
	ok(!report->copy_differs, "copy and MSR differ in %llu observations (%#llx, %#llx)",
	   report->copy_differs, report->bad_copy, report->bad_msr);
	ok(!report->lbr_differs == kept, "bits that an NMI wrote were lost in %llu observations",
	   report->lbr_differs);
}

int main(int argc, char *argv[])
{
	struct lab_storm storm = { .nmi_us = 200, .observe_us = 100, .flip_lbr = 1, };
	unsigned int running, cpus = get_nprocs();
	struct lab_report report;
	bool kept;
	unsigned int i;

	if (argc != 4 || (strcmp(argv[2], "kept") && strcmp(argv[2], "lost"))) {
		fprintf(stderr, "usage: %s MODULE kept|lost SECONDS\n", argv[0]);
		return 2;
	}
	kept = !strcmp(argv[2], "kept");
	plan(7);
	counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counters == MAP_FAILED)
		give_up("mmap");
	load_lab(argv[1]);
	lab(LAB_STORM, &storm);
	for (i = 0; i < cpus; i++) {
		start_child(block_step_walks, i);
		start_child(own_steps, i);
		start_child(many_branches, i);
	}
	start_child(flip_freeze_on_smi, 0);
	start_child(nmi_from_monitor, 0);
	sleep(strtoul(argv[3], NULL, 10));
	running = still_running();
	end_children();
	lab(LAB_REPORT, &report);
	judge(&report, kept, running);
	return finish();
}
