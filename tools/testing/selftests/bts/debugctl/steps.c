// SPDX-License-Identifier: GPL-2.0
/*
 * Other users of DEBUGCTL must not change where a stepped task stops. Try each way of stepping
 * alone, with perf's BTS on the same task, and with BTS and a storm of NMIs. Each NMI calls perf's
 * handler.
 *
 * steps [MODULE]
 *
 * MODULE makes the storm (guest/labs/debugctl/lab.h). Without MODULE, omit the tests with the
 * storm. If perf also refuses an event with BTS, omit the tests with BTS and those of block-step,
 * too: an emulator without BTS may not have block-step.
 */
#include <linux/hw_breakpoint.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../guest/debugctl.h"
#include "../guest/walk.h"

#define MANY		5000
#define UPROBE_TYPE	"/sys/bus/event_source/devices/uprobe/type"

enum company {
	ALONE,
	WITH_BTS,
	WITH_BTS_AND_NMIS,
};

static const char *const company_name[] = {
	[ALONE]			= "alone",
	[WITH_BTS]		= "with BTS",
	[WITH_BTS_AND_NMIS]	= "with BTS and NMIs",
};

static enum company company;

/* Returns whether there are as many stops as instructions, with all branch targets in order. */
static bool every_instruction(const struct stops *stops)
{
	unsigned int i, want = 0;

	for (i = 0; i < stops->n; i++)
		if (stops->ip[i] == walk_targets[want])
			want++;
	if (stops->n != walk_nrsteps || walk_targets[want])
		printf("# %u stops of %u, %u branch targets of %u\n", stops->n,
		       walk_nrsteps, want, nr_branches());
	return stops->n == walk_nrsteps && !walk_targets[want];
}

static unsigned long file_offset(unsigned long addr)
{
	unsigned long start, end, offset, found = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[256];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    start <= addr && addr < end)
			found = addr - start + offset;
	if (maps)
		fclose(maps);
	return found;
}

static int open_uprobe(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = read_number(UPROBE_TYPE),
		.config1 = (unsigned long)"/proc/self/exe",
		.config2 = file_offset((unsigned long)walk_probed),
	};
	int fd = perf_open(&attr, pid, -1);

	if (fd < 0)
		give_up("uprobe");
	return fd;
}

/* Set a watchpoint on walk_result, which the walk writes near its end. */
static void set_watchpoint(pid_t pid)
{
	size_t dr = offsetof(struct user, u_debugreg);
	const size_t reg = sizeof(((struct user *)0)->u_debugreg[0]);
	unsigned long write4 = 1UL | 0xdUL << 16;

	if (ptrace(PTRACE_POKEUSER, pid, dr, &walk_result) ||
	    ptrace(PTRACE_POKEUSER, pid, dr + 7 * reg, write4))
		give_up("watchpoint");
}

/* The traps that are set up in addition to stepping */
enum besides {
	NOTHING,
	UPROBE,
	WATCHPOINT,
};

static const struct way {
	const char *name;
	int request;
	enum besides besides;
	const char *extra;	/* an expected stop that is no branch target, or NULL */
} ways[] = {
	{ .name = "single-step", .request = PTRACE_SINGLESTEP, },
	{ .name = "block-step", .request = PTRACE_SINGLEBLOCK, },
	{ .name = "single-step over a uprobe", .request = PTRACE_SINGLESTEP,
	  .besides = UPROBE, },
	/* The kernel clears BTF for the probed instruction, so the tracee also stops behind it. */
	{ .name = "block-step over a uprobe", .request = PTRACE_SINGLEBLOCK,
	  .besides = UPROBE, .extra = walk_behind_probe, },
	{ .name = "block-step into a watchpoint", .request = PTRACE_SINGLEBLOCK,
	  .besides = WATCHPOINT, .extra = walk_behind_write, },
};

#define NR_WAYS		(sizeof(ways) / sizeof(ways[0]))

