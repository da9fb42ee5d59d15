// SPDX-License-Identifier: GPL-2.0
/* This file parses the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "explain.h"
#include "options.h"
#include "output.h"

#define DEFAULT_LAST	32
#define FULL_BYTES	(1024 * 1024)
#define MEMORY_MIN	(16ull * 1024 * 1024)
#define MEMORY_DEFAULT	(512ull * 1024 * 1024)
#define MEMORY_MAX	(1048576ull * 1024 * 1024)

/*
 * Each long option has its own value. If two options had the same value, getopt_long() might
 * accept a common abbreviation of both, instead of reporting that it is ambiguous. parse_one()
 * treats each value from OPT_CRASH to OPT_JSON as a mode.
 */
enum {
	OPT_CRASH = 256, OPT_PLAIN, OPT_RAW, OPT_CALLS, OPT_FLOW, OPT_FOLDED, OPT_PERFETTO,
	OPT_DRCOV, OPT_LCOV, OPT_PROFILE, OPT_LINES, OPT_LOOPS, OPT_INSN, OPT_JSON, OPT_FULL,
	OPT_ENTRIES, OPT_COLOR, OPT_NO_PAGER, OPT_FORCE, OPT_ROOT, OPT_DEPTH,
	OPT_BY_THREAD, OPT_NO_DEMANGLE, OPT_MEMORY,
};

static const struct option long_options[] = {
	{ "full",	no_argument,		NULL, OPT_FULL },
	{ "crash",	no_argument,		NULL, OPT_CRASH },
	{ "plain",	no_argument,		NULL, OPT_PLAIN },
	{ "raw",	no_argument,		NULL, OPT_RAW },
	{ "calls",	no_argument,		NULL, OPT_CALLS },
	{ "flow",	no_argument,		NULL, OPT_FLOW },
	{ "root",	required_argument,	NULL, OPT_ROOT },
	{ "depth",	required_argument,	NULL, OPT_DEPTH },
	{ "folded",	no_argument,		NULL, OPT_FOLDED },
	{ "perfetto",	no_argument,		NULL, OPT_PERFETTO },
	{ "drcov",	no_argument,		NULL, OPT_DRCOV },
	{ "lcov",	no_argument,		NULL, OPT_LCOV },
	{ "profile",	no_argument,		NULL, OPT_PROFILE },
	{ "lines",	no_argument,		NULL, OPT_LINES },
	{ "loops",	no_argument,		NULL, OPT_LOOPS },
	{ "insn",	no_argument,		NULL, OPT_INSN },
	{ "json",	no_argument,		NULL, OPT_JSON },
	{ "summary",	no_argument,		NULL, 'c' },
	{ "follow",	no_argument,		NULL, 'f' },
	{ "kernel",	no_argument,		NULL, 'k' },
	{ "entries",	no_argument,		NULL, OPT_ENTRIES },
	{ "times",	no_argument,		NULL, 't' },
	{ "filter",	required_argument,	NULL, 'e' },
	{ "by-thread",	no_argument,		NULL, OPT_BY_THREAD },
	{ "no-demangle", no_argument,		NULL, OPT_NO_DEMANGLE },
	{ "color",	optional_argument,	NULL, OPT_COLOR },
	{ "no-pager",	no_argument,		NULL, OPT_NO_PAGER },
	{ "force",	no_argument,		NULL, OPT_FORCE },
	{ "memory",	required_argument,	NULL, OPT_MEMORY },
	{ "last",	required_argument,	NULL, 'n' },
	{ "output",	required_argument,	NULL, 'o' },
	{ "attach",	required_argument,	NULL, 'p' },
	{ "size",	required_argument,	NULL, 's' },
	{ "read",	required_argument,	NULL, 'r' },
	{ "write",	required_argument,	NULL, 'w' },
	{ "quiet",	no_argument,		NULL, 'q' },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, 'V' },
	{},
};

