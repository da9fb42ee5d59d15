// SPDX-License-Identifier: GPL-2.0
/*
 * hello CPUS on|off: check that the guest has CPUS online CPUs, that page-table isolation is on or
 * off, and that the emulator's monitor answers.
 */
#include "guest.h"

static bool file_has(const char *path, const char *word)
{
	char buf[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool has;

	has = fd >= 0 && read(fd, buf, sizeof(buf) - 1) > 0 && strstr(buf, word);
	if (!has)
		printf("# %s: %s\n", path, buf);
	close(fd);
	return has;
}

int main(int argc, char *argv[])
{
	static char answer[4096];
	char last[32];
	long cpus;
	bool pti;

	if (argc != 3) {
		fprintf(stderr, "usage: hello CPUS on|off\n");
		return 2;
	}
	cpus = atol(argv[1]);
	pti = !strcmp(argv[2], "on");
	snprintf(last, sizeof(last), "CPU #%ld", cpus - 1);

	plan(4);
	ok(sysconf(_SC_NPROCESSORS_ONLN) == cpus, "%ld processors", cpus);
	ok(file_has("/sys/devices/system/cpu/vulnerabilities/meltdown", "PTI") == pti,
	   "isolation %s", argv[2]);
	ok(!hmp("info cpus", answer, sizeof(answer)), "the monitor answers");
	ok(strstr(answer, last), "the monitor knows %s", last);
	return finish();
}
