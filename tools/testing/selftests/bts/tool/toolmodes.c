// SPDX-License-Identifier: GPL-2.0
/*
 * Check modes of btstrace with programs whose branches are known: from their source code, or
 * because RECORD has recorded the same program by single-stepping it.
 *
 *   toolmodes BTSTRACE RECORD [less=N]
 *
 * BTSTRACE and RECORD are paths of programs. less=N divides the amount of work of some checks by N,
 * for a slow kernel.
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "run.h"

/*
 * Remove the lines that may differ between runs: those of interrupts and signals, and messages,
 * such as that of the program's end.
 */
static void only_own(char *text)
{
	char *in, *out = text, *eol;

	for (in = text; *in; in = eol) {
		eol = strchrnul(in, '\n');
		eol += *eol == '\n';
		if (!strncmp(in, "interrupt", 9) || !strncmp(in, "sig", 3) || *in == '+' ||
		    *in == '-')
			continue;
		memmove(out, in, eol - in);
		out += eol - in;
	}
	*out = '\0';
}

/* Returns whether both texts are equal. Prints the first line that differs. */
static bool same_text(const char *got, const char *want)
{
	size_t i, line = 1, begin = 0;

	for (i = 0; got[i] && got[i] == want[i]; i++) {
		if (got[i] == '\n') {
			line++;
			begin = i + 1;
		}
	}
	if (got[i] == want[i])
		return true;
	printf("# line %zu: %.*s\n", line, (int)strcspn(got + begin, "\n"), got + begin);
	printf("# must be: %.*s\n", (int)strcspn(want + begin, "\n"), want + begin);
	return false;
}

static struct run shown(const char *options, const char *what)
{
	char line[256];
	struct run r;

	snprintf(line, sizeof(line), "$b -o " OUT " %s %s", options, what);
	r = run(line);
	return r;
}

/* Call shown() with @n as the last argument of the program. */
static struct run shown_n(const char *options, const char *what, long n)
{
	char line[128];

	snprintf(line, sizeof(line), "%s %ld", what, n);
	return shown(options, line);
}

/*
 * Check that a live trace and the recorded one show the same, and that a trace of single steps
 * shows the same without the lines that only_own() removes.
 */
static void against_steps(const char *what, long n)
{
	struct run live, again, steps;
	size_t signals;
	char line[256];

	live = shown_n("--full -w /tmp/live.bts", what, n);
	again = run("$b -o " OUT " -r /tmp/live.bts --full");
	if (!ok(same_text(again.out, live.out) && *live.out, "%s: the same when read again", what))
		explain(&again);
	snprintf(line, sizeof(line), "$r /tmp/steps.bts %s %ld", what, n);
	steps = run(line);
	ok(steps.status == live.status, "%s: the same status in steps", what);
	run_free(&steps);
	steps = run("$b -o " OUT " -r /tmp/steps.bts --full");
	signals = count(live.out, "\nsignal    ");
	ok(signals == count(live.out, "\nsigreturn ") && !signals == !strstr(what, "mixed"),
	   "%s: %zu handlers begin and return", what, signals);
	only_own(steps.out);
	only_own(live.out);
	if (!ok(same_text(live.out, steps.out) && count(live.out, "\n") > 300,
		"%s: %zu lines equal those of single steps", what, count(live.out, "\n")))
		explain(&live);
	run_free(&live);
	run_free(&again);
	run_free(&steps);
}

static void check_crash(const char *program, const char *where)
{
	char line[128], want[128];
	struct run r;

	snprintf(line, sizeof(line), "%s crash %s", program, where);
	r = shown("--plain", line);
	ok(killed(&r, SIGSEGV), "%s: killed as without a tracer", line);
	snprintf(want, sizeof(want), " -> [unknown]+%s\n", where);
	if (!ok(strstr(last_line(r.out, "call "), want) &&
		strstr(last_line(r.out, "call "), "jump+0x"), "%s: the last call", line))
		explain(&r);
	snprintf(want, sizeof(want),
		 "--- SIGSEGV at [unknown]+%s, address %s ---\n+++ killed by SIGSEGV +++\n",
		 where, where);
	ok(strstr(r.out, want) && count(r.out, " -> ") == 32, "%s: 32 branches and the end", line);
	ok(strstr(r.out, "walk.c:"), "%s: with lines", line);
	run_free(&r);
}

