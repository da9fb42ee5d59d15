// SPDX-License-Identifier: GPL-2.0
/*
 * Test the branch flight recorder on any machine: record, freeze, and check the branches.
 *
 *   flight bts|lbr
 *
 * A line "answer SOURCE: ..." tells the largest number of branches found on a CPU, and how many
 * pairs of branches, on all usable CPUs, cannot follow each other. If the recorder cannot use the
 * source on this machine, the answer is "none".
 */
#include <sched.h>
#include <sys/syscall.h>

#include "../guest/recorder.h"

#define LEAST	4	/* branches of a CPU */

static cpu_set_t usable;	/* the CPUs that this process may use */
static int misfits;		/* pairs of branches that cannot follow each other */

/* Returns the offset of "NAME+0xOFFSET/0xSIZE", or -1. */
static long offset_of(const char *text)
{
	const char *plus = strchr(text, '+');

	return plus ? strtol(plus, NULL, 16) : -1;
}

/*
 * Returns whether @at is in entry code. A record there may be missing: the filter of some models
 * leaves out entries into the kernel, and the recorder leaves out returns to user mode.
 */
static bool in_entry(const char *at)
{
	static const char *const names[] = {
		"entry_", "asm_", "syscall_return_", "common_interrupt_return", "swapgs_restore_",
		"ret_from_fork_asm", "handle_exception", "restore_all_switch_stack",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strncmp(at, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/*
 * From the target of a branch to the source of the next newer one, no branch was taken. So if both
 * are in one function, the source is not before the target. Returns false if the source is before
 * the target, except in entry code.
 */
static bool follows(const struct line *newer, const struct line *older)
{
	size_t len = strcspn(older->to, "+");
	long target = offset_of(older->to), source = offset_of(newer->from);

	if (target < 0 || source < 0 || in_entry(newer->from) ||
	    strncmp(older->to, newer->from, len + 1))
		return true;
	return target <= source;
}

/* Read the branches of a CPU. Returns their number, and in @wrong how often follows() is false. */
static int read_cpu(int cpu, int *wrong)
{
	struct line newer = { }, line;
	const char *at;
	char name[64], *text;
	int n = 0;

	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace", cpu);
	text = get(name);
	at = text;
	*wrong = 0;
	while (next_line(&at, &line)) {
		if (!line.to[0] || line.cpu != cpu) {
			newer.to[0] = '\0';
			continue;
		}
		if (newer.to[0] && !follows(&newer, &line) && !(*wrong)++)
			printf("# CPU %d: %s <- %s, before it %s <- %s\n", cpu, newer.to,
			       newer.from, line.to, line.from);
		newer = line;
		n++;
	}
	free(text);
	return n;
}

/*
 * Some models sometimes record a wrong source: accept one, and one more for each fifty branches. In
 * a deep C-state, a CPU may lose its LBRs: accept any number of branches unless @busy. Returns the
 * number of branches.
 */
static int check_cpu(int cpu, bool busy)
{
	int wrong, n = read_cpu(cpu, &wrong);

	ok(n >= LEAST || !busy, "CPU %d: %d branches", cpu, n);
	ok(wrong <= n / 50 + 1, "CPU %d: %d branches do not lead to the next one", cpu, wrong);
	misfits += wrong;
	return n;
}

/* Make the kernel take branches on each usable CPU, and end on @last. */
static void use_cpus(int last)
{
	int cpu, i;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &usable))
			continue;
		pin_to(cpu);
		for (i = 0; i < 1000; i++)
			syscall(SYS_getppid);
	}
	pin_to(last);
}

/*
 * Switch the recorder off, which also thaws it. The recorder must not disturb the programs that run
 * next, so this function is also called at exit, for example after give_up().
 */
static void clean(void)
{
	set("fold", "1");
	set("enable", "0");
}

static int test(const char *source)
{
	bool bts = !strcmp(source, "bts");
	int cpu, n, most = 0, here;

	if (sched_getaffinity(0, sizeof(usable), &usable))
		give_up("sched_getaffinity");
	here = sched_getcpu();
	use_cpus(here);
	must_set("freeze", "1");
	must_set("fold", "0");
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &usable))
			continue;
		n = check_cpu(cpu, bts || cpu == here);
		if (n > most)
			most = n;
	}
	must_set("freeze", "0");
	ok(is("enable", source), "recording goes on");
	clean();
	ok(is("enable", "0"), "recording ends");
	printf("answer %s: %d branches of a CPU are kept, %d cannot follow the one before\n",
	       source, most, misfits);
	return finish();
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 2 || (strcmp(argv[1], "bts") && strcmp(argv[1], "lbr"))) {
		fprintf(stderr, "usage: %s bts|lbr\n", argv[0]);
		return 2;
	}
	err = set("enable", argv[1]);
	if (err == -EOPNOTSUPP || err == -ENODEV) {
		skip(argv[1], "this machine does not have it");
		printf("answer %s: none, the kernel cannot use %s here\n", argv[1],
		       !strcmp(argv[1], "lbr") ? "last branch records" : "a Debug Store");
		return finish();
	}
	errno = -err;
	if (err)
		give_up("%s to enable", argv[1]);
	atexit(clean);
	return test(argv[1]);
}
