// SPDX-License-Identifier: GPL-2.0
/*
 * Debian's perf and gdb on the unpatched kernel, tracing `victim`. They read
 * the records by code of their own, and gdb follows the program along them:
 * where a record is missing or wrong, it finds a gap.
 *
 *   stock
 */
#include <sys/wait.h>

#include "victim.h"
#include "../guest/guest.h"

#define BRANCHES	(VICTIM_ROUNDS * VICTIM_BRANCHES + 1)
#define TEXT_SIZE	(1 << 20)

/* what the last command said, and its errors */
static char text[TEXT_SIZE];

/* The guest has no shell. Returns true for exit status 0. */
static bool run(const char * const argv[])
{
	size_t used = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(fds))
		return false;
	pid = fork();
	if (!pid) {
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], (char **)argv);
		perror(argv[0]);
		_exit(127);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + used, TEXT_SIZE - 1 - used)) > 0)
		used += n;
	text[used] = '\0';
	close(fds[0]);
	return waitpid(pid, &status, 0) == pid && !status;
}

/* Tells why in the results. */
static bool because(bool good, const char *what)
{
	char *line, *save = NULL;

	if (good)
		return true;
	printf("# %s\n", what);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		printf("# %.200s\n", line);
	return false;
}

/* Lines of `perf script -F ip,addr` with two user addresses. */
static int user_branches(void)
{
	unsigned long long from, to;
	const char *line;
	int nr = 0;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%llx => %llx", &from, &to) == 2)
			nr += !((from | to) >> 63);
	}
	printf("# %d branches, %d were taken\n", nr, BRANCHES);
	return nr;
}

static bool perf_period1(void)
{
	static const char * const record[] = {
		"perf", "record", "-e", "branches:u", "-c", "1", "-d",
		"-o", "/tmp/period1", "/bt/victim", NULL,
	};
	static const char * const script[] = {
		"perf", "script", "-i", "/tmp/period1", "-F", "ip,addr", NULL,
	};

	return because(run(record), "perf record") &&
	       because(run(script), "perf script") &&
	       because(user_branches() == BRANCHES, "wrong number");
}

static bool perf_aux(void)
{
	static const char * const record[] = {
		"perf", "record", "--per-thread", "-e", "intel_bts//u",
		"-o", "/tmp/aux", "/bt/victim", NULL,
	};
	static const char * const script[] = {
		"perf", "script", "-i", "/tmp/aux", "--itrace=b", "-F", "ip,addr",
		NULL,
	};
	int nr;

	if (!because(run(record), "perf record") ||
	    !because(run(script), "perf script"))
		return false;
	nr = user_branches();
	/* perf's intel_bts_process_buffer() leaves out the last of a buffer */
	return because(nr == BRANCHES || nr == BRANCHES - 1, "wrong number");
}

static bool gdb_record(void)
{
	static const char * const gdb[] = {
		"gdb", "-nx", "-batch", "-ex", "set startup-with-shell off",
		"-ex", "tbreak work", "-ex", "run", "-ex", "record btrace bts",
		"-ex", "break work_done", "-ex", "continue", "-ex", "info record",
		"/bt/victim", NULL,
	};
	int insns = -1, gaps = -1;
	const char *said;

	run(gdb);
	said = strstr(text, "Recorded ");
	if (said)
		sscanf(said, "Recorded %d instructions in %*d functions (%d gaps)",
		       &insns, &gaps);
	printf("# %d instructions, %d gaps\n", insns, gaps);
	/* from the first instruction of work() to where it has returned */
	return because(!gaps && insns == VICTIM_ROUNDS * VICTIM_INSNS + 1, "gdb");
}

int main(void)
{
	plan(3);
	ok(perf_period1(), "perf record -e branches:u -c 1");
	ok(perf_aux(), "perf record -e intel_bts//u");
	ok(gdb_record(), "gdb record btrace bts");
	return finish();
}