static void step_one_way(const struct way *way)
{
	struct branch_event event;
	pid_t pid = start_walk();
	struct stops stops;
	int uprobe = -1;
	uint64_t hits = 0, branches;
	bool right;

	if (way->besides == UPROBE)
		uprobe = open_uprobe(pid);
	else if (way->besides == WATCHPOINT)
		set_watchpoint(pid);
	if (company != ALONE && !open_branches(&event, pid))
		give_up("perf's BTS");

	step_through(pid, way->request, &stops);
	right = way->request == PTRACE_SINGLEBLOCK ?
		only_branch_targets(&stops, (unsigned long)way->extra) :
		every_instruction(&stops);
	if (uprobe >= 0 && read(uprobe, &hits, sizeof(hits)) != sizeof(hits))
		give_up("uprobe");
	if (company != ALONE) {
		branches = count_branches(&event);
		ok(branches == nr_branches(), "%s, %s: BTS has %u records of %u",
		   way->name, company_name[company], (unsigned int)branches, nr_branches());
		close_branches(&event);
	}
	ok(right && finish_walk(pid) && hits == (uprobe >= 0),
	   "%s, %s: %u stops", way->name, company_name[company], stops.n);
	if (uprobe >= 0)
		close(uprobe);
}

static volatile sig_atomic_t traps;

static void on_trap(int signal)
{
	(void)signal;
	traps++;
}

/* Single-step this task by TF. No tracer stops it, so NMIs must drain the buffer of perf's BTS. */
static void step_oneself(void)
{
	struct sigaction action = { .sa_handler = on_trap, };
	struct branch_event event;

	if (company != ALONE && !open_branches(&event, 0))
		give_up("perf's BTS");
	sigaction(SIGTRAP, &action, NULL);
	traps = 0;
	step_myself(MANY);
	if (company != ALONE) {
		uint64_t branches = count_branches(&event);

		ok(branches >= MANY - 1, "TF in the task itself, %s: BTS has %u records",
		   company_name[company], (unsigned int)branches);
		close_branches(&event);
	}
	ok(traps == 2 * MANY + 3, "TF in the task itself, %s: %d steps of %d",
	   company_name[company], (int)traps, 2 * MANY + 3);
	signal(SIGTRAP, SIG_DFL);
}

static void step_all_ways(void)
{
	unsigned int i;

	for (i = 0; i < NR_WAYS; i++)
		step_one_way(&ways[i]);
	step_oneself();
}

static int step_without_bts(void)
{
	unsigned int i, singles = 0;

	for (i = 0; i < NR_WAYS; i++)
		singles += ways[i].request == PTRACE_SINGLESTEP;
	plan(singles + 1);
	for (i = 0; i < NR_WAYS; i++)
		if (ways[i].request == PTRACE_SINGLESTEP)
			step_one_way(&ways[i]);
	step_oneself();
	return finish();
}

/* PMUs of other vendors open this event, too, but count other branches. */
static bool machine_has_bts(void)
{
	struct branch_event event;

	if (!cpu_has("bts") || !open_branches(&event, 0))
		return false;
	close_branches(&event);
	return true;
}

int main(int argc, char *argv[])
{
	struct lab_storm storm = { .nmi_us = 300, .observe_us = 500, };
	const int tests = NR_WAYS + 1;
	struct lab_report report;

	if (argc == 1 && !machine_has_bts())
		return step_without_bts();

	plan(argc > 1 ? 5 * tests + 2 : 3 * tests);
	for (company = ALONE; company <= WITH_BTS; company++)
		step_all_ways();
	if (argc > 1) {
		load_lab(argv[1]);
		lab(LAB_STORM, &storm);
		step_all_ways();
		lab(LAB_REPORT, &report);
		ok(report.nmis > 200, "storm: %llu NMIs", report.nmis);
		ok(report.observed && !report.copy_differs,
		   "storm: copy and MSR were the same in %llu observations, not in %llu",
		   report.observed, report.copy_differs);
	}
	return finish();
}
