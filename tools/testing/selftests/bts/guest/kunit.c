// SPDX-License-Identifier: GPL-2.0
/*
 * kunit [SUITE...]: report the results of KUnit suites that ran at boot; by default, of all. A
 * skipped case is a failure: the machine must have the hardware for all cases.
 */
#include <glob.h>

#include "guest.h"

#define SUITES		"/sys/kernel/debug/kunit/"
#define RESULTS		SUITES "%s/results"

/*
 * Report the case in @line: "    ok 1 name" or "    not ok 2 name". Print a line that begins with
 * "    # ", and ignore lines of other kinds.
 */
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

/* Report all suites, and their number: with the first patches of the series, it may be 0. */
static void report_all(void)
{
	glob_t all = { };
	size_t i;

	glob(SUITES "*", 0, NULL, &all);
	for (i = 0; i < all.gl_pathc; i++)
		report_suite(all.gl_pathv[i] + strlen(SUITES));
	ok(true, "%zu suites", all.gl_pathc);
	globfree(&all);
}

int main(int argc, char *argv[])
{
	int i;

	for (i = 1; i < argc; i++)
		report_suite(argv[i]);
	if (argc == 1)
		report_all();
	return finish();
}
