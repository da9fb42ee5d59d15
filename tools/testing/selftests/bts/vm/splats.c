// SPDX-License-Identifier: GPL-2.0
/*
 * The list of splats, which are console lines that fail a run. A line of the list is an extended
 * regular expression, a comment that begins with '#', or empty. An expression after a '!' is an
 * exception. The line before it must be a comment with the reason.
 */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "vmrun.h"

#define MAX_SPLATS	128

static struct {
	regex_t regex;
	bool exception;
} splats[MAX_SPLATS];

static unsigned int nr_splats, excused;

static void add(const char *path, unsigned int nr, const char *pattern,
		bool exception)
{
	char error[128];
	int ret;

	if (nr_splats == MAX_SPLATS)
		die("%s:%u: more than %d patterns: raise MAX_SPLATS in splats.c",
		    path, nr, MAX_SPLATS);
	ret = regcomp(&splats[nr_splats].regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (ret) {
		regerror(ret, &splats[nr_splats].regex, error, sizeof(error));
		die("%s:%u: %s: correct the pattern", path, nr, error);
	}
	splats[nr_splats++].exception = exception;
}

void splats_load(const char *path)
{
	bool reason = false;
	unsigned int nr = 0;
	char line[512];
	FILE *f;

	f = fopen(path, "r");
	if (!f)
		die("%s: %s: a run without a splat list proves nothing", path,
		    strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		nr++;
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#') {
			reason = strlen(line) > 2;
			continue;
		}
		if (line[0] == '!') {
			if (!reason)
				die("%s:%u: an exception without its reason: write it above",
				    path, nr);
			add(path, nr, line + 1 + strspn(line + 1, " "), true);
		} else if (line[0]) {
			add(path, nr, line, false);
		}
		reason = false;
	}
	fclose(f);
	if (!nr_splats)
		die("%s: holds no pattern: a run without splat list proves nothing",
		    path);
}

static bool any(const char *line, bool exception)
{
	unsigned int i;

	for (i = 0; i < nr_splats; i++) {
		if (splats[i].exception == exception &&
		    !regexec(&splats[i].regex, line, 0, NULL, 0))
			return true;
	}
	return false;
}

bool splats_match(const char *line)
{
	if (!any(line, false))
		return false;
	if (!any(line, true))
		return true;
	excused++;
	return false;
}

unsigned int splats_excused(void)
{
	return excused;
}