/* A fault some instructions after the last branch: the report must name the instruction. */
static void check_fault(const char *program)
{
	char line[128];
	struct run r;

	snprintf(line, sizeof(line), "%s fault 0", program);
	r = shown("-n 1", line);
	if (!ok(killed(&r, SIGSEGV) && strstr(r.out, "--- SIGSEGV at fault+0x") &&
		strstr(r.out, " (walk.c:") && strstr(r.out, "), address 0x0 ---\n"),
		"%s: which instruction it was", line))
		explain(&r);
	run_free(&r);
}

static void check_last(void)
{
	struct run r = shown("-n 5 -e call,ret", "/bt/walk loop 1000");

	ok(exited(&r, 0) && count(r.out, "call ") + count(r.out, "ret ") == 5 &&
	   count(r.out, " -> ") == 5, "-n 5 -e call,ret");
	run_free(&r);
	r = shown_n("-n 20000", "/bt/walk loop", 20000);
	ok(count(r.out, " -> ") == 20000, "-n 20000: %zu", count(r.out, " -> "));
	run_free(&r);
}

/*
 * -w without a mode records all branches, and shows the last ones. With -n as well, it does not
 * record older branches for which the trace has no room.
 */
static void check_recorded(void)
{
	struct run r = shown("-w /tmp/recorded", "/bt/walk loop 5000");
	const char *line = last_line(r.err, " branches, "), *total;

	if (!ok(exited(&r, 0) && strstr(r.out, "The way there") && *line &&
		atol(line + strlen("btstrace: ")) > 15000, "-w without a mode: the end"))
		explain(&r);
	run_free(&r);
	r = run("$b -c -o " OUT " -r /tmp/recorded");
	total = last_line(r.out, " total,");
	ok(*total && atol(total + 10) > 15000, "and all are recorded");
	run_free(&r);
	r = shown("-n 40 -w /tmp/recorded", "/bt/walk loop 5000");
	ok(exited(&r, 0) && count(r.out, " -> ") == 40, "-n 40 -w");
	run_free(&r);
	r = run("$b -c -o " OUT " -r /tmp/recorded");
	total = last_line(r.out, " total,");
	ok(*total && atol(total + 10) <= 2730, "the end only is recorded: %ld",
	   *total ? atol(total + 10) : 0);
	run_free(&r);
}

static void check_calls(const char *program)
{
	char line[64], calls[32];
	long n = less(50000);
	struct run r;

	snprintf(line, sizeof(line), "%s loop", program);
	r = shown_n("--calls", line, n);
	snprintf(calls, sizeof(calls), "     %ld ", n);
	if (!ok(strstr(last_line(r.out, " leaf ("), calls) &&
		strstr(r.out, "; balanced\n") && strstr(r.out, " 0 gaps"),
		"%s --calls: %ld of leaf, balanced", program, n))
		explain(&r);
	ok(strstr(r.err, ", 0 lost, 0 gaps, 1 thread, "), "%s: nothing lost", program);
	run_free(&r);
}

static long sum_folded(const char *text)
{
	long sum = 0;
	const char *line, *eol;

	for (line = text; *line; line = eol + (*eol == '\n')) {
		eol = strchrnul(line, '\n');
		sum += atol((const char *)memrchr(line, ' ', eol - line) + 1);
	}
	return sum;
}

static long closing_branches(const struct run *r)
{
	const char *line = last_line(r->err, " branches, ");

	return *line ? atol(line + strlen("btstrace: ")) : -1;
}