static void print_help(void)
{
	fputs("usage: btstrace [-cfkqt] [-o FILE] [-n N] [-e FILTER] [-s SIZE] [-w FILE] [MODE]\n"
	      "                { -p PID... | COMMAND [ARG...] }\n"
	      "       btstrace -r FILE [-o FILE] [-n N] [-e FILTER] [MODE]\n"
	      "Show the branches that programs take. The default mode shows how they ended.\n"
	      "\n"
	      "Modes:\n"
	      "  --crash            calls that have not returned, and the last branches [default]\n"
	      "  --plain            the last branches before the end, with function and line\n"
	      "  --full             all branches, none lost\n"
	      "  --insn             the instructions between branches, with their source text\n"
	      "  --raw              records as numbers, without names\n"
	      "  --json             a JSON object for each record\n"
	      "  --calls            which function called which, and how often\n"
	      "  --flow             the calls in the order in which they were made\n"
	      "  --folded           stacks for flamegraph.pl\n"
	      "  --perfetto         calls on a time axis, for ui.perfetto.dev\n"
	      "  --profile, --lines, --loops  the branches of each function, line, and loop\n"
	      "  --drcov            which code was executed, for Lighthouse and fuzzers\n"
	      "  --lcov             which source lines were executed, for genhtml\n"
	      "  -c, --summary      the number of branches of each kind\n"
	      "\n", stdout);
	fputs("  -f, --follow       trace new threads and processes, too\n"
	      "  -p, --attach PID   trace a running process with all its threads; ^C detaches\n"
	      "  -n, --last N       only the last N branches of each thread [32 with --plain];\n"
	      "                     with --crash: N lines\n"
	      "  -e, --filter SPEC  only some branches: [!][kind=]KIND,... (call, ret, jmp, jcc,\n"
	      "                     syscall, interrupt, ?), or [!]from=, to=, func=GLOB,...\n"
	      "                     or [!]module=GLOB,...; --calls, --flow, --folded and\n"
	      "                     --insn take func= and module= only\n"
	      "      --root GLOB    with --calls, --flow and --folded: only functions with\n"
	      "                     such a name, and what they call\n"
	      "      --depth N      with these modes: at most N levels of calls\n"
	      "      --by-thread    with these modes: each thread by itself\n"
	      "  -k, --kernel       branches of the kernel, too\n"
	      "      --entries      where the program enters the kernel, too (slow)\n"
	      "  -t, --times        when threads are scheduled in and out, too\n"
	      "  -s, --size SIZE    the size of each thread's trace: bytes, or with K or M\n"
	      "      --memory SIZE  memory for what is known of addresses and calls [512M]\n"
	      "  -o, --output FILE  write to FILE, not to standard error (-r: standard output)\n"
	      "  -w, --write FILE   record the trace to FILE, to show it later in any mode\n"
	      "  -r, --read FILE    show a recorded trace\n"
	      "      --force        with -r: even if programs have changed since\n"
	      "      --no-demangle  show mangled names\n"
	      "      --color[=always|never|auto]  use colors\n"
	      "      --no-pager     do not start a pager\n"
	      "  -q, --quiet        no closing line, and no warning if there is no Branch\n"
	      "                     Trace Store\n"
	      "  -h, --help; -V, --version\n"
	      "\n"
	      "The exit status is the command's; 110 to 118 and 125 to 127 are btstrace's own:\n"
	      "see btstrace(1).\n", stdout);
}

/*
 * Returns a message if one of the options below was given: -r does not allow them, as it traces no
 * threads. Otherwise, returns NULL.
 */
static const char *live_only(const struct options *o)
{
	return o->how.children ? "-f: with -r all threads that were recorded are shown" :
	       o->how.kernel ? "-k: with -r what was recorded of the kernel is shown" :
	       o->how.entries ? "--entries: with -r what was recorded is shown" :
	       o->how.fixed ? "-s: with -r no trace is made" : NULL;
}

