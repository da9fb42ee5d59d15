// SPDX-License-Identifier: GPL-2.0
/* Tests of the command line: what the options imply, and what is refused */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "options.h"
#include "output.h"
#include "tap.h"

#define WORDS_MAX	16

/*
 * struct parsed - the result for a command line
 * @o:		the options
 * @status:	the result of options_parse(): -1, or an exit status
 * @said:	the text on standard error
 * @line:	contains the words of the command line
 * @words:	points to these words
 */
struct parsed {
	struct options	o;
	int		status;
	char		*said;
	char		*line;
	char		*words[WORDS_MAX + 1];
};

static struct parsed *parse(const char *line)
{
	struct parsed *p = bt_alloc(1, sizeof(*p));
	FILE *before = stderr;
	size_t len;
	int n = 0;
	char *word;

	p->line = bt_print("btstrace %s", line);
	for (word = strtok(p->line, " "); word && n < WORDS_MAX; word = strtok(NULL, " "))
		p->words[n++] = word;
	/* With optind 0, getopt_long() begins anew. */
	optind = 0;
	stderr = open_memstream(&p->said, &len);
	p->status = options_parse(&p->o, n, p->words);
	fclose(stderr);
	stderr = before;
	return p;
}

static void drop(struct parsed *p)
{
	bt_filter_free(p->o.filter);
	free(p->o.pids);
	free(p->said);
	free(p->line);
	free(p);
}

/* -w records all branches or, if -n is given and the mode is not the crash view, the last. */
static void test_write(void)
{
	static const struct {
		const char *line;
		bool full;
	} lines[] = {
		{ "-w trace ls", true },
		{ "-w trace --plain ls", true },
		{ "-w trace -n 31 ls", false },
		{ "-w trace -n 32 ls", false },
		{ "-w trace -n 32 --plain ls", false },
		{ "-w trace -n 33 ls", false },
		{ "-n 32 ls", false },
	};
	struct parsed *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		p = parse(lines[i].line);
		ok(p->status == -1 && p->o.how.full == lines[i].full, "%s: %s", lines[i].line,
		   lines[i].full ? "all" : "the last");
		drop(p);
	}
}

/*
 * The crash view looks at as many branches as the trace has room for, but at least at
 * BT_LAST_CRASH. With -r, it looks at up to BT_LAST_MAX.
 */
static void test_crash(void)
{
	static const struct {
		const char *line;
		u32 last;
	} lines[] = {
		{ "ls", BT_LAST_CRASH },
		{ "-s 24 ls", BT_LAST_CRASH },
		{ "-s 2M ls", BT_LAST_CRASH },
		{ "-s 16M ls", 16 * 1024 * 1024 / 24 },
		{ "-s 256M ls", 256 * 1024 * 1024 / 24 },
		{ "-n 50 -s 16M --crash ls", 16 * 1024 * 1024 / 24 },
		{ "-r trace", BT_LAST_MAX },
		{ "-n 50 --crash -r trace", BT_LAST_MAX },
		{ "-r trace --plain", 32 },
	};
	struct parsed *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		p = parse(lines[i].line);
		ok(p->status == -1 && p->o.last == lines[i].last, "%s: the last %u",
		   lines[i].line, p->o.last);
		drop(p);
	}
}

/* Each of @lines is refused, and @said is a part of the message. Each of @fine is accepted. */
static void test_refused(void)
{
	static const char functions_only[] =
		"-e: this mode shows functions: give func= or module=";
	static const struct {
		const char *line;
		const char *said;
	} lines[] = {
		{ "--memory 1M ls", "--memory 1M: give a size from 16M to 1048576M\n" },
		{ "--memory 1048577M ls", "--memory 1048577M: give a size from 16M to 1048576M\n" },
		{ "-e malloc ls", "interrupt and ?; a function is func=NAME\n" },
		{ "-e !malloc ls", "interrupt and ?; a function is func=NAME\n" },
		{ "--full --calls ls", "--full and --calls: choose one" },
		{ "--crash --full -r trace", "--full and --crash: choose one" },
		{ "--full --force ls", "--force: only with -r" },
		{ "--calls -e from=main ls", functions_only },
		{ "--folded -e !to=main ls", functions_only },
		{ "--flow -e func=f -e to=g ls", functions_only },
		{ "--insn -e from=main ls", functions_only },
		{ "--insn -e kind=call ls", functions_only },
		{ "--p ls",
		  "'--p' is ambiguous; possibilities: '--plain' '--perfetto' '--profile'" },
		{ "--l ls", "'--lcov' '--lines' '--loops' '--last'" },
		{ "--f ls", "'--full' '--flow' '--folded'" },
		{ "--c ls", "'--crash' '--calls' '--color'" },
		{ "--output= ls", "--output: the name of a file is missing\n" },
		{ "--root= --calls ls", "--root: a pattern is missing\n" },
		{ "--read=", "--read: the name of a file is missing\n" },
	};
	static const char *const fine[] = {
		"--memory 1048576M ls", "--full --plain ls", "--full -e func=malloc ls",
		"--force -r trace", "-e call,ret ls", "--pl ls",
		"--calls -e !func=a -e module=b ls",
		"--lines -e from=main ls",
	};
	struct parsed *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		p = parse(lines[i].line);
		if (!ok(p->status == BT_EXIT_USAGE && strstr(p->said, lines[i].said), "%s: refused",
			lines[i].line))
			printf("# said: %s\n", p->said);
		drop(p);
	}
	for (i = 0; i < ARRAY_SIZE(fine); i++) {
		p = parse(fine[i]);
		ok(p->status == -1 && !*p->said, "%s", fine[i]);
		drop(p);
	}
}

int main(void)
{
	test_refused();
	test_write();
	test_crash();
	return finish();
}
