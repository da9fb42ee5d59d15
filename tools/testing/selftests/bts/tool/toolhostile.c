// SPDX-License-Identifier: GPL-2.0
/*
 * Trace programs that are hard to trace.
 *
 *   toolhostile BTSTRACE RECORD [less=N]
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "run.h"

static bool is_there(long unused)
{
	(void)unused;
	return !access("/tmp/survived", F_OK);
}

static void check_killer(const char *mode)
{
	char line[128];
	struct run r;

	unlink("/tmp/survived");
	snprintf(line, sizeof(line), "$b %s -o " OUT " /bt/walk killer %ld", mode,
		 less(100000));
	r = run(line);
	ok(killed(&r, SIGKILL), "%s: the tracer is killed", mode);
	ok(wait_until(is_there, 0), "%s: its tracee goes on without it", mode);
	run_free(&r);
}

static void check_cloner(const char *mode)
{
	char line[128];
	struct run r;

	snprintf(line, sizeof(line), "$b -f -s 16K %s -o " OUT " /bt/walk cloner %ld", mode,
		 less(4));
	r = run(line);
	if (!ok(exited(&r, 0), "%s: threads and processes wildly", mode))
		explain(&r);
	run_free(&r);
}

static void check_modify(void)
{
	size_t rets, jumps, unknown, n = less(20000);
	char line[128];
	struct run r;

	snprintf(line, sizeof(line), "$b --full -s 24K -o " OUT " /bt/walk modify %zu", n);
	r = run(line);
	ok(exited(&r, 0) && count(r.out, "[anon]+0x") >= 2 * n,
	   "a program that changes its code");
	/*
	 * When btstrace decodes a record of walk's JMP, walk has mostly changed the target already.
	 * Then btstrace must show "?".
	 */
	rets = count(r.out, "ret       [anon]");
	jumps = count(r.out, "jmp       [anon]");
	unknown = count(r.out, "?         [anon]");
	ok(rets + jumps + unknown == 2 * n && jumps < n / 20 && rets > n / 10 * 9,
	   "no kind is told that is not known: %zu ret, %zu jmp, %zu ?", rets, jumps, unknown);
	run_free(&r);
}

static void check_masked(void)
{
	char line[128];
	struct run r;

	snprintf(line, sizeof(line), "$b --calls -s 4K -o " OUT " /bt/walk masked %ld",
		 less(20000));
	r = run(line);
	if (!ok(exited(&r, 0) && strstr(r.err, ", 0 lost, 0 gaps") &&
		strstr(r.out, "; balanced\n"), "all signals blocked: nothing lost"))
		explain(&r);
	run_free(&r);
}

static void copy_walk(const char *to)
{
	char buf[65536];
	int in = open("/bt/walk", O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			break;
	close(in);
	close(out);
}

static void check_gone(void)
{
	struct run r;

	copy_walk("/tmp/fleeting");
	r = run("$b --calls -o " OUT " /tmp/fleeting gone 9");
	if (!ok(exited(&r, 0) && strstr(r.out, " fib (fleeting)"), "a program that deletes itself"))
		explain(&r);
	run_free(&r);
	copy_walk("/tmp/fleeting");
	r = run("$b --full -o " OUT " /tmp/fleeting execs 1");
	ok(exited(&r, 7), "a program that another one replaces");
	run_free(&r);
}

static void check_hidden(void)
{
	struct run r = run_as("$b --full -o " OUT " /bt/walk hidden 9", 65534, -1);

	if (!ok(exited(&r, 0) && strstr(r.err, "not dumpable any more"),
		"a program that hides: what is withheld is told"))
		explain(&r);
	run_free(&r);
	r = run("$b --full -o " OUT " /bt/walk hidden 9");
	ok(exited(&r, 0) && !strstr(r.err, "not dumpable"), "but not from root");
	run_free(&r);
}

/* Many calls of execve(): after each, btstrace must read the maps of the new program. */
static void check_execs(void)
{
	size_t n = less(30);
	char line[128];
	struct run r;

	snprintf(line, sizeof(line), "$b -f --full -o " OUT " /bt/walk execs %zu", n);
	r = run(line);
	ok(exited(&r, 7) && count(r.out, "--- another program ---") >= n, "%zu programs in turn",
	   n);
	run_free(&r);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 99;
	run_init(argc, argv);
	chmod("/tmp", 0777);
	check_killer("");
	check_killer("--full");
	check_modify();
	check_masked();
	check_gone();
	check_hidden();
	check_execs();
	check_cloner("");
	check_cloner("--full");
	return finish();
}
