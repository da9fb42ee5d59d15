// SPDX-License-Identifier: GPL-2.0
/* The command line of the oracle: see oracle.h. */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static const char usage[] =
"oracle: compare branch records with QEMU's log of executed instructions\n"
"\n"
"  oracle --log FILE --records FILE --mem ADDRESS:FILE ... [OPTION...]\n"
"  oracle --log FILE --list --mem ADDRESS:FILE ...\n"
"  oracle --selftest\n"
"\n"
"  --log FILE            what QEMU wrote for exec,nochain,int[,cpu] while the\n"
"                        guest ran on one CPU, one instruction at a time\n"
"  --records FILE        raw records, in the order of their storing\n"
"  --mem ADDRESS:FILE    memory of the guest, for the instructions; may repeat\n"
"  --elf FILE[:BIAS]     the same from the segments of an ELF file\n"
"  --layout 64|32        24-byte or 12-byte records (64)\n"
"  --rule after|before|either  which CPL the filter looks at (after)\n"
"  --cpl msr|user|kernel|both  levels that are recorded: by DEBUGCTL, or fixed (msr)\n"
"  --debugctl HEX        DEBUGCTL at the start of the log (0)\n"
"  --netburst            the log, not HEX, has the bits of BTS where a Pentium 4 has them\n"
"  --user-addresses      ignore branches with a kernel address on either side\n"
"  --until-off           stop where a write to DEBUGCTL switches recording off\n"
"  --last N              the records are the last branches before the N newest;\n"
"                        0 stands for a source in user mode\n"
"  --need KIND[=N],...   fail unless at least N were found: branches, irq,\n"
"                        vNN (vector), jcc, loop, jmp, call, indirect, ret, far,\n"
"                        iret, syscall, sysret, int\n"
"  --list                print the branches instead of comparing\n"
"\n"
"Exit status: 0 equal, 1 different, 2 wrong usage, 3 the log cannot be followed.\n";

void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "oracle: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(2);
}

static int choose(const char *option, const char *value,
		  const char * const *names)
{
	int i;

	for (i = 0; names[i]; i++) {
		if (!strcmp(value, names[i]))
			return i;
	}
	die("--%s %s: unknown; see --help", option, value);
}

static const char * const rule_names[] = { "after", "before", "either", NULL };
static const char * const want_names[] = { "msr", "user", "kernel", "both", NULL };
static const char * const layout_names[] = { "64", "32", NULL };

enum {
	OPT_LOG, OPT_RECORDS, OPT_MEM, OPT_ELF, OPT_LAYOUT, OPT_RULE, OPT_CPL,
	OPT_DEBUGCTL, OPT_NETBURST, OPT_USER, OPT_UNTIL_OFF, OPT_LAST, OPT_NEED, OPT_LIST,
	OPT_SELFTEST, OPT_HELP
};

static const struct option long_options[] = {
	{ "log", required_argument, NULL, OPT_LOG },
	{ "records", required_argument, NULL, OPT_RECORDS },
	{ "mem", required_argument, NULL, OPT_MEM },
	{ "elf", required_argument, NULL, OPT_ELF },
	{ "layout", required_argument, NULL, OPT_LAYOUT },
	{ "rule", required_argument, NULL, OPT_RULE },
	{ "cpl", required_argument, NULL, OPT_CPL },
	{ "debugctl", required_argument, NULL, OPT_DEBUGCTL },
	{ "netburst", no_argument, NULL, OPT_NETBURST },
	{ "user-addresses", no_argument, NULL, OPT_USER },
	{ "until-off", no_argument, NULL, OPT_UNTIL_OFF },
	{ "last", required_argument, NULL, OPT_LAST },
	{ "need", required_argument, NULL, OPT_NEED },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "selftest", no_argument, NULL, OPT_SELFTEST },
	{ "help", no_argument, NULL, OPT_HELP },
	{ },
};

static void parse(int argc, char **argv, struct options *opt, struct image *img,
		  const char **log, const char **records)
{
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		switch (c) {
		case OPT_LOG:
			*log = optarg;
			break;
		case OPT_RECORDS:
			*records = optarg;
			break;
		case OPT_MEM:
			image_add_mem(img, optarg);
			break;
		case OPT_ELF:
			image_add_elf(img, optarg);
			break;
		case OPT_LAYOUT:
			opt->layout = choose("layout", optarg, layout_names) ? 32 : 64;
			break;
		case OPT_RULE:
			opt->rule = choose("rule", optarg, rule_names);
			break;
		case OPT_CPL:
			opt->want = choose("cpl", optarg, want_names);
			break;
		case OPT_DEBUGCTL:
			opt->debugctl = strtoull(optarg, NULL, 16);
			break;
		case OPT_NETBURST:
			opt->netburst = true;
			break;
		case OPT_USER:
			opt->user_addresses = true;
			break;
		case OPT_UNTIL_OFF:
			opt->until_off = true;
			break;
		case OPT_LAST:
			opt->last = true;
			opt->newer = strtoull(optarg, NULL, 0);
			break;
		case OPT_NEED:
			opt->need = optarg;
			break;
		case OPT_LIST:
			opt->list = true;
			break;
		case OPT_SELFTEST:
			exit(selftest());
		case OPT_HELP:
			fputs(usage, stdout);
			exit(0);
		default:
			fprintf(stderr, "oracle: see --help\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	static const int exit_codes[] = {
		[V_EQUAL] = 0,
		[V_DIFFERENT] = 1,
		[V_BAD_LOG] = 3,
	};
	struct options opt = { .layout = 64 };
	const char *log_path = NULL, *records_path = NULL;
	struct blob log, records = { 0 };
	struct execlog el;
	struct decoder *d;
	struct image *img;
	enum verdict v;

	img = image_new();
	parse(argc, argv, &opt, img, &log_path, &records_path);
	if (optind < argc)
		die("%s: unexpected; see --help", argv[optind]);
	if (!log_path || !(records_path || opt.list))
		die("needs --log and one of --records and --list; see --help");
	blob_open(&log, log_path);
	if (records_path)
		blob_open(&records, records_path);
	execlog_init(&el, (const char *)log.data, log.size);
	d = decoder_new(img);
	v = compare(&el, d, &records, &opt, stdout);
	decoder_free(d);
	blob_close(&records);
	blob_close(&log);
	image_free(img);
	return exit_codes[v];
}
