// SPDX-License-Identifier: GPL-2.0
/*
 * Check btstrace's crash view: for each way to crash, it must show the line that caused the
 * crash. Unless the program has two threads, it must also fit on the screen.
 *
 *   toolcrash BTSTRACE RECORD CRASHES CRASHESXX WHAT=LINE... xx WHAT=LINE... [less=N]
 */
#include <signal.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "run.h"

#define SCREEN	32

/* Crash in the way @what, and check that the crash view shows @line of @file. */
static void check(const char *program, const char *file, const char *what, const char *line)
{
	bool threads = !strcmp(what, "thread");
	char command[256], place[64];
	struct run r;

	snprintf(command, sizeof(command), "$b %s -o " OUT " %s %s", threads ? "-f" : "", program,
		 what);
	r = run(command);
	snprintf(place, sizeof(place), " %s:%s ", file, line);
	if (!ok(!exited(&r, 0) && !exited(&r, 99) && strstr(r.out, place),
		"%s: line %s is on the screen", what, line))
		explain(&r);
	ok(threads || count(r.out, "\n") <= SCREEN, "%s: %zu lines", what, count(r.out, "\n"));
	/*
	 * Of two threads, the view shows the open calls of both, but the last branches ("The way
	 * there") only of the thread that crashed.
	 */
	if (!ok(count(r.out, "calls that have not returned") == (threads ? 2 : 1) &&
		count(r.out, "The way there, ") == 1 && !strstr(r.out, "None of the last"),
		"%s: calls and a way", what))
		explain(&r);
	run_free(&r);
}

int main(int argc, char **argv)
{
	const char *program, *file = "crashes.c";
	char *line;
	int i;

	if (argc < 6)
		return 99;
	run_init(argc, argv);
	program = argv[3];
	for (i = 5; i < argc; i++) {
		if (!strcmp(argv[i], "xx")) {
			program = argv[4];
			file = "crashesxx.cc";
			continue;
		}
		line = strchr(argv[i], '=');
		if (!line || !strncmp(argv[i], "less=", 5))
			continue;
		*line = '\0';
		check(program, file, argv[i], line + 1);
	}
	return finish();
}
