// SPDX-License-Identifier: GPL-2.0
/*
 * Find the kernel's complaints: the lines of its log that indicate an error. Some lines after them,
 * such as the call trace, are in the report only.
 */
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>

#include "kit.h"

#define READ_ALL	3	/* command of klogctl() */
#define MOST_SHOWN	10	/* complaints that one call prints */
#define MOST_AFTER	40	/* lines after a complaint that may be in the report */
#define MOST_NOTED	400	/* lines after complaints that one boot adds to the report */

static const char *const complaints[] = {
	"BUG:", "Oops:", "Kernel panic", "general protection", "Uhhuh",
	"soft lockup", "hard LOCKUP", "blocked for more than", "rcu: INFO", "RIP: 0010:",
	"EIP: ",
};

/*
 * Besides complaints, the report may only have lines of the log that have one of these strings.
 * Other lines may tell of the machine's disks, or name the machine.
 */
static const char *const details[] = {
	"+0x", "Call Trace:", "Code: ", "AX: ", "SI: ", "SP: ", "CR0: ", "CR2: ", "Last branches",
};

static bool has_one(const char *line, const char *const *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (strstr(line, text[i]))
			return true;
	}
	return false;
}

/*
 * Returns whether a line has one of complaints[], or WARNING and the number of a CPU: "CPU: 1" in
 * Linux 6.12, "CPU#1" in 7.3. Warnings about mitigations have no such number.
 */
static bool is_complaint(const char *line)
{
	return (strstr(line, "WARNING: ") && (strstr(line, "CPU: ") || strstr(line, "CPU#"))) ||
	       has_one(line, complaints, ARRAY_SIZE(complaints));
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
	static int noted;
	double at, newest = seen;
	int n, after = 0;
	char *line;

	n = klogctl(READ_ALL, log, sizeof(log) - 1);
	log[n > 0 ? n : 0] = '\0';
	n = 0;
	for (line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		at = time_of(line);
		if (at <= seen)
			continue;
		newest = at;
		if (is_complaint(line)) {
			after = MOST_AFTER;
			if (n++ < MOST_SHOWN)
				tell("      kernel: %.150s\n", line);
		} else if (after && after-- && noted < MOST_NOTED &&
			   has_one(line, details, ARRAY_SIZE(details))) {
			note("      kernel: %.150s\n", line);
			noted++;
		}
	}
	seen = newest;
	return n;
}