/*
 * Parse a number from 1 to @max. If @end is NULL, nothing may follow the number. Otherwise, set
 * *@end to the text that follows. Returns false if there is no such number.
 */
static bool number(const char *s, u64 max, u64 *v, const char **end)
{
	size_t digits = strspn(s, "0123456789");

	errno = 0;
	*v = strtoull(s, NULL, 10);
	if (end)
		*end = s + digits;
	else if (s[digits])
		return false;
	return digits && !errno && *v && *v <= max;
}

/* Parse a number of bytes from 1 to @max; K, k, M or m may follow. Returns false on error. */
static bool size(const char *s, u64 max, u64 *v)
{
	const char *end;

	if (!number(s, max, v, &end))
		return false;
	if (*end == 'K' || *end == 'k')
		*v *= 1024;
	else if (*end == 'M' || *end == 'm')
		*v *= 1024 * 1024;
	else
		return !*end;
	return !end[1] && *v <= max;
}

static bool add_pids(struct options *o, const char *list)
{
	size_t room = o->nr_pids, len;
	char *one;
	bool fine;
	u64 pid;

	for (;; list += len + 1) {
		len = strcspn(list, ", ");
		one = strndup(list, len);
		fine = one && number(one, INT32_MAX, &pid, NULL);
		free(one);
		if (!fine)
			return false;
		o->pids = bt_grow(o->pids, &room, o->nr_pids + 1, sizeof(*o->pids));
		o->pids[o->nr_pids++] = pid;
		if (!list[len])
			return true;
	}
}

static bool either(const char *a, const char *b)
{
	bt_complain("--%s and --%s: choose one", a, b);
	return false;
}

static bool set_mode(struct options *o, const char *name)
{
	const struct bt_output *out = bt_output_find(name);

	if (o->out && o->out != out)
		return either(o->out->name, name);
	o->out = out;
	return true;
}

static bool parse_number(struct options *o, int c)
{
	u64 v;

	switch (c) {
	case 'n':
		if (number(optarg, BT_LAST_MAX, &v, NULL)) {
			o->last = v;
			return true;
		}
		bt_complain("-n %s: give a number from 1 to %d", optarg, BT_LAST_MAX);
		return false;
	case 's':
		if (size(optarg, 1u << 28, &v) && v >= sizeof(struct x86_bts_record)) {
			o->how.bytes = v;
			o->how.fixed = true;
			return true;
		}
		bt_complain("-s %s: give a size from 24 to 256M", optarg);
		return false;
	case OPT_DEPTH:
		if (number(optarg, 1000, &v, NULL)) {
			o->select.depth = v;
			return true;
		}
		bt_complain("--depth %s: give a number from 1 to 1000", optarg);
		return false;
	case OPT_MEMORY:
		if (size(optarg, MEMORY_MAX, &v) && v >= MEMORY_MIN) {
			o->memory = v;
			return true;
		}
		bt_complain("--memory %s: give a size from 16M to 1048576M", optarg);
		return false;
	}
	if (add_pids(o, optarg))
		return true;
	bt_complain("-p %s: give the number of a process, or several with commas", optarg);
	return false;
}

/*
 * Set *@word to the argument of an option. Refuse an empty argument: a script may have
 * forgotten to set a variable.
 */
static bool set_word(const char **word, const char *option, const char *what)
{
	*word = optarg;
	if (!*optarg)
		bt_complain("--%s: %s is missing", option, what);
	return *optarg;
}

static bool add_filter(struct options *o)
{
	const char *error;
	struct bt_filter *filter = bt_filter_add(o->filter, optarg, &error);

	if (!filter) {
		bt_complain("-e %s: %s", optarg, error);
		return false;
	}
	o->filter = filter;
	return true;
}