static void check_formats(void)
{
	struct stat st;
	struct run r = shown("--folded", "/bt/walk mixed 20");

	if (!ok(sum_folded(r.out) == closing_branches(&r) && strstr(r.out, "walk;"),
		"--folded: %ld branches, as many as there were", sum_folded(r.out)))
		explain(&r);
	ok(strstr(r.out, ";main;mixed;deep;deep;deep;deep;deep;"), "--folded: a stack");
	run_free(&r);
	r = shown("--json", "/bt/walk mixed 20");
	ok((long)count(r.out, "{\"type\":\"branch\"") == closing_branches(&r) &&
	   count(r.out, "\n") == count(r.out, "}\n{") + 1, "--json: as many lines");
	run_free(&r);
	r = shown("--raw", "/bt/walk mixed 20");
	ok((long)(count(r.out, " branch 0x") + count(r.out, " leave 0x0 ")) == closing_branches(&r),
	   "--raw: as many lines");
	run_free(&r);
	r = shown("--perfetto", "/bt/walk mixed 20");
	ok(exited(&r, 0) && !stat(OUT, &st) && st.st_size > 2000, "--perfetto: %ld bytes",
	   (long)st.st_size);
	run_free(&r);
	r = shown("--drcov", "/bt/walk mixed 20");
	ok(!strncmp(r.out, "DRCOV VERSION: 2\n", 17) && strstr(r.out, ", /bt/walk\n") &&
	   strstr(r.out, "\nBB Table: "), "--drcov: its head");
	run_free(&r);
	r = shown_n("-c", "/bt/walk loop", less(50000));
	ok(atol(last_line(r.out, " total,") + 10) == closing_branches(&r) &&
	   closing_branches(&r) > less(150000) && strstr(r.out, " total, 0 lost, 0 gaps"),
	   "-c: %ld in all", closing_branches(&r));
	run_free(&r);
}

/*
 * With --full, if standard error is a terminal and the output is not, btstrace shows its progress
 * in a line, and erases the line at the end. With -q, it does not.
 */
static void check_progress(void)
{
	static const char last[] = "\r\033[K";
	const char *told, *at;
	char line[128];
	struct run r;
	int terminal;
	pid_t pid;

	snprintf(line, sizeof(line), "$b --full -s 240K -o " OUT " /bt/walk loop %ld",
		 less(300000));
	pid = run_on_terminal(line, &terminal);
	r = run_terminal_end(pid, terminal);
	told = strstr(r.err, " million branches, 0 lost, 1 thread ");
	for (at = told; at && (at = strstr(at, last)) && at[strlen(last)] != 'b'; at++)
		;
	if (!ok(exited(&r, 0) && told && at && strstr(at, "btstrace: 9"),
		"on a terminal: progress, and then the closing line"))
		explain(&r);
	run_free(&r);
	snprintf(line, sizeof(line), "$b -q --full -s 240K -o " OUT " /bt/walk loop %ld",
		 less(300000));
	pid = run_on_terminal(line, &terminal);
	r = run_terminal_end(pid, terminal);
	ok(exited(&r, 0) && !*r.err, "on a terminal, -q: nothing");
	run_free(&r);
}

/* With -k, check the kinds of the kernel's branches, and of branches into the kernel. */
static void check_kernel(const char *what)
{
	long n = less(5);
	struct run r = shown_n("--full -k -w /tmp/kernel.bts", what, n), again;
	size_t calls = count(r.out, "call      do_syscall_64") +
		       count(r.out, "call      do_int80_emulation") +
		       count(r.out, "call      do_fast_syscall_32");
	size_t all = count(r.out, " -> "), unknown = count(r.out, "\n?  ");

	if (!ok(calls > 10 && all > 1000 && unknown < all / 1000,
		"%s -k: %zu branches, %zu calls by the system calls' entry, %zu of no kind", what,
		all, calls, unknown))
		explain(&r);
	ok(count(r.out, "syscall   raise+0x") + count(r.out, "syscall   getppid+0x") +
	   count(r.out, "syscall   __kernel_vsyscall+0x") >= (size_t)n,
	   "%s -k: from the program into the kernel", what);
	again = run("$b -r /tmp/kernel.bts --full -o " OUT);
	ok(same_text(again.out, r.out), "%s -k: the same when read again", what);
	run_free(&again);
	run_free(&r);
}

