// SPDX-License-Identifier: GPL-2.0
/*
 * Check how strace prints the requests, records and events of real traces.
 *
 *   straced STRACE PROGRAM LIVE...
 *
 * Each LIVE is a test of strace's suite: it makes calls, and prints what strace has to
 * print of them. The example of ptrace_bts(2) prints the last records of PROGRAM, which has
 * no symbols. expect() computes from these what strace has to print of the example's requests.
 */
#include <sys/wait.h>

#include "../guest/guest.h"

#define LOG	"/tmp/log"
#define OUT	"/tmp/out"
#define LAST	"24"

static const char *strace;

/* Returns the contents of a file. The caller frees them. */
static char *contents(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t len = 0, room = 0, n = 0;
	char *text = NULL;

	if (!f)
		give_up("%s", path);
	do {
		len += n;
		room += 65536;
		text = realloc(text, room);
		if (!text)
			give_up("memory");
		n = fread(text + len, 1, room - len - 1, f);
	} while (n);
	fclose(f);
	text[len] = '\0';

	return text;
}

/*
 * Run @command under strace. The command writes to OUT, and strace to LOG. Returns strace's exit
 * status, or -1.
 */
static int run(const char *trace, const char *const *command)
{
	const char *argv[16] = { strace, "-a10", "-esignal=none", trace, "-o", LOG };
	int status = -1, n = 6;
	pid_t pid;

	while (*command)
		argv[n++] = *command++;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		int fd = open(OUT, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, STDOUT_FILENO);
		execv(strace, (char **)argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns whether both texts are equal. Prints the first line that differs. */
static bool same(const char *expected, const char *got)
{
	size_t i = 0, line = 0;

	for (; expected[i] == got[i]; i++) {
		if (!expected[i])
			return true;
		if (expected[i] == '\n')
			line = i + 1;
	}
	printf("# expected: %.*s\n", (int)strcspn(expected + line, "\n"), expected + line);
	printf("# strace:   %.*s\n", (int)strcspn(got + line, "\n"), got + line);

	return false;
}

/* This call marks where the output of the test arch_prctl begins. */
#define MARK		"arch_prctl(0xffffffff"
#define SOURCE_TOLD	"{size=32, source=PTRACE_BTS_SOURCE_DS, sources=1<<PTRACE_BTS_SOURCE_DS"

static void check_live(const char *path)
{
	const char *test = strstr(path, "/tests"), *name = strrchr(path, '/'), *from;
	const bool prctl = name && !strcmp(name, "/arch_prctl");
	char *expected, *got;
	int status;

	status = run(prctl ? "-etrace=arch_prctl" : "-etrace=ptrace,wait4",
		     (const char *[]){ path, NULL });
	expected = contents(OUT);
	got = contents(LOG);
	from = got;
	if (prctl) {
		from = strstr(got, MARK);
		from = from ? strchr(from, '\n') : NULL;
		from = from ? from + 1 : "";
		ok(strstr(from, SOURCE_TOLD), "%s: the machine's source", test ? test + 1 : path);
	}
	if (status)
		printf("# exit status %d\n", status);
	ok(!status && same(expected, from), "%s", test ? test + 1 : path);
	free(expected);
	free(got);
}

/*
 * Write what strace has to print of the PTRACE_BTS_GET that led to a line of the example's output.
 * Returns false if the line shows no record.
 */
static bool write_get(FILE *f, int pid, const char *line, long index)
{
	unsigned long long from = 0, to;
	const char *type = "LEAVE";

	if (sscanf(line, " (kernel) -> 0x%llx", &to) != 1) {
		type = "BRANCH";
		if (sscanf(line, " 0x%llx -> 0x%llx", &from, &to) != 2)
			return false;
	}
	fprintf(f, "ptrace(PTRACE_BTS_GET, %d, {type=X86_BTS_%s, flags=0, ", pid, type);
	fprintf(f, "branch={from=%#llx, to=%#llx}}, %ld) = 0\n", from, to, index);

	return true;
}

/*
 * Returns what strace has to print. This is computed from @out, which the example has printed, and
 * from @pid and @held, which are from strace's own output.
 */
static char *expect(int pid, long held, const char *out)
{
	long index = atol(LAST);
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "ptrace(PTRACE_SETOPTIONS, %d, NULL, %s) = 0\n", pid,
		"PTRACE_O_TRACEEXIT|PTRACE_O_EXITKILL");
	fprintf(f, "ptrace(PTRACE_BTS_CONFIG, %d, {size=48000, flags=%s, signal=0, bts_size=0, ",
		pid, "PTRACE_BTS_F_TRACE|PTRACE_BTS_F_ALLOC");
	fprintf(f, "source=PTRACE_BTS_SOURCE_ANY, clock=PTRACE_BTS_CLOCK_SCHED}, 24) = 0\n");
	fprintf(f, "ptrace(PTRACE_CONT, %d, NULL, 0) = 0\n", pid);
	fprintf(f, "ptrace(PTRACE_BTS_SIZE, %d) = %ld\n", pid, held);
	while (*out && write_get(f, pid, out, --index))
		out += strcspn(out, "\n") + 1;
	fprintf(f, "ptrace(PTRACE_CONT, %d, NULL, 0) = 0\n+++ exited with 0 +++\n", pid);
	fclose(f);
	if (index)
		printf("# %ld records of %s were not printed\n", index, LAST);

	return text;
}

static void check_example(const char *program)
{
	const char *const command[] = {
		"/bt/example", "-n", LAST, program, "sorts", "2", NULL,
	};
	char *out, *got, *expected;
	const char *size;
	int status, pid = 0;
	long held = 0;

	status = run("-etrace=ptrace", command);
	out = contents(OUT);
	got = contents(LOG);
	size = strstr(got, "ptrace(PTRACE_BTS_SIZE, ");
	if (!size || sscanf(size, "ptrace(PTRACE_BTS_SIZE, %d) = %ld", &pid, &held) != 2)
		printf("# no number of records\n");
	expected = expect(pid, held, out);
	if (status)
		printf("# exit status %d\n", status);
	ok(!status && same(expected, got), "example: its last %s records", LAST);
	ok(held >= atol(LAST) && held <= 2000, "example: %ld records held", held);
	free(expected);
	free(got);
	free(out);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 4)
		give_up("give the paths of strace, of a program, and of strace's tests");
	setvbuf(stdout, NULL, _IOLBF, 0);
	strace = argv[1];
	check_example(argv[2]);
	for (i = 3; i < argc; i++)
		check_live(argv[i]);

	return finish();
}