static bool set_color(struct options *o)
{
	bool bad = false;

	if (!optarg || !strcmp(optarg, "always"))
		o->color = BT_ALWAYS;
	else if (!strcmp(optarg, "never"))
		o->color = BT_NEVER;
	else if (strcmp(optarg, "auto"))
		bad = true;
	if (bad)
		bt_complain("--color=%s: give always, never or auto", optarg);
	return !bad;
}

/* If the option @c only sets a flag of @o, set this flag. Otherwise, return false. */
static bool parse_flag(struct options *o, int c)
{
	bool *flag = c == OPT_FULL ? &o->how.full :
		     c == 'f' ? &o->how.children :
		     c == 'k' ? &o->how.kernel :
		     c == OPT_ENTRIES ? &o->how.entries :
		     c == 't' ? &o->times :
		     c == 'q' ? &o->quiet :
		     c == OPT_BY_THREAD ? &o->by_thread :
		     c == OPT_NO_PAGER ? &o->no_pager :
		     c == OPT_FORCE ? &o->force : NULL;

	if (flag)
		*flag = true;
	return flag;
}

/* Parse the option @c. The long option of a mode has the name @mode. Returns false on error. */
static bool parse_one(struct options *o, int c, const char *mode)
{
	if (c >= OPT_CRASH && c <= OPT_JSON)
		return set_mode(o, mode);
	if (parse_flag(o, c))
		return true;
	switch (c) {
	case 'c':
		return set_mode(o, "summary");
	case OPT_ROOT:
		return set_word(&o->select.root, "root", "a pattern");
	case OPT_COLOR:
		return set_color(o);
	case OPT_NO_DEMANGLE:
		bt_demangle_disable();
		return true;
	case 'e':
		return add_filter(o);
	case 'o':
		return set_word(&o->output, "output", "the name of a file");
	case 'w':
		return set_word(&o->write, "write", "the name of a file");
	case 'r':
		return set_word(&o->read, "read", "the name of a file");
	case 'n':
	case 's':
	case 'p':
	case OPT_MEMORY:
	case OPT_DEPTH:
		return parse_number(o, c);
	}
	bt_complain("see btstrace --help");
	return false;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	if (!a || !b)
		return false;
	if (stat(a, &sa) || stat(b, &sb))
		return !strcmp(a, b);
	return S_ISREG(sa.st_mode) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/*
 * Does the memory of an output suffice for the records of one thread with -n? If @o->last is large,
 * keep() in session.c stores up to twice as many records. Returns true for an output without
 * BT_OUT_FILTER.
 */
static bool last_fits(const struct options *o)
{
	return !(o->out->flags & BT_OUT_FILTER) ||
	       o->last * 2ull * sizeof(struct x86_bts_record) <= MODE_SHARE(o->memory);
}

static const char *contradiction(const struct options *o)
{
	int sources = !!o->read + !!o->nr_pids + !!o->command[0];

	if (!sources)
		return "give a command, -p PID, or -r FILE";
	if (sources > 1)
		return "give one of a command, -p PID, and -r FILE";
	if (o->read && o->write)
		return "-r and -w: choose one";
	if (o->force && !o->read)
		return "--force: only with -r";
	if (o->read && live_only(o))
		return live_only(o);
	if (o->by_thread && !(o->out->flags & BT_OUT_CALLS))
		return "--by-thread: only --calls, --folded and --flow show functions";
	if (same_file(o->output, o->read) || same_file(o->output, o->write))
		return SAME_FILE;
	if (o->filter && !(o->out->flags & (BT_OUT_FILTER | BT_OUT_FUNCTIONS)))
		return "-e: this mode needs all branches";
	if (o->out->flags & BT_OUT_FUNCTIONS && !bt_filter_about_functions(o->filter))
		return "-e: this mode shows functions: give func= or module=";
	if (!last_fits(o))
		return "-n: so many branches need more --memory";
	if ((o->select.root || o->select.depth) && !(o->out->flags & BT_OUT_CALLS))
		return "--root and --depth: only --calls, --folded and --flow show functions";
	return NULL;
}

/*
 * Returns the largest number of branches of a thread that the crash view looks at. With -r, this is
 * BT_LAST_MAX. Otherwise, it is the number that fits into the size of -s, but at least
 * BT_LAST_CRASH.
 */
static u32 crash_last(const struct options *o)
{
	u32 fit = o->how.bytes / sizeof(struct x86_bts_record);

	if (o->read)
		return BT_LAST_MAX;
	return fit > BT_LAST_CRASH ? fit : BT_LAST_CRASH;
}

/* Fill in what the options imply, and defaults. */
static void complete(struct options *o)
{
	bool by_default = false;
	size_t need;

	if (!o->memory)
		o->memory = MEMORY_DEFAULT;
	/*
	 * If no mode was given, it is --plain with any of -n, --full, -e and -t, and --crash
	 * without these.
	 */
	if (!o->out)
		o->out = o->last || o->how.full || o->filter || o->times ?
			 &bt_out_plain : &bt_out_crash;
	if (o->out == &bt_out_crash) {
		o->lines = o->last ? o->last : BT_LINES;
		o->last = crash_last(o);
		o->how.shrink = !o->how.fixed;
	}
	if (o->out == &bt_out_plain && !o->last && !o->how.full) {
		o->last = DEFAULT_LAST;
		by_default = true;
	}
	/*
	 * With -w, lose no records for lack of room, as any mode may show the trace later. But
	 * -n limits what is recorded, except with the crash view, where it is a number of lines.
	 */
	if (o->write && (o->out == &bt_out_crash || by_default))
		o->how.full = true;
	if (!o->last)
		o->how.full = true;
	/* -w records the times of scheduling, as any mode may show the trace later. */
	o->how.sched = o->times || o->write || o->out->flags & BT_OUT_CLOCK;
	if (o->how.bytes)
		return;
	need = o->last > BT_LAST_POOL ? o->last : BT_LAST_POOL;
	o->how.bytes = o->how.full ? FULL_BYTES : need * sizeof(struct x86_bts_record);
}

/* Write the output of --help or --version. Returns 0, or an exit status if a write failed. */
static int flush_stdout(void)
{
	if (!fflush(stdout))
		return 0;
	bt_complain("output: %s", strerror(errno));
	return BT_EXIT_FILE;
}

/*
 * Returns the next option, as getopt_long() does. If -p was given, add words that are process IDs
 * to @o->pids, and go on behind them: -p $(pidof name) becomes several words.
 */
static int next_option(struct options *o, int argc, char **argv, int *which)
{
	int c;

	for (;; optind++) {
		c = getopt_long(argc, argv, "+cfkqte:n:o:p:r:s:w:hV", long_options, which);
		if (c != -1 || !o->nr_pids || optind >= argc || !add_pids(o, argv[optind]))
			return c;
	}
}

void options_complain(const char *wrong)
{
	bt_complain("%s: see btstrace --help", wrong);
}

int options_parse(struct options *o, int argc, char **argv)
{
	const char *wrong;
	int c, which = 0;

	while ((c = next_option(o, argc, argv, &which)) != -1) {
		if (c == 'h') {
			print_help();
			return flush_stdout();
		}
		if (c == 'V') {
			puts("btstrace " VERSION);
			return flush_stdout();
		}
		if (!parse_one(o, c, long_options[which].name))
			return BT_EXIT_USAGE;
	}
	if (o->how.full && o->out && o->out != &bt_out_plain) {
		either("full", o->out->name);
		return BT_EXIT_USAGE;
	}
	o->command = argv + optind;
	wrong = o->last && o->how.full ? "-n and --full: choose one" : NULL;
	complete(o);
	if (!wrong)
		wrong = contradiction(o);
	if (wrong) {
		options_complain(wrong);
		return BT_EXIT_USAGE;
	}
	return -1;
}