static long sum_lost(const char *text)
{
	const char *line;
	long sum = 0;

	for (line = text; (line = strstr(line, "\n--- ")); line++)
		if (strstr(line, " records lost ---\n") == strchr(line + 5, ' '))
			sum += atol(line + 5);
	return sum;
}

/*
 * The tracee cannot be stopped inside execve(), where the kernel makes more branches than the trace
 * has room for. The output must show each loss once, and none after the last branch.
 */
static void check_lost(void)
{
	struct run r = shown("-k --full -s 96K", "/bt/walk execs 2");
	const char *line = last_line(r.err, " lost, "), *last = last_line(r.out, " -> ");
	long lost = sum_lost(r.out);

	line = strstr(line, " branches, ");
	if (!ok(exited(&r, 7) && lost > 0 && line && atol(line + 11) == lost,
		"%ld records lost in execve(), and said to be", lost))
		explain(&r);
	ok(!strstr(last, "records lost"), "and not once more in the end");
	run_free(&r);
}

static void check_sched(void)
{
	struct run r = shown("--full -t", "/bt/walk mixed 5");

	ok(count(r.out, "--- on CPU ") && count(r.out, "--- off CPU "), "-t: on and off a CPU");
	run_free(&r);
	r = shown("--full --entries", "/bt/walk mixed 5");
	ok(count(r.out, " -> [kernel]\n") && count(r.out, "syscall   raise+0x") +
	   count(r.out, "syscall   ") > count(r.out, "syscall   [kernel]"),
	   "--entries: where it left");
	run_free(&r);
	/* -w records times even without -t, so that -r can show the trace with -t later. */
	r = shown("--full -w /tmp/clocks.bts", "/bt/walk mixed 5");
	ok(!strstr(r.out, "--- on CPU "), "-w: clocks are not shown");
	run_free(&r);
	r = run("$b -r /tmp/clocks.bts --full -t -o " OUT);
	ok(count(r.out, "--- on CPU "), "-r -t: but they are there");
	run_free(&r);
	/* The crash view shows consecutive branches in the kernel as one line. */
	r = shown("-k", "/bt/walk fault 0");
	if (!ok(strstr(r.out, " walk.c:") && strstr(r.out, "  [kernel]: ") &&
		count(r.out, "\n") <= 32, "-k: the program's own code, and the kernel"))
		explain(&r);
	run_free(&r);
	check_kernel("/bt/walk mixed");
	check_kernel("/bt/walk_32 mixed");
	r = shown("--full -e module=[[]vdso*,walk -e !ret", "/bt/walk loop 10");
	ok(!count(r.out, "ret  ") && count(r.out, "call "), "-e module=, -e !ret");
	run_free(&r);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 99;
	run_init(argc, argv);
	/* Without this, two runs may differ: branches of string functions depend on addresses. */
	write_file("/proc/sys/kernel/randomize_va_space", "0");
	against_steps("/bt/walk mixed", less(3));
	against_steps("/bt/walk_32 mixed", less(3));
	against_steps("/bt/walk calls", less(10));
	check_crash("/bt/walk", "0x1230");
	check_crash("/bt/walk_32", "0x1230");
	check_fault("/bt/walk");
	check_fault("/bt/walk_32");
	check_last();
	check_recorded();
	check_calls("/bt/walk");
	check_calls("/bt/walk_32");
	check_formats();
	check_sched();
	check_lost();
	check_progress();
	return finish();
}
