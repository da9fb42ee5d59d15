// SPDX-License-Identifier: GPL-2.0
/*
 * Trace programs with libraries, without symbols, and with code that is in no file. Check that
 * btstrace shows the same when it reads the recorded trace and, where check() is called, that it
 * shows branches by names, or by modules and offsets.
 *
 *   toolshapes BTSTRACE RECORD SHAPES STRIPPED SHAPES32 [less=N]
 */
#include "../guest/guest.h"
#include "run.h"

static const char *const modes[] = {
	"--raw", "--json", "--calls", "--folded", "--perfetto", "--drcov", "-c", "--flow",
	"--lcov", "--profile", "--lines", "--loops", "--crash", "--insn",
};

static void show_difference(const char *a, const char *b)
{
	size_t i, begin = 0;

	for (i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '\n')
			begin = i + 1;
	printf("# live:  %.*s\n# again: %.*s\n", (int)strcspn(a + begin, "\n"), a + begin,
	       (int)strcspn(b + begin, "\n"), b + begin);
}

/* Trace a program, then show the recorded trace: both outputs must be equal. Returns the output. */
static char *show_twice(const char *mode, const char *program, const char *what)
{
	struct run live, again;
	char line[256], *out;
	const char *cut;

	snprintf(line, sizeof(line), "$b %s -o " OUT " -w /tmp/trace %s %s", mode, program, what);
	live = run(line);
	/* Cut off -s: with -r, it is refused. */
	cut = strstr(mode, " -s ");
	snprintf(line, sizeof(line), "$b %.*s -o " OUT " -r /tmp/trace",
		 (int)(cut ? cut - mode : (long)strlen(mode)), mode);
	again = run(line);
	if (!ok(exited(&live, 0) && exited(&again, 0) && *live.out &&
		!strcmp(live.out, again.out), "%s %s %s: the same again", program, what, mode)) {
		explain(&live);
		explain(&again);
		show_difference(live.out, again.out);
	}
	run_free(&again);
	out = strdup(live.out);
	run_free(&live);
	return out;
}

/* Call show_twice(). Check that its output has @must, and has no unknown module or kind. */
static void check(const char *program, const char *what, const char *must)
{
	char *out = show_twice("--full", program, what);

	ok(strstr(out, must), "%s %s: %s", program, what, must);
	ok(!count(out, "[unknown]") && !count(out, "\n?         "),
	   "%s %s: %zu unknown, %zu of no kind", program, what, count(out, "[unknown]"),
	   count(out, "\n?         "));
	free(out);
}

static void check_modes(const char *program, const char *what)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++)
		free(show_twice(modes[i], program, what));
}

int main(int argc, char **argv)
{
	const char *shapes, *stripped, *shapes32;
	char what[32], *out;

	if (argc < 6)
		return 99;
	run_init(argc, argv);
	shapes = argv[3];
	stripped = argv[4];
	shapes32 = argv[5];
	check_modes(shapes, "sorts 3");
	check(shapes, "sorts 3", "-> compare+0x0 (shapes.c:");
	/* A call through the PLT counts as one call of the function. The PLT is not a function. */
	out = show_twice("--full -e call -e to=qsort", shapes, "sorts 3");
	ok(count(out, " -> ") == 3, "-e to=qsort: %zu calls", count(out, " -> "));
	free(out);
	out = show_twice("--calls", shapes, "sorts 3");
	ok(!strstr(out, "@plt") && !strstr(out, "_dl_runtime_resolve"), "--calls: no stubs");
	free(out);
	out = show_twice("--calls", stripped, "sorts 3");
	ok(strstr(out, "; balanced\n"), "--calls: balanced, without symbols, too");
	free(out);
	check(stripped, "sorts 3", "call      libc.so.6+0x");
	check(shapes32, "sorts 3", "-> compare+0x0 (shapes.c:");
	check(shapes, "times 20", "clock_gettime+0x0 ([vdso])");
	check(shapes, "opens 1", "zlibVersion+0x0 (libz.so.1");
	check(shapes, "maps 3", " -> compiled one+0x0 ([anon])");
	check(shapes, "maps 3", " -> jits::two+0x0 ([anon])");
	check(shapes, "remaps 3", " -> compiled before execve()+0x0 ([anon])");
	check(shapes, "remaps 3", " -> compiled one+0x0 ([anon])");
	check(shapes, "dumps 3", " -> dumped one+0x0 ([anon])");
	check(shapes, "dumps 3", " -> jits::two+0x0 ([anon])");
	free(show_twice("--full", shapes, "opens 3"));
	/* The program keeps changing its code: with -s 24K, btstrace reads the trace often. */
	snprintf(what, sizeof(what), "writes %ld", less(3000));
	free(show_twice("--full -s 24K", shapes, what));
	return finish();
}
