// SPDX-License-Identifier: GPL-2.0
/*
 * Run the kernel's unit tests, which did not run at boot, and report their results. Some of them
 * are skipped on a machine without a Debug Store.
 */
#include <glob.h>
#include <sys/ioctl.h>

#include "../guest/guest.h"
#include "lab/lab.h"

#define SUITES	"/sys/kernel/debug/kunit/"

/* The line of a case has one level of indentation: "    ok 1 name", "    not ok 2 name". */
static void report_line(const char *suite, char *line)
{
	bool passed = !strncmp(line, "    ok ", 7);
	char *name;

	if (!passed && strncmp(line, "    not ok ", 11))
		return;
	name = line + (passed ? 7 : 11);
	name[strcspn(name, "\n")] = '\0';
	name += strcspn(name, " ");
	name += strspn(name, " ");
	ok(passed, "%s: %s", suite, name);
}

static void report_suite(const char *path)
{
	const char *suite = path + strlen(SUITES);
	char results[256], line[512];
	FILE *f;

	snprintf(results, sizeof(results), "%s/results", path);
	f = fopen(results, "re");
	while (f && fgets(line, sizeof(line), f))
		report_line(suite, line);
	if (f)
		fclose(f);
}

int main(void)
{
	int fd = open(KIT_LAB_DEVICE, O_RDWR | O_CLOEXEC);
	glob_t all = { };
	size_t i;

	if (fd < 0 || ioctl(fd, KIT_LAB_UNITS))
		give_up("the unit tests cannot be run");
	glob(SUITES "*", 0, NULL, &all);
	for (i = 0; i < all.gl_pathc; i++)
		report_suite(all.gl_pathv[i]);
	return finish();
}
