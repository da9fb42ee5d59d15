// SPDX-License-Identifier: GPL-2.0
/*
 * Test the branch flight recorder on any machine: record, freeze, and check the branches.
 *
 *   flight bts|lbr
 *
 * A line "answer SOURCE: ..." tells how many branches of a CPU are kept. If the machine does not
 * have the source, it says "none".
 */
#include "common.h"
#include <sys/syscall.h>

#define LEAST	4	/* branches of each CPU */

/* The offset of "NAME+0xOFFSET/0xSIZE", or -1 */
static long offset_of(const char *text)
{
	const char *plus = strchr(text, '+');

	return plus ? strtol(plus, NULL, 16) : -1;
}

/*
 * From the target of a branch to the source of the next newer one, no branch was taken. So if both
 * are in one function, the source does not come first. Returns whether that is so.
 */
static bool follows(const struct line *newer, const struct line *older)
{
	size_t len = strcspn(older->to, "+");
	long target = offset_of(older->to), source = offset_of(newer->from);

	if (target < 0 || source < 0 || strncmp(older->to, newer->from, len + 1))
		return true;
	return target <= source;
}

/* Check the branches of a CPU. Returns their number. */
static int check_cpu(int cpu)
{
	struct line newer = { }, line;
	int n = 0, wrong = 0;
	const char *at;
	char name[64], *text;

	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace", cpu);
	text = get(name);
	at = text;
	while (next_line(&at, &line)) {
		if (!line.to[0] || line.cpu != cpu) {
			newer.to[0] = '\0';
			continue;
		}
		if (newer.to[0] && !follows(&newer, &line)) {
			if (!wrong++)
				printf("# CPU %d: %s <- %s, before it %s <- %s\n", cpu, newer.to,
				       newer.from, line.to, line.from);
		}
		newer = line;
		n++;
	}
	free(text);
	ok(n >= LEAST, "CPU %d: %d branches", cpu, n);
	ok(!wrong, "CPU %d: each branch leads to the next one", cpu);
	return n;
}

/* Make the kernel of each CPU take branches. */
static void use_cpus(void)
{
	int cpu, i;

	for (cpu = 0; cpu < cpus(); cpu++) {
		pin_to(cpu);
		for (i = 0; i < 1000; i++)
			syscall(SYS_getppid);
	}
	pin_to(0);
}

static int test(const char *source)
{
	int cpu, n, least = -1;

	use_cpus();
	must_set("freeze", "1");
	must_set("fold", "0");
	for (cpu = 0; cpu < cpus(); cpu++) {
		n = check_cpu(cpu);
		if (least < 0 || n < least)
			least = n;
	}
	must_set("fold", "1");
	must_set("freeze", "0");
	ok(is("enable", source), "recording goes on");
	must_set("enable", "0");
	ok(is("enable", "0"), "recording ends");
	printf("answer %s: %d branches of the kernel are kept, for each CPU\n", source, least);
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
		printf("answer %s: none, the recorder cannot use it here\n", argv[1]);
		return finish();
	}
	errno = -err;
	if (err)
		give_up("%s to enable", argv[1]);
	return test(argv[1]);
}
