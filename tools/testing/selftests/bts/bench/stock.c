// SPDX-License-Identifier: GPL-2.0
/*
 * Trace `victim` with Debian's perf and gdb, which read the records with their own code. gdb
 * disassembles the program from one record to the next, and reports the numbers of instructions
 * and gaps.
 *
 *   stock [lbr N]	lbr: test LBRs with perf instead, on a CPU with N of them
 */
#include <stdint.h>
#include <sys/wait.h>

#include "victim.h"
#include "../guest/guest.h"
#include "../guest/system.h"

#define BRANCHES	(VICTIM_ROUNDS * VICTIM_BRANCHES + 1)
#define TEXT_SIZE	(1 << 20)

/* stdout and stderr of the last command */
static char text[TEXT_SIZE];

/*
 * Run a command without a shell, which the guest may lack, and keep the beginning of its output.
 * Returns true for exit status 0.
 */
static bool run(const char * const argv[])
{
	char rest[4096];
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
	/* The command would fail if nobody read the rest of its output. */
	while (n >= 0 && read(fds[0], rest, sizeof(rest)) > 0)
		;
	close(fds[0]);
	return waitpid(pid, &status, 0) == pid && !status;
}

/* Unless @good, print @what and the output of the last command. Returns @good. */
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

/* Count lines of `perf script -F ip,addr` with two user addresses. */
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
	/* perf's intel_bts_process_buffer() omits the last record of a buffer */
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
	/* gdb counts the instructions of all rounds, and the return from work(). */
	return because(!gaps && insns == VICTIM_ROUNDS * VICTIM_INSNS + 1, "gdb");
}

struct pair {
	uint64_t from;
	uint64_t to;
};

/* all: the branches of victim, recorded by BTS. stack: the LBRs of one sample, oldest first. */
static struct pair all[BRANCHES], stack[64];
static int nr_all;

static bool read_all(void)
{
	unsigned long long from, to;
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%llx => %llx", &from, &to) == 2 && !((from | to) >> 63) &&
		    nr_all < BRANCHES)
			all[nr_all++] = (struct pair){ from, to };
	}
	return nr_all == BRANCHES;
}

/*
 * Parse a line of `perf script -F brstack`, 0xFROM/0xTO/..., the newest first. Fill stack[], and
 * return the number of branches.
 */
static int read_stack(const char *line)
{
	struct pair newest_first[64];
	unsigned long long from, to;
	int n = 0, i;

	while (n < 64 && (line = strstr(line, "0x")) &&
	       sscanf(line, "0x%llx/0x%llx", &from, &to) == 2) {
		newest_first[n++] = (struct pair){ from, to };
		line += strcspn(line, "\n ");
		if (*line != ' ')
			break;
	}
	for (i = 0; i < n; i++)
		stack[i] = newest_first[n - 1 - i];
	return n;
}

/*
 * Skip the entries of stack[] up to the last one with a kernel address. The rest of the @n entries
 * must be consecutive branches of victim.
 */
static bool is_piece(int n)
{
	int at, i, from = 0;

	for (i = 0; i < n; i++)
		if ((stack[i].from | stack[i].to) >> 63)
			from = i + 1;
	for (at = 0; at + n - from <= nr_all; at++)
		if (!memcmp(&all[at], &stack[from], (n - from) * sizeof(*stack)))
			return true;
	return false;
}

static bool perf_lbr(int depth)
{
	static const char * const record[] = {
		"perf", "record", "-e", "branches:u", "-c", "37", "-j", "any,u",
		"-o", "/tmp/lbr", "/bt/victim", NULL,
	};
	static const char * const script[] = {
		"perf", "script", "-i", "/tmp/lbr", "-F", "brstack", NULL,
	};
	int samples = 0, full = 0, wrong = 0;
	char *line, *save = NULL;

	if (!because(run(record), "perf record -b") || !because(run(script), "perf script"))
		return false;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int n = read_stack(line);

		if (!n)
			continue;
		samples++;
		full += n == depth;
		if (n > depth || !is_piece(n)) {
			if (!wrong++)
				printf("# %.900s\n", line);
		}
	}
	printf("# %d samples, %d with %d branches, %d wrong\n", samples, full, depth, wrong);
	/*
	 * The event also counts branches that are not taken, so more samples may come. Context
	 * switches clear the LBRs, so not every sample is full.
	 */
	return samples >= BRANCHES / 37 && full > samples / 2 && !wrong;
}

static bool perf_lbr_kernel(void)
{
	/*
	 * Without -icount, a cycle of the emulator is a nanosecond of its virtual clock. With a
	 * much shorter period on a busy host, a counter overflow would come before the kernel has
	 * handled the previous one, and the victim would make no progress.
	 */
	static const char * const record[] = {
		"perf", "record", "-b", "-e", "cycles", "-c", "200000",
		"-o", "/tmp/lbr", "/bt/victim", NULL,
	};
	static const char * const script[] = {
		"perf", "script", "-i", "/tmp/lbr", "-F", "brstack", NULL,
	};

	return because(run(record), "perf record -b -e cycles") &&
	       because(run(script), "perf script") &&
	       because(strstr(text, "0xffffffff"), "no branch of the kernel");
}

/* At least one sample must show that _start called work(), and that work() called leaf(). */
static bool perf_callgraph(void)
{
	static const char * const record[] = {
		"perf", "record", "-e", "branches:u", "-c", "37", "--call-graph", "lbr",
		"-o", "/tmp/lbr", "/bt/victim", NULL,
	};
	static const char * const script[] = {
		"perf", "script", "-i", "/tmp/lbr", "-F", "ip,sym", NULL,
	};
	const char *leaf;

	if (!because(run(record), "perf record --call-graph lbr") ||
	    !because(run(script), "perf script"))
		return false;
	for (leaf = strstr(text, "leaf"); leaf; leaf = strstr(leaf + 4, "leaf")) {
		char work[32], start[32];

		if (sscanf(leaf, "leaf %*x %31s %*x %31s", work, start) == 2 &&
		    !strcmp(work, "work") && !strcmp(start, "_start"))
			return true;
	}
	return because(false, "no call of leaf() by work() by _start");
}

static int lbr(int depth)
{
	plan(depth == 32 ? 4 : 3);
	allow_many_samples();
	ok(perf_period1() && read_all(), "the branches of the victim");
	ok(perf_lbr(depth), "perf record -b, %d entries", depth);
	ok(perf_lbr_kernel(), "perf record -b, user and kernel");
	if (depth == 32)
		ok(perf_callgraph(), "perf record --call-graph lbr");
	return finish();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "lbr"))
		return lbr(atoi(argv[2]));
	plan(3);
	ok(perf_period1(), "perf record -e branches:u -c 1");
	ok(perf_aux(), "perf record -e intel_bts//u");
	ok(gdb_record(), "gdb record btrace bts");
	return finish();
}
