// SPDX-License-Identifier: GPL-2.0
/* Find the kernel's complaints: the lines of its log that indicate an error. */
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>

#include "kit.h"

#define READ_ALL	3	/* command of klogctl() */

static const char *const complaints[] = {
	"BUG:", "Oops:", "Kernel panic", "general protection", "Uhhuh",
	"soft lockup", "hard LOCKUP", "blocked for more than", "rcu: INFO", "RIP: 0010:",
};

/*
 * Returns whether a line has one of complaints[], or WARNING and a CPU. Warnings about mitigations
 * name no CPU.
 */
static bool is_complaint(const char *line)
{
	size_t i;

	if (strstr(line, "WARNING: ") && strstr(line, "CPU"))
		return true;
	for (i = 0; i < ARRAY_SIZE(complaints); i++) {
		if (strstr(line, complaints[i]))
			return true;
	}
	return false;
}

/* Returns the time stamp of a line, in seconds since boot, or 0 if the line has none. */
static double time_of(const char *line)
{
	double at;

	return sscanf(line, "<%*d>[%lf]", &at) == 1 ? at : 0;
}

int klog_complaints(void)
{
	static char log[1 << 19];
	static double seen;
	double at, newest = seen;
	char *line;
	int n;

	n = klogctl(READ_ALL, log, sizeof(log) - 1);
	log[n > 0 ? n : 0] = '\0';
	n = 0;
	for (line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		at = time_of(line);
		if (at <= seen)
			continue;
		newest = at;
		if (is_complaint(line) && n++ < 10)
			tell("      kernel: %.150s\n", line);
	}
	seen = newest;
	return n;
}
