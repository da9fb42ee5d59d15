// SPDX-License-Identifier: GPL-2.0
/*
 * Report what KUnit suites said at boot. On the bench nothing may be skipped:
 * it has the hardware.
 *
 * kunit SUITE...
 */
#include "guest.h"

#define RESULTS		"/sys/kernel/debug/kunit/%s/results"

/* A case's line is indented once: "    ok 1 name", "    not ok 2 name". */
static void report_line(const char *suite, char *line)
{
	bool passed = !strncmp(line, "    ok ", 7);
	char *name = passed ? line + 7 : line + 11;

	if (!passed && strncmp(line, "    not ok ", 11)) {
		if (!strncmp(line, "    # ", 6))
			printf("%s", line + 4);
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	name += strcspn(name, " ");
	ok(passed && !strstr(name, "SKIP"), "%s:%s", suite, name);
}

static void report_suite(const char *suite)
{
	char path[128], line[512];
	FILE *results;
	int before = ktap.run;

	snprintf(path, sizeof(path), RESULTS, suite);
	results = fopen(path, "re");
	while (results && fgets(line, sizeof(line), results))
		report_line(suite, line);
	if (results)
		fclose(results);
	if (ktap.run == before)
		ok(false, "%s has results in %s", suite, path);
}

int main(int argc, char *argv[])
{
	int i;

	for (i = 1; i < argc; i++)
		report_suite(argv[i]);
	return finish();
}
