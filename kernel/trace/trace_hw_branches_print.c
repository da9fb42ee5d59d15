// SPDX-License-Identifier: GPL-2.0
/* The branch flight recorder: printing a line, and the settings for what is printed */

#include <linux/cache.h>
#include <linux/minmax.h>
#include <linux/sprintf.h>

#include "trace_hw_branches.h"

/*
 * Sysrq, a watchpoint and kdb print at most this number of lines for each CPU, and a headline. A
 * trigger writes at most this number of branches for each CPU. If kdb's command 'branches' has a
 * second argument, it prints at most that number of lines instead.
 */
u64 hw_branches_nr __read_mostly = 32;

/* The largest number of lines of each CPU that a crash prints, besides the headline */
u64 hw_branches_crash_nr __read_mostly = 32;

/* A crash prints the branches of the other CPUs, too. */
bool hw_branches_crash_all __read_mostly;

/* Print a line for each record, without folding: see trace_hw_branches_fold.c. */
bool hw_branches_plain __read_mostly;

/* The largest indentation of a line */
#define HW_BRANCHES_INDENT	16

/**
 * hw_branches_print - print a line of branches
 * @print: the function that prints
 * @m: the first argument of @print
 * @cpu: the CPU of the branches
 * @depth: the call depth, shown as an indentation of up to HW_BRANCHES_INDENT columns
 * @line: the line
 *
 * Any context that @print allows: addresses are only looked up as symbols, never dereferenced.
 */
void hw_branches_print(hw_branches_printf print, struct seq_file *m, int cpu, int depth,
		       const struct hw_branches_line *line)
{
	void *from = (void *)(unsigned long)line->branch.from;
	void *to = (void *)(unsigned long)line->branch.to;
	int indent = clamp(depth, 0, HW_BRANCHES_INDENT);
	char inside[24] = "", times[48] = "";

	if (line->inside > 1)
		snprintf(inside, sizeof(inside), ", %u branches", line->inside);
	if (line->times > 1 && line->lines > 1)
		snprintf(times, sizeof(times), ", these %u lines %u times", line->lines,
			 line->times);
	else if (line->times > 1)
		snprintf(times, sizeof(times), ", %u times", line->times);

	if (!from && !to)
		print(m, " %3d -- some are missing here --\n", cpu);
	else if (line->branch.from == HW_BRANCH_USER)
		print(m, " %3d %*s%pS <- user mode%s%s\n", cpu, indent, "", to, inside, times);
	else
		print(m, " %3d %*s%pS <- %pS%s%s\n", cpu, indent, "", to, from, inside, times);
}
